// The state that a language model's program keeps of its sequences between calls: a paged attention cache or the states
// of a recurrent network. TVM calls both a KV state.
#pragma once
#include <atomic>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "value/function.h"
#include "value/value.h"

namespace opd {

constexpr int64_t kMostKvSize = int64_t{1} << 31;  // kernels count rows, places and slots in 32 bits

struct KvSequenceLength {
  int64_t id, num_tokens;
};

// How full a state is. A page of a recurrent network's state is the place of a sequence.
struct KvUsage {
  int64_t num_sequences;
  int64_t num_tokens;  // of all sequences; those that several share count for each
  int64_t max_batch;   // sequences of a pass
  int64_t page_size;   // tokens; 0: a page holds a sequence of any length
  int64_t num_pages, num_free_pages;
  uint64_t bytes;  // of its device's memory
};

class KvState : public Object {
 public:
  virtual ~KvState() = default;
  virtual void clear() = 0;
  virtual void add_sequence(int64_t id) = 0;
  virtual void remove_sequence(int64_t id) = 0;
  virtual void fork_sequence(int64_t parent, int64_t child, int64_t position) = 0;
  virtual void pop(int64_t id, int64_t count) = 0;
  // After require_batch().
  virtual void begin_forward(std::span<const int64_t> ids, std::span<const int64_t> counts,
                             std::optional<std::span<const int64_t>> parents) = 0;
  virtual void end_forward() = 0;
  // Ends the running pass, if any, and removes its tokens, because their kernels may have failed.
  virtual void cancel_forward() = 0;

  virtual std::vector<KvSequenceLength> lengths() const = 0;  // in no order
  virtual KvUsage usage() const = 0;

  // A state is made again by a call of its maker, a builtin, and restore(). The arguments have the program's kernels.
  virtual const char *maker() const = 0;
  virtual std::vector<Value> maker_arguments() const = 0;
  virtual void save(ByteWriter &out) const = 0;  // throws OPD_UNSUPPORTED if not all of it can be saved
  // The rows in use of one layer, and of one kind of its states, in an order that equal states have in common. Those of
  // the pass that runs count, so its kernels must have written them.
  virtual std::string rows_of(int64_t layer, int64_t kind) const = 0;
  // Of a state that has no sequences yet. Throws OPD_BAD_FORMAT; the state is then not to be used.
  virtual void restore(ByteReader &from) = 0;

 private:
  friend class KvUse;
  std::atomic<bool> is_in_use_{false};
};

// Throws unless there are sequences, each named once, and a number for each, at least `least`. `what` names these.
void require_batch(std::span<const int64_t> ids, std::span<const int64_t> numbers, const char *what, int64_t least);

// Calls the builtin `maker` with the saved arguments, and restores the bytes of save(). Throws OPD_BAD_FORMAT also if
// the builtin makes no state.
Value make_saved_state(const std::string &maker, Args args, ByteReader &saved);
// A copy of the state. `counterpart` gives the copy's kernel for each kernel of the state, or throws. Throws as save()
// does.
Value copy_of(const KvState &state, const std::function<Ref<Function>(const Function &)> &counterpart);

KvState *try_kv_state(const View &v);  // null for another kind of value
// The state of a value; throws a TypeError for another kind.
KvState &as_kv_state(const View &v, std::string_view what);

// While it lives, the calling thread alone uses the state. Throws OPD_FAILED_PRECONDITION if another one does: waiting
// would not help, since two passes on one state cannot be interleaved.
class KvUse {
 public:
  explicit KvUse(KvState &state);
  ~KvUse() { state_.is_in_use_.store(false, std::memory_order_release); }
  KvUse(const KvUse &) = delete;

 private:
  KvState &state_;
};

// The numbers of a shape or, as Python gives them, of an array of integers. Must not outlive the value.
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
