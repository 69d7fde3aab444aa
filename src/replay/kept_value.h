// Values in captures: written from what a call has, read from bytes that may be of anybody.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "compare/shown_call.h"
#include "compare/value_store.h"
#include "value/tensor.h"
#include "vm/kv/kv_state.h"

namespace opd {

// A tensor with its elements, or only their hash.
struct KeptTensor {
  DLDataType dtype{};
  DLDevice device{};
  std::vector<int64_t> dims, strides;  // strides: none if it is compact
  uint64_t byte_offset = 0;
  bool is_read_only = false, has_elements = false;
  ContentsHash hash;         // of the compact elements
  Bytes elements;            // with strides: all of the memory from the first to the last one, zero between them
  std::string type() const;  // "float32[2, 3]"
};

struct KeptValue {
  enum Kind : uint8_t {
    kNone,
    kInt,
    kFloat,
    kBool,
    kDtype,
    kDevice,
    kText,
    kBytes,
    kShape,
    kArray,
    kMap,  // keys and values in turns
    kTensor,
    kSameTensor,   // the same as an earlier tensor: its number, from 0, in the call's arguments and the host functions'
                   // results
    kGivenTensor,  // the same tensor as argument number N, from 0, of the host function that returned it
    kOpaque,       // an object that cannot be kept; `text` is its type
    kFunction,     // of the program: `text` is its name there
    kState,        // a KV state: `text` is the builtin that makes it, `items` its arguments, `saved` all else
    kSameState     // as one before, counted like kSameTensor
  };
  Kind kind = kNone;
  int64_t number = 0;
  double real = 0;
  std::string text;
  std::vector<int64_t> dims;
  std::vector<KeptValue> items;
  std::shared_ptr<const KeptTensor> tensor;
  Bytes saved;
};

// A device that takes the place of a captured one; equal ones: none does.
struct DeviceMove {
  DLDevice from{}, to{};

  bool moves() const { return !same(from, to); }
  DLDevice now(DLDevice captured) const { return same(captured, from) ? to : captured; }
  DLDevice then(DLDevice device) const { return same(device, to) ? from : device; }
};

// kArguments: with strides, offsets, and which tensors are the same.
enum class Keeping : uint8_t { kArguments, kElements, kHashes };

class ValueWriter {
 public:
  // The name of a function of the program; "" for another function, which cannot be kept.
  using NameOf = std::function<std::string(const Function &)>;
  // `name_of`: none if neither functions nor the states that call them are to be kept.
  // `move`: values are written with the devices that they had before it.
  explicit ValueWriter(Keeping keeping, NameOf name_of = {}, DeviceMove move = {})
      : keeping_(keeping), name_of_(std::move(name_of)), move_(move) {}

  // `given`: tensors that are written as kGivenTensor.
  std::string write(const View &value, std::span<const View> given = {});
  // Types of objects that could not be kept so far.
  const std::vector<std::string> &opaque() const { return opaque_; }

 private:
  void write(ByteWriter &out, const View &value, int depth);
  void write_tensor(ByteWriter &out, const View &value);
  bool write_as_known(ByteWriter &out, const View &value);
  void write_state(ByteWriter &out, KvState &state, int depth);
  void write_opaque(ByteWriter &out, std::string_view type);

  // A tensor that was written. Others may have its memory once it has gone.
  struct Seen {
    DLTensor dl{};
    std::vector<int64_t> dims, strides;
    std::optional<WeakRef<Object>> owner;  // none: it is borrowed for the whole call
    explicit Seen(const View &value);
  };

  const Keeping keeping_;
  const NameOf name_of_;
  const DeviceMove move_;
  uint64_t num_items_ = 0;
  std::span<const View> given_;
  std::vector<Seen> seen_;
  std::unordered_multimap<const void *, size_t> seen_at_;  // numbers in seen_, by address
  std::vector<WeakRef<Object>> states_;                    // that were written
  std::vector<std::string> opaque_;
};

// Throws OPD_BAD_FORMAT. The elements of tensors, and what states saved, are borrowed from the reader's bytes.
KeptValue read_value(ByteReader &from);

// Makes values in the order in which they were written.
class ValueMaker {
 public:
  // `vm`, which must outlive the maker, has the functions; null: there are none.
  explicit ValueMaker(Vm *vm = nullptr, DeviceMove move = {}) : vm_(vm), move_(move) {}

  // Throws for what could not be kept. `given`: what kGivenTensor counts.
  Value make(const KeptValue &stored, std::span<const View> given = {});
  struct Mark {
    size_t tensors = 0, states = 0;
  };
  Mark mark() const { return {tensors_.size(), states_.size()}; }
  void rewind(Mark mark) { tensors_.resize(mark.tensors), states_.resize(mark.states); }  // to those made first

 private:
  Value make_state(const KeptValue &kept);

  Vm *const vm_;
  const DeviceMove move_;
  std::vector<Ref<Tensor>> tensors_;
  std::vector<Value> states_;
};

// Tensors in a value, in the order in which they are written.
std::vector<View> tensors_in(const View &value);

// A part of a value that is no tuple.
struct KeptLeaf {
  std::string name;   // "out", "out_0", "out_0_1"
  std::string shown;  // "float32[2, 3] on cpu:0", or the value as text
  std::shared_ptr<const KeptTensor> tensor;
};
std::vector<KeptLeaf> leaves_of(const KeptValue &value, const std::string &name);

ContentsHash hash_of_value(const View &value, DeviceMove move = {});

// Whether a hash is the captured one. Values that are on a device which others were moved to may have been there
// before: so both hashes count, that with the devices of before the move, and that with the present ones.
template <class HashOf>
bool is_as_captured(const ContentsHash &captured, DeviceMove move, const HashOf &hash_of) {
  return hash_of(move) == captured || (move.moves() && hash_of(DeviceMove{}) == captured);
}

}  // namespace opd
