// The state of sequences that a language model's program keeps between calls: a paged attention cache, or the states of
// a recurrent network. TVM calls both a KV state.
#pragma once
#include <atomic>
#include <functional>
#include <new>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "value/function.h"
#include "value/value.h"

namespace opd {

// A table of a forward pass that kernels read: 32-bit integers, aligned to 64 bytes, which compiled code requires of
// every tensor. The table's memory is reused by the next pass.
template <class T>
struct TensorAligned {
  using value_type = T;
  TensorAligned() = default;
  template <class U>
  TensorAligned(const TensorAligned<U> &) {}
  T *allocate(size_t count) { return static_cast<T *>(::operator new(count * sizeof(T), std::align_val_t(64))); }
  void deallocate(T *data, size_t) noexcept { ::operator delete(data, std::align_val_t(64)); }
  bool operator==(const TensorAligned &) const { return true; }
};

using KvTable = std::vector<int32_t, TensorAligned<int32_t>>;

// Tables of numbers in a saved state: first their count, then the numbers.
template <class T>
void write_numbers(ByteWriter &out, std::span<const T> numbers) {
  out.write(static_cast<uint64_t>(numbers.size()));
  out.write_bytes(numbers.data(), numbers.size_bytes());
}
template <class T>
void write_numbers(ByteWriter &out, const std::vector<T> &numbers) {
  write_numbers(out, std::span(numbers));
}

template <class T>
std::vector<T> read_numbers(ByteReader &from, const char *field) {
  std::vector<T> numbers(from.read_count(sizeof(T), field));
  for (T &number : numbers) number = from.read<T>(field);
  return numbers;
}

// Marks a number as read. Throws unless it is below the size of `is_known` and was not read before.
inline void note_number(const ByteReader &from, const char *field, int64_t number, std::vector<bool> &is_known) {
  const auto count = static_cast<int64_t>(is_known.size());
  if (number < 0 || number >= count || is_known[static_cast<size_t>(number)])
    from.bad(field, concat(number, " must be one of ", count, " and be there once"));
  is_known[static_cast<size_t>(number)] = true;
}

constexpr int64_t kMostKvSize = int64_t{1} << 31;  // kernels count rows, places and slots in 32 bits

struct KvSequenceLength {
  int64_t id, num_tokens;
};

// The usage of a state. In the state of a recurrent network, a page is the slot of a sequence.
struct KvUsage {
  int64_t num_sequences;
  int64_t num_tokens;  // tokens of all sequences; a shared token counts once per sequence
  int64_t max_batch;   // sequences per pass
  int64_t page_size;   // tokens; 0: a page holds a sequence of any length
  int64_t num_pages, num_free_pages;
  uint64_t bytes;  // device memory
};

class KvState : public Object {
 public:
  virtual ~KvState() = default;
  virtual void clear() = 0;
  virtual void add_sequence(int64_t id) = 0;
  virtual void remove_sequence(int64_t id) = 0;
  virtual void fork_sequence(int64_t parent, int64_t child, int64_t position) = 0;
  virtual void pop(int64_t id, int64_t count) = 0;
  // Call require_batch() first.
  virtual void begin_forward(std::span<const int64_t> ids, std::span<const int64_t> counts,
                             std::optional<std::span<const int64_t>> parents) = 0;
  virtual void end_forward() = 0;
  // Ends the running pass, if any, and removes its tokens, because their kernels may have failed.
  virtual void cancel_forward() = 0;

  virtual std::vector<KvSequenceLength> lengths() const = 0;  // unordered
  virtual KvUsage usage() const = 0;

  // To recreate a state, call its maker (a builtin) with maker_arguments(), then restore(). The arguments include the
  // program's kernels.
  virtual const char *maker() const = 0;
  virtual std::vector<Value> maker_arguments() const = 0;
  virtual void save(ByteWriter &out) const = 0;  // throws OPD_UNSUPPORTED if a part cannot be saved
  // The used rows of one layer and one kind of state. Equal states give the same order. The rows of the running pass
  // are included, so its kernels must have written them.
  virtual std::string rows_of(int64_t layer, int64_t kind) const = 0;
  // The state must have no sequences yet. Throws OPD_BAD_FORMAT. After that, the state must not be used.
  virtual void restore(ByteReader &from) = 0;

 private:
  friend class KvUse;
  std::atomic<bool> is_in_use_{false};
};

// Throws unless there are sequences, each named once, and one number per sequence, each at least `least`. `what` names
// the numbers.
void require_batch(std::span<const int64_t> ids, std::span<const int64_t> numbers, const char *what, int64_t least);

// Calls the builtin `maker` with the saved arguments, and restores the bytes of save(). Throws OPD_BAD_FORMAT, for
// example if the builtin does not return a state.
Value make_saved_state(const std::string &maker, Args args, ByteReader &saved);
// Copies the state. `counterpart` returns the copy's kernel for each kernel of the state, or throws. Throws if save()
// does.
Value copy_of(const KvState &state, const std::function<Ref<Function>(const Function &)> &counterpart);

KvState *try_kv_state(const View &v);  // null if the value is not a state
// Returns the state of a value. Throws a TypeError if the value is not a state.
KvState &as_kv_state(const View &v, std::string_view what);

// Gives the calling thread exclusive use of the state. If another thread uses it, throws OPD_FAILED_PRECONDITION.
// Waiting would not help, because two passes on one state cannot be interleaved.
class KvUse {
 public:
  explicit KvUse(KvState &state);
  ~KvUse() { state_.is_in_use_.store(false, std::memory_order_release); }
  KvUse(const KvUse &) = delete;

 private:
  KvState &state_;
};

// The numbers of a shape, or of an array of integers as Python passes them. Must not outlive the value.
class Integers {
 public:
  Integers(const View &v, std::string_view what);
  std::span<const int64_t> view() const { return view_; }
  size_t size() const { return view_.size(); }
  int64_t operator[](size_t i) const { return view_[i]; }

 private:
  std::vector<int64_t> copy_;
  std::span<const int64_t> view_;
};

}  // namespace opd
