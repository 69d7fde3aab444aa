// The keys and values of all layers for many sequences, in pages of memory, and the attention on them by the program's
// kernels.
#pragma once
#include <unordered_map>

#include "vm/kv/kv_config.h"
#include "vm/kv/kv_forward.h"
#include "vm/kv/kv_kernels.h"
#include "vm/kv/kv_state.h"

namespace opd {

inline constexpr char kPagedCacheMaker[] = "vm.builtin.paged_attention_kv_cache_create";

class PagedKvCache final : public KvState {
 public:
  static int32_t type() { return registered_type<"opdyno.vm.PagedKVCache">(); }
  PagedKvCache(KvConfig config, KvKernels kernels);

  void clear() override;
  void add_sequence(int64_t id) override { sequences_.add(id); }
  void remove_sequence(int64_t id) override;
  void fork_sequence(int64_t parent, int64_t child, int64_t position) override;
  void pop(int64_t id, int64_t count) override;
  void begin_forward(std::span<const int64_t> ids, std::span<const int64_t> counts,
                     std::optional<std::span<const int64_t>> parents) override;
  void end_forward() override { forward_.end(); }
  void cancel_forward() override {
    if (forward_.is_running()) forward_.undo(sequences_);
  }

  std::vector<KvSequenceLength> lengths() const override { return sequences_.lengths(); }
  KvUsage usage() const override;
  const char *maker() const override { return kPagedCacheMaker; }
  std::vector<Value> maker_arguments() const override;
  void save(ByteWriter &out) const override;
  std::string rows_of(int64_t layer, int64_t kind) const override;
  void restore(ByteReader &from) override;
  void enable_window(int64_t id, int64_t window, int64_t sink) { sequences_.enable_window(id, window, sink); }
  // Keeps the path to each leaf of the sequences' token trees. -1: keeps no node of the tree.
  void commit(std::span<const int64_t> ids, std::span<const int64_t> leaves);

  // `layer`: the layer's number in the model. Writes the outputs.
  void attend_fused(int64_t layer, double scale, const DLTensor &qkv, const DLTensor &out);
  void attend_self(int64_t layer, double scale, const DLTensor &q, const DLTensor &k, const DLTensor &v,
                   const DLTensor &out, const DLTensor &lse);
  void attend_pages(int64_t layer, double scale, const DLTensor &q, const DLTensor &out, const DLTensor &lse);
  void attend_shared(int64_t layer, double scale, const DLTensor &q, const DLTensor &k, const DLTensor &v,
                     const DLTensor &out);
  void append_latent(int64_t layer, const DLTensor &rows);
  void merge(const View &out, const View &lse, const View &more, const View &more_lse);
  Ref<Tensor> query_positions();
  // Checkpoints of a sequence. A group is a layer, counted from the cache's first one. Its tensor has the shape [1,
  // pages, 2, heads, rows of a page, size]. An imported sequence must not be used before finish_import().
  std::string checkpoint_metadata(int64_t id) const;
  void export_group(int64_t id, int64_t group, const DLTensor &tensor);
  void prepare_import(int64_t id, std::string_view metadata);  // replaces an existing sequence with this number
  void import_group(int64_t id, int64_t group, const DLTensor &tensor);
  void finish_import(int64_t id);
  void debug_get(int64_t id, int64_t begin, int64_t end, const DLTensor &keys, const DLTensor *values);

  const KvConfig &config() const { return config_; }
  const KvSequences &sequences() const { return sequences_; }

 private:
  struct Rows {  // the rows of a pass as the kernels see them
    KvView q, k, v;
  };
  size_t local(int64_t layer, bool is_latent) const;
  KvView pages_of(size_t layer);
  // Tables of integers in memory that the kernels read: [n], [lines, n / lines], [n / 2, 2] behind a margin.
  KvView table(const KvTable &values) { return placed(values, 0, {static_cast<int64_t>(values.size())}); }
  KvView lines(const KvTable &values, int64_t count) {
    return placed(values, 0, {count, static_cast<int64_t>(values.size()) / count});
  }
  KvView pairs(const KvTable &values, size_t margin = 0) {
    return placed(values, margin, {static_cast<int64_t>(values.size() - margin) / 2, 2});
  }
  KvView placed(const KvTable &values, size_t margin, std::initializer_list<int64_t> dims);
  KvView checked(const DLTensor &tensor, const char *what, int64_t heads, int64_t dim);
  KvView checked_lse(const DLTensor &tensor, const char *what);
  void check_group(const DLTensor &tensor, int64_t group, int64_t pages) const;
  KvView page_of(const DLTensor &pages, int64_t number) const;
  void require_running(const char *what) const {
    require(forward_.is_running(), what, " needs the rows of a pass; call vm.builtin.kv_state_begin_forward first");
  }

  bool is_latent(int64_t layer) const;
  void append(size_t layer, View k, View v);
  void attend(size_t layer, double scale, Rows &rows, KvView &out, KvView &lse);
  void attend_new(double scale, size_t layer, Rows &rows, KvView &out, KvView &lse);
  bool attend_depths(size_t layer, double scale, KvView &q, KvView &out, KvView &lse, bool is_first);
  // Writes the results of queries that see no row: the merge gives their attention no weight.
  void fill_unseen(KvView &out, KvView &lse);
  void attend_depth(size_t layer, double scale, const KvDepth &depth, KvView &q, KvView &out, KvView &lse);
  void copy_page(const std::optional<KvPageCopy> &copy);
  void probe_page_size();

  const KvConfig config_;
  KvKernels kernels_;
  KvSequences sequences_;
  KvForward forward_;
  std::vector<Ref<Tensor>> stores_;  // one per layer
  Ref<Tensor> q_, k_, v_, more_out_, lse_, more_lse_;
  std::unordered_map<int64_t, std::vector<bool>> imports_;  // by sequence: the groups that were imported
  bool is_touched_ = false;                                 // a kernel ran since begin_forward()
  // Copies of the tables of this pass. Unused on the CPU.
  std::unordered_map<const KvTable *, Ref<Tensor>> device_tables_;
};

// Returns TVM's hash of the layout as 16 digits. If two caches have the same hash, each can store rows of the other.
// Throws OPD_UNSUPPORTED if rows of the cache do not mean the same in another cache.
std::string checkpoint_layout_hash(const KvConfig &config);

}  // namespace opd
