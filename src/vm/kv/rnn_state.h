// The states of a recurrent network for each sequence and layer, and the latest states before them, so that tokens can
// be removed. The program's kernels read and write them.
#pragma once
#include <unordered_map>
#include <vector>

#include "value/function.h"
#include "value/tensor.h"
#include "vm/kv/kv_kernels.h"
#include "vm/kv/kv_state.h"
#include "vm/pool.h"

namespace opd {

inline constexpr char kRnnStateMaker[] = "vm.builtin.rnn_state_create";

class RnnState final : public KvState {
 public:
  static int32_t type() { return registered_type<"opdyno.vm.RNNState">(); }
  struct Kind {  // a kind of state; each layer has one of each kind
    Ref<Function> get, set;
    Ref<Tensor> initial;
  };
  RnnState(int64_t num_layers, int64_t max_sequences, int64_t max_history, std::vector<Kind> kinds);

  void clear() override;
  void add_sequence(int64_t id) override;
  void remove_sequence(int64_t id) override;
  // only at the end; `position` is ignored
  void fork_sequence(int64_t parent, int64_t child, int64_t position) override;
  void pop(int64_t id, int64_t count) override;
  void begin_forward(std::span<const int64_t> ids, std::span<const int64_t> counts,
                     std::optional<std::span<const int64_t>> parents) override;
  void end_forward() override;
  void cancel_forward() override { ids_.clear(); }  // the current states have not changed
  std::vector<KvSequenceLength> lengths() const override;
  KvUsage usage() const override;
  const char *maker() const override { return kRnnStateMaker; }
  std::vector<Value> maker_arguments() const override;
  void save(ByteWriter &out) const override;
  std::string rows_of(int64_t layer, int64_t kind) const override;
  void restore(ByteReader &from) override;

  void get(int64_t layer, int64_t kind, const View &out) { run(kinds_[checked(layer, kind)].get, layer, kind, out); }
  void set(int64_t layer, int64_t kind, const View &data) {
    run(kinds_[checked(layer, kind)].set, layer, kind, data);
    note_write(*storage(layer, kind), MemoryUse::kCache);
  }
  Ref<Tensor> debug_get(int64_t layer, int64_t kind, int64_t id);  // a copy of the current state

 private:
  struct Sequence {
    int64_t slot;           // index of the slot in the storage
    int64_t history = 0;    // the current state's slot among the sequence's histories
    int64_t available = 0;  // number of earlier states that can be restored
    int64_t num_tokens = 0;
  };
  Sequence &sequence(int64_t id);
  size_t checked(int64_t layer, int64_t kind) const;  // returns the index of the kind
  Ref<Tensor> &storage(int64_t layer, int64_t kind) {
    return storages_[static_cast<size_t>(layer) * kinds_.size() + static_cast<size_t>(kind)];
  }
  int64_t next_slot(int64_t id) const;  // the slot that a new sequence gets
  void take_next_slot();
  void copy_slot(int64_t from, int64_t to);
  // Returns `count` consecutive states of the storage as a tensor of the shape [count, …].
  Ref<Tensor> states(const Ref<Tensor> &storage, int64_t slot, int64_t history, int64_t count) const;
  void run(const Ref<Function> &kernel, int64_t layer, int64_t kind, const View &tensor);
  KvView on_device(const KvTable &table, Ref<Tensor> &copy) const;

  const int64_t num_layers_, max_sequences_, max_history_;
  const std::vector<Kind> kinds_;
  DLDevice device_;
  std::vector<Ref<Tensor>> storages_;  // by layer, then by kind: [sequences, histories, shape of the state]
  std::unordered_map<int64_t, Sequence> sequences_;
  // Slots that were in use and are free again. next_slot() returns the last one; if there is none, the first slot that
  // was never in use.
  std::vector<int64_t> free_slots_;
  int64_t num_touched_slots_ = 0;  // slots with this number or a higher one were never in use
  // These describe the running pass.
  std::vector<int64_t> ids_, counts_;
  KvTable slots_, histories_;
  Ref<Tensor> slots_copy_, histories_copy_;  // unused on the CPU
};

}  // namespace opd
