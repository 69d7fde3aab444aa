// Kernels of a paged attention cache, written from their description, for one key head of size 2 and two query heads.
// Attention is computed as a softmax over all rows that a query sees.
#pragma once
#include <array>
#include <cmath>
#include <functional>
#include <optional>

#include "support/tensors.h"

namespace opdyno_test::attention {

inline constexpr int64_t kHeads = 2, kDim = 2, kPageSize = 16;
inline constexpr double kScale = 0.5;

inline const DLTensor &dl(const opd_value &v) {
  return v.type == OPD_TENSOR ? *opd_tensor_view(reinterpret_cast<const opd_tensor *>(v.u.object)) : *v.u.dltensor;
}
inline const int32_t *ints(const opd_value &v) { return reinterpret_cast<const int32_t *>(elements(v)); }

struct Row {  // a key and a value
  std::array<float, kDim> k{}, v{};
};
using Query = std::array<float, kHeads * kDim>;

// The attention of one query head, and the logarithm of its weights' sum to base 2.
inline std::pair<std::array<double, kDim>, double> attend(const float *q, const std::vector<Row> &rows) {
  std::array<double, kDim> out{};
  double most = -5e4, sum = 0;
  const auto score = [&](const Row &row) {
    double s = 0;
    for (int64_t d = 0; d < kDim; ++d) s += static_cast<double>(q[d]) * row.k[static_cast<size_t>(d)];
    return s * kScale / std::log(2.0);
  };
  for (const Row &row : rows) most = std::max(most, score(row));
  for (const Row &row : rows) {
    const double weight = std::exp2(score(row) - most);
    sum += weight;
    for (size_t d = 0; d < kDim; ++d) out[d] += weight * row.v[d];
  }
  for (double &x : out) x /= rows.empty() ? 1 : sum;
  return {out, rows.empty() ? -5e4 : most + std::log2(sum)};
}

inline void write_attention(const opd_value &q, int64_t query, const std::vector<Row> &rows, const opd_value &out,
                            const opd_value &lse) {
  for (int64_t h = 0; h < kHeads; ++h) {
    const auto [values, weight] = attend(elements(q) + (query * kHeads + h) * kDim, rows);
    for (int64_t d = 0; d < kDim; ++d)
      elements(out)[(query * kHeads + h) * kDim + d] = static_cast<float>(values[static_cast<size_t>(d)]);
    elements(lse)[query * kHeads + h] = static_cast<float>(weight);
  }
}

inline float *page_row(const opd_value &pages, int64_t place, int64_t which) {
  const int64_t page = place / kPageSize;
  if (page < 0 || page >= dl(pages).shape[0])
    throw std::runtime_error("page " + std::to_string(page) + " is not of the store");
  return elements(pages) + ((page * 2 + which) * kPageSize + place % kPageSize) * kDim;
}
inline Row row_at(const opd_value &pages, int64_t place) {
  Row row;
  std::copy_n(page_row(pages, place, 0), kDim, row.k.begin());
  std::copy_n(page_row(pages, place, 1), kDim, row.v.begin());
  return row;
}

/** The rows of chunk @p c in pages, as `lengths` describes them: with one line or with three. */
inline std::vector<Row> rows_in_pages(const opd_value *pages_args, int64_t c) {  // pages, begins, indices, lengths
  const int32_t *begins = ints(pages_args[1]), *indices = ints(pages_args[2]), *lengths = ints(pages_args[3]);
  const int64_t pages = begins[c + 1] - begins[c], chunks = dl(pages_args[1]).shape[0] - 1;
  const bool has_lines = dl(pages_args[3]).ndim == 2;
  const int64_t offset = has_lines ? lengths[chunks + c] : 0, sink = has_lines ? lengths[2 * chunks + c] : 0;
  const int64_t count = pages == 0 ? 0 : (pages - 1) * kPageSize + lengths[c] - offset + sink;
  std::vector<Row> rows;
  for (int64_t r = 0; r < count; ++r) {
    const int64_t place = r < sink ? r : r - sink + offset;
    rows.push_back(row_at(pages_args[0], indices[begins[c] + place / kPageSize] * kPageSize + place % kPageSize));
  }
  return rows;
}

inline void require_count(int32_t given, int32_t expected) {
  if (given != expected)
    throw Error(opd_error_create(OPD_INVALID_ARGUMENT, "TypeError",
                                 ("Expected " + std::to_string(expected) + " arguments").c_str()));
}

/** What caches of this thread asked of the kernels since it was last cleared. */
inline std::vector<std::string> &called() {
  thread_local std::vector<std::string> names;
  return names;
}

inline void split_rotary(const opd_value *a, int32_t n, opd_value *) {
  require_count(n, 6);
  called().push_back("split_rotary");
  const int64_t rows = dl(a[2]).shape[0];
  for (int64_t i = 0; i < rows; ++i) {
    const float *qkv = elements(a[0]) + i * (kHeads + 2) * kDim;
    std::copy_n(qkv, kHeads * kDim, elements(a[2]) + i * kHeads * kDim);
    std::copy_n(qkv + kHeads * kDim, kDim, elements(a[3]) + i * kDim);
    std::copy_n(qkv + (kHeads + 1) * kDim, kDim, elements(a[4]) + i * kDim);
  }
}

inline void append(const opd_value *a, int32_t n, opd_value *) {
  require_count(n, 4);
  if (dl(a[0]).shape[3] != kPageSize) throw std::runtime_error("the kernel was compiled for pages of 16 rows");
  called().push_back("append");
  for (int64_t i = 0; i < dl(a[3]).shape[0]; ++i) {
    if (ints(a[3])[i] == -1) continue;
    std::copy_n(elements(a[1]) + i * kDim, kDim, page_row(a[0], ints(a[3])[i], 0));
    std::copy_n(elements(a[2]) + i * kDim, kDim, page_row(a[0], ints(a[3])[i], 1));
  }
}

inline std::vector<Row> new_rows(const opd_value &k, const opd_value &v, int64_t begin, int64_t end) {
  std::vector<Row> rows;
  for (int64_t i = begin; i < end; ++i) {
    Row row;
    std::copy_n(elements(k) + i * kDim, kDim, row.k.begin());
    std::copy_n(elements(v) + i * kDim, kDim, row.v.begin());
    rows.push_back(row);
  }
  return rows;
}

inline void ragged(const opd_value *a, int32_t n, opd_value *) {
  require_count(n, 14);
  called().push_back("ragged");
  for (int64_t b = 0; b + 1 < dl(a[1]).shape[0]; ++b)
    for (int64_t i = ints(a[1])[b]; i < ints(a[1])[b + 1]; ++i)
      write_attention(a[0], i, new_rows(a[2], a[3], ints(a[4])[b], i + 1), a[7], a[8]);
}

inline std::function<void(const opd_value *, int32_t, opd_value *)> prefill(const char *name) {
  return [name](const opd_value *a, int32_t n, opd_value *) {
    require_count(n, 15);
    called().push_back(name);
    for (int64_t c = 0; c + 1 < dl(a[1]).shape[0]; ++c)
      for (int64_t i = ints(a[1])[c]; i < ints(a[1])[c + 1]; ++i) {
        std::vector<Row> rows = rows_in_pages(a + 2, c);
        write_attention(a[0], i, rows, a[8], a[9]);
      }
  };
}
inline std::function<void(const opd_value *, int32_t, opd_value *)> decode(const char *name) {
  return [name](const opd_value *a, int32_t n, opd_value *) {
    require_count(n, 13);
    called().push_back(name);
    for (int64_t b = 0; b < dl(a[0]).shape[0]; ++b) write_attention(a[0], b, rows_in_pages(a + 1, b), a[7], a[8]);
  };
}

// Of the last rows, which form a tree, query `row` sees those that its order is within.
inline std::vector<Row> seen_in_tree(std::vector<Row> rows, const int32_t *orders, int64_t nodes, int64_t row,
                                     int64_t queries) {
  std::vector<Row> seen;
  const int64_t first = static_cast<int64_t>(rows.size()) - nodes, own = row + nodes - queries;
  for (int64_t r = 0; r < static_cast<int64_t>(rows.size()); ++r)
    if (r < first || (orders[2 * own] >= orders[2 * (r - first)] && orders[2 * own] < orders[2 * (r - first) + 1]))
      seen.push_back(rows[static_cast<size_t>(r)]);
  return seen;
}

inline void prefill_tree(const opd_value *a, int32_t n, opd_value *) {
  require_count(n, 16);
  called().push_back("prefill_tree");
  for (int64_t c = 0; c + 1 < dl(a[1]).shape[0]; ++c)
    for (int64_t i = ints(a[1])[c]; i < ints(a[1])[c + 1]; ++i)
      write_attention(
          a[0], i,
          seen_in_tree(rows_in_pages(a + 2, c), ints(a[15]) + 2 * ints(a[14])[c], ints(a[14])[c + 1] - ints(a[14])[c],
                       i - ints(a[1])[c], ints(a[1])[c + 1] - ints(a[1])[c]),
          a[8], a[9]);
}

inline void ragged_tree(const opd_value *a, int32_t n, opd_value *) {
  require_count(n, 14);
  called().push_back("ragged_tree");
  for (int64_t b = 0; b + 1 < dl(a[1]).shape[0]; ++b)
    for (int64_t i = ints(a[1])[b]; i < ints(a[1])[b + 1]; ++i)
      write_attention(
          a[0], i,
          seen_in_tree(new_rows(a[2], a[3], ints(a[4])[b], ints(a[4])[b + 1]), ints(a[7]) + 2 * ints(a[6])[b],
                       ints(a[6])[b + 1] - ints(a[6])[b], i - ints(a[1])[b], ints(a[1])[b + 1] - ints(a[1])[b]),
          a[8], a[9]);
}

inline void merge(const opd_value *a, int32_t n, opd_value *) {
  require_count(n, 4);
  called().push_back("merge");
  for (int64_t i = 0; i < dl(a[0]).shape[0] * kHeads; ++i) {
    float &mine = elements(a[1])[i], other = elements(a[3])[i];
    const double most = std::max(mine, other), x = std::exp2(mine - most), y = std::exp2(other - most);
    for (int64_t d = 0; d < kDim; ++d) {
      float &value = elements(a[0])[i * kDim + d];
      value = static_cast<float>((value * x + elements(a[2])[i * kDim + d] * y) / (x + y));
    }
    mine = static_cast<float>(most + std::log2(x + y));
  }
}

inline void copy_page(const opd_value *a, int32_t n, opd_value *) {
  require_count(n, 4);
  called().push_back("copy_page");
  for (int64_t r = 0; r < a[3].u.int64; ++r)
    for (int64_t which = 0; which < 2; ++which)
      std::copy_n(page_row(a[0], a[1].u.int64 * kPageSize + r, which), kDim,
                  page_row(a[0], a[2].u.int64 * kPageSize + r, which));
}

inline void compact(const opd_value *a, int32_t n, opd_value *) {
  require_count(n, 4);
  called().push_back("compact");
  const int64_t count = dl(a[2]).shape[1];
  for (int64_t i = 0; i < ints(a[1])[a[3].u.int64]; ++i)
    for (int64_t which = 0; which < 2; ++which)
      std::copy_n(page_row(a[0], ints(a[2])[i], which), kDim, page_row(a[0], ints(a[2])[count + i], which));
}

inline void debug_get(const opd_value *a, int32_t n, opd_value *) {
  require_count(n, 5);
  const int64_t count = dl(a[1]).shape[0];
  for (int64_t i = 0; i < count; ++i)
    for (int64_t which = 0; which < 2; ++which)
      std::copy_n(page_row(a[0], ints(a[1])[i], which), kDim,
                  elements(a[2 + which]) + (a[4].u.int64 * count + i) * kDim);
}

inline bool is_host(DLDevice device) { return device.device_type == kDLCPU; }
/** The tensor itself, or a copy of it on the device. */
inline Tensor moved(const Tensor &tensor, DLDevice device) {
  if (is_host(device) && is_host(tensor.view().device)) return tensor;
  const Tensor there(tensor.shape(), tensor.dtype(), device);
  check(opd_tensor_copy(&tensor.view(), there.get()));
  return there;
}

/** A kernel of the host for tensors of a device: it gets copies, which go back afterwards. */
inline Body on_copies(Body body) {
  return [body = std::move(body)](const opd_value *args, int32_t count, opd_value *out) {
    std::vector<opd_value> here(args, args + count);
    std::vector<std::pair<Tensor, Tensor>> copies;  // there and here
    for (opd_value &value : here) {
      if ((value.type != OPD_TENSOR && value.type != OPD_DLTENSOR) || is_host(dl(value).device)) continue;
      const Tensor there = Tensor::borrow(dl(value));
      value = arg(copies.emplace_back(there, moved(there, {kDLCPU, 0})).second);
    }
    body(here.data(), count, out);
    for (const auto &[there, copy] : copies) {
      check(opd_tensor_copy(&copy.view(), there.get()));
      there.end_borrow();
    }
  };
}

struct Sizes {
  int64_t max_batch = 4, max_total = 256, chunk = 64, page_size = kPageSize, windows = 0, layers = 1;
  DLDevice device = {kDLCPU, 0};
  bool swaps_trees = false;  // as TVM's frontend for the CPU does
  std::vector<int64_t> kinds = {0};
  std::optional<int64_t> layer_window = std::nullopt;
};

/** A call of vm.builtin.paged_attention_kv_cache_create. @p change may alter its arguments. */
inline Value make_cache(const Sizes &s, const std::function<void(std::vector<Value> &)> &change = {}) {
  const auto kernel = [&](Body body) {
    return Value::retain(arg(make_function(is_host(s.device) ? std::move(body) : on_copies(std::move(body)))));
  };
  const auto tagged = [&](Body body) { return tuple_of("tirx", kernel(std::move(body))); };
  std::vector<int64_t> sizes{s.max_batch, s.max_total, s.chunk, s.page_size, s.windows};
  if (s.layer_window) sizes.push_back(*s.layer_window);
  const auto number = [](auto x) { return Value::retain(arg(x)); };
  std::vector<Value> all{
      shape_of(sizes),        shape_of({0, s.layers}), number(kHeads), number(int64_t{1}), number(kDim),
      number(kDim),           shape_of(s.kinds),       number(false),  number(int64_t{0}), number(1.0),
      number(int64_t{10000}), number(int64_t{0})};
  all.push_back(Value::retain(arg(Tensor(std::vector<int64_t>{}, "float32", s.device))));
  all.push_back(kernel(append));
  all.emplace_back();
  all.push_back(tagged(ragged));
  all.push_back(tagged(prefill("prefill")));
  all.push_back(tagged(decode("decode")));
  all.push_back(tagged(prefill("prefill_window")));
  all.push_back(tagged(decode("decode_window")));
  all.push_back(s.swaps_trees ? tagged(ragged_tree) : tagged(prefill_tree));
  all.push_back(s.swaps_trees ? tagged(prefill_tree) : tagged(ragged_tree));
  all.push_back(tuple_of());
  all.push_back(tuple_of(kernel(merge)));
  for (const auto &body : {Body(split_rotary), Body(copy_page), Body(debug_get), Body(compact)})
    all.push_back(kernel(body));
  if (change) change(all);
  std::vector<opd_value> views;
  for (const Value &value : all) views.push_back(value.view());
  Value cache;
  check(opd_function_call(Function::global("vm.builtin.paged_attention_kv_cache_create").get(), views.data(),
                          static_cast<int32_t>(views.size()), cache.out()));
  return cache;
}

}  // namespace opdyno_test::attention
