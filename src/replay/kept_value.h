// Values in captures: written from a call's values, read from untrusted bytes.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "compare/value_store.h"
#include "value/tensor.h"
#include "vm/kv/kv_state.h"
#include "vm/vm.h"

namespace opd {

// A tensor with its elements, or only their hash.
struct KeptTensor {
  DLDataType dtype{};
  DLDevice device{};
  std::vector<int64_t> dims, strides;  // strides: empty if it is compact
  uint64_t byte_offset = 0;
  bool is_read_only = false, has_elements = false;
  ContentsHash hash;  // hash of the compact elements
  Bytes elements;     // with strides: all memory from the first element to the last one, zero between elements
  std::string type() const { return type_text(dtype, dims); }  // "float32[2, 3]"
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
    kMap,  // keys and values alternate
    kTensor,
    kSameTensor,   // an earlier tensor, by its number from 0 among those of the call's arguments and of the host
                   // functions' results
    kGivenTensor,  // argument number N, from 0, of the host function that returned it
    kOpaque,       // an object that cannot be kept; `text` is its type
    kFunction,     // a function of the program; `text` is its name there
    kState,        // a KV state: `text` is the builtin that makes it, `items` its arguments, `saved` everything else
    kSameState     // an earlier state, numbered like kSameTensor
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

// Replaces a captured device by another one. Equal devices: no replacement.
struct DeviceMove {
  DLDevice from{}, to{};

  bool moves() const { return !same(from, to); }
  DLDevice now(DLDevice captured) const { return same(captured, from) ? to : captured; }
  DLDevice then(DLDevice device) const { return same(device, to) ? from : device; }
};

// kArguments also keeps strides, offsets, and which tensors are the same.
enum class Keeping : uint8_t { kArguments, kElements, kHashes };

class ValueWriter {
 public:
  // Returns the name of a program's function; "" for another function, which cannot be kept.
  using NameOf = std::function<std::string(const Function &)>;
  // `name_of`: null if neither functions nor the states that call them are to be kept. `move`: values are written with
  // their devices from before the move.
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

  // A written tensor. Once it is destroyed, another one may get its memory.
  struct Seen {
    DLTensor dl{};
    std::vector<int64_t> dims, strides;
    std::optional<WeakRef<Object>> owner;  // empty: the tensor is borrowed for the whole call
    explicit Seen(const View &value);
  };

  const Keeping keeping_;
  const NameOf name_of_;
  const DeviceMove move_;
  uint64_t num_items_ = 0;
  std::span<const View> given_;
  std::vector<Seen> seen_;
  std::unordered_multimap<const void *, size_t> seen_at_;  // index in seen_, by address
  std::vector<WeakRef<Object>> states_;                    // written states
  std::vector<std::string> opaque_;
};

// Throws OPD_BAD_FORMAT. The elements of tensors and the saved data of states are borrowed from the reader's bytes.
KeptValue read_value(ByteReader &from);

// Makes values in the order in which they were written.
class ValueMaker {
 public:
  // `vm` supplies the functions and must outlive the maker; null: there are none.
  explicit ValueMaker(Vm *vm = nullptr, DeviceMove move = {}) : vm_(vm), move_(move) {}

  // Throws if a value could not be kept. `given`: the tensors that kGivenTensor counts.
  Value make(const KeptValue &stored, std::span<const View> given = {});
  struct Mark {
    size_t tensors = 0, states = 0;
  };
  Mark mark() const { return {tensors_.size(), states_.size()}; }
  void rewind(Mark mark) { tensors_.resize(mark.tensors), states_.resize(mark.states); }  // keeps the first ones

 private:
  Value make_state(const KeptValue &kept);

  Vm *const vm_;
  const DeviceMove move_;
  std::vector<Ref<Tensor>> tensors_;
  std::vector<Value> states_;
};

// Tensors in a value, in the order in which they are written.
std::vector<View> tensors_in(const View &value);

// A part of a value that is not a tuple.
struct KeptLeaf {
  std::string name;   // "out", "out_0", "out_0_1"
  std::string shown;  // "float32[2, 3] on cpu:0", or the value as text
  std::shared_ptr<const KeptTensor> tensor;
};
std::vector<KeptLeaf> leaves_of(const KeptValue &value, const std::string &name);

ContentsHash hash_of_value(const View &value, DeviceMove move = {});

// Whether a hash is the captured one. After a move, values on the target device may have been there before, too. So two
// hashes are accepted: the one with the devices from before the move, and the one with the present devices.
template <class HashOf>
bool is_as_captured(const ContentsHash &captured, DeviceMove move, const HashOf &hash_of) {
  return hash_of(move) == captured || (move.moves() && hash_of(DeviceMove{}) == captured);
}

}  // namespace opd
