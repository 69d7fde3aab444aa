// tvm.contrib.sort.*, called by the kernels of sort, argsort, topk and non-maximum suppression. Equal elements keep
// their order. NaNs come last in both directions; TVM does not define their place.
#include <cstring>
#include <optional>
#include <vector>

#include "vm/builtins/builtins.h"
#include "vm/builtins/tensor_args.h"

namespace opd {
namespace {

// Writes indices into a tensor of integers or floats.
class IndexWriter {
 public:
  // `limit`: all indices are smaller.
  IndexWriter(const DLTensor &to, int64_t limit, std::string_view name)
      : data_(data_of(to)), bytes_(to.dtype.bits / 8) {
    struct Form {
      uint8_t code, bits;
      int64_t most;
      void (*put)(char *to, int64_t index);
    };
    constexpr Form kForms[] = {
        {kDLUInt, 8, int64_t{1} << 8, put<uint8_t>},  {kDLInt, 8, int64_t{1} << 7, put<int8_t>},
        {kDLInt, 32, int64_t{1} << 31, put<int32_t>}, {kDLInt, 64, INT64_MAX, put<int64_t>},
        {kDLFloat, 32, int64_t{1} << 24, put<float>}, {kDLFloat, 64, int64_t{1} << 53, put<double>},
    };
    int64_t most = 0;
    for (const Form &form : kForms)
      if (same(to.dtype, {form.code, form.bits, 1})) most = form.most, put_ = form.put;
    if (!put_)
      fail(OPD_UNSUPPORTED, name, " must be of dtype int8, uint8, int32, int64, float32 or float64, but is ",
           describe(to));
    require(limit <= most, name, ", of dtype ", dtype_name(to.dtype), ", cannot represent ", limit, " indices");
  }
  void operator()(int64_t place, int64_t index) const { put_(data_ + place * bytes_, index); }

 private:
  template <class T>
  static void put(char *to, int64_t index) {
    const T number = static_cast<T>(index);
    std::memcpy(to, &number, sizeof number);
  }
  char *data_;
  int64_t bytes_;
  void (*put_)(char *to, int64_t index) = nullptr;
};

// Copies elements along an axis. Source and destination may be the same memory.
class ElementCopy {
 public:
  ElementCopy(const DLTensor &from, const DLTensor &to)
      : from_(data_of(from)), to_(data_of(to)), bytes_(from.dtype.bits / 8) {}
  void operator()(std::span<const Ranked> order, int64_t from_base, int64_t to_base, int64_t stride) {
    row_.resize(order.size() * static_cast<size_t>(bytes_));
    for (size_t i = 0; i < order.size(); ++i)
      std::memcpy(row_.data() + i * static_cast<size_t>(bytes_), from_ + (from_base + order[i].index * stride) * bytes_,
                  static_cast<size_t>(bytes_));
    for (size_t i = 0; i < order.size(); ++i)
      std::memcpy(to_ + (to_base + static_cast<int64_t>(i) * stride) * bytes_,
                  row_.data() + i * static_cast<size_t>(bytes_), static_cast<size_t>(bytes_));
  }

 private:
  const char *from_;
  char *to_;
  int64_t bytes_;
  std::vector<char> row_;
};

// Sorts each line along the axis (only its first `limits[line]` elements, if there are limits) and passes the first
// `wanted` to `body(order, base, i, j)`. `base` is the index of the line's first element; `i` and `j` count the lines
// before and after the axis.
template <class F>
void for_each_line(const DLTensor &input, const AxisView &view, bool ascending, std::span<const int32_t> limits,
                   int64_t wanted, const F &body) {
  const SortKeys keys(input.dtype, "input");
  if (count_of(input) == 0) return;
  std::vector<int64_t> line(static_cast<size_t>(view.size));
  std::vector<Ranked> order;
  const int64_t bytes = input.dtype.bits / 8;
  for (int64_t i = 0; i < view.before; ++i)
    for (int64_t j = 0; j < view.after; ++j) {
      const int64_t base = i * view.size * view.after + j, number = i * view.after + j;
      const int64_t count = limits.empty() ? view.size : limits[static_cast<size_t>(number)];
      keys.load(data_of(input) + base * bytes, view.after, count, line.data());
      order.clear();
      for (int64_t k = 0; k < count; ++k) {
        const int64_t key = line[static_cast<size_t>(k)];
        order.push_back({ascending ? key : keys.descending(key), k});
      }
      if (wanted >= count) std::sort(order.begin(), order.end());
      else std::partial_sort(order.begin(), order.begin() + wanted, order.end());
      body(std::span<const Ranked>(order).first(static_cast<size_t>(std::min(wanted, count))), base, i, j);
    }
}

void same_shape(const DLTensor &a, std::string_view name_a, const DLTensor &b, std::string_view name_b) {
  require(std::ranges::equal(dims_of(a), dims_of(b)), name_b, " must have the shape of ", name_a, ", ", describe(a),
          ", but is ", describe(b));
}

Value argsort(Args args) {
  const DLTensor &input = compact_tensor(args[0], "input"), &output = compact_output(args[1], "output");
  same_shape(input, "input", output, "output");
  const AxisView view(input, axis_of(args[2], input.ndim));
  const bool ascending = as_int(args[3], "is_ascend") != 0;
  const IndexWriter write(output, view.size, "output");
  for_each_line(input, view, ascending, {}, view.size,
                [&](std::span<const Ranked> order, int64_t base, int64_t, int64_t) {
                  for (size_t k = 0; k < order.size(); ++k)
                    write(base + static_cast<int64_t>(k) * view.after, order[k].index);
                });
  return {};
}

Value sort(Args args) {
  const DLTensor &input = compact_tensor(args[0], "input"), &output = compact_output(args[1], "output", input.dtype);
  same_shape(input, "input", output, "output");
  const AxisView view(input, axis_of(args[2], input.ndim));
  const bool ascending = as_int(args[3], "is_ascend") != 0;
  ElementCopy copy(input, output);
  for_each_line(
      input, view, ascending, {}, view.size,
      [&](std::span<const Ranked> order, int64_t base, int64_t, int64_t) { copy(order, base, base, view.after); });
  return {};
}

void check_topk_shape(const DLTensor &input, int32_t axis, int64_t k, const DLTensor &output, std::string_view name) {
  bool fits = output.ndim == input.ndim;
  for (int32_t i = 0; fits && i < input.ndim; ++i) fits = output.shape[i] == (i == axis ? k : input.shape[i]);
  require(fits, name, " must be as input, ", describe(input), ", with ", k, " elements along axis ", axis, ", but is ",
          describe(output));
}

Value topk(Args args) {
  const DLTensor &input = compact_tensor(args[0], "input");
  const Args rest = args.last(4);
  const int32_t axis = axis_of(rest[1], input.ndim);
  const std::string_view returns = as_text(rest[2], "ret_type");
  require(returns == "both" || returns == "values" || returns == "indices",
          "ret_type must be both, values or indices, but is ", returns);
  const size_t outputs = returns == "both" ? 2 : 1;
  if (args.size() != 5 + outputs)
    wrong_count(args, outputs == 2 ? "(input, values, indices, k, axis, \"both\", is_ascend)"
                                   : "(input, output, k, axis, ret_type, is_ascend)");
  const AxisView view(input, axis);
  int64_t k = as_int(rest[0], "k");
  if (k < 1) k = view.size;  // in TVM, k < 1 asks for all elements
  if (k > view.size)
    fail(OPD_OUT_OF_RANGE, "k is ", k, ", but axis ", axis, " of input, ", describe(input), ", has ", view.size,
         " elements");
  const DLTensor *values = returns == "indices" ? nullptr : &compact_output(args[1], "values", input.dtype);
  const DLTensor *indices = returns == "values" ? nullptr : &compact_output(args[outputs], "indices");
  if (values) check_topk_shape(input, axis, k, *values, "values");
  if (indices) check_topk_shape(input, axis, k, *indices, "indices");
  std::optional<ElementCopy> copy;
  std::optional<IndexWriter> write;
  if (values) copy.emplace(input, *values);
  if (indices) write.emplace(*indices, view.size, "indices");
  for_each_line(input, view, as_int(rest[3], "is_ascend") != 0, {}, k,
                [&](std::span<const Ranked> order, int64_t base, int64_t i, int64_t j) {
                  const int64_t to = i * k * view.after + j;
                  if (write)
                    for (size_t place = 0; place < order.size(); ++place)
                      (*write)(to + static_cast<int64_t>(place) * view.after, order[place].index);
                  if (copy) (*copy)(order, base, to, view.after);
                });
  return {};
}

// Sorts only the first sort_num elements of each line; the others keep their own index.
Value argsort_nms(Args args) {
  const DLTensor &input = compact_tensor(args[0], "input", kFloat32);
  const DLTensor &output = compact_output(args[2], "output", kInt32);
  same_shape(input, "input", output, "output");
  const AxisView view(input, axis_of(args[3], input.ndim));
  const auto given = elements<int32_t>(compact_tensor(args[1], "sort_num", kInt32), "sort_num");
  require(static_cast<int64_t>(given.size()) == view.lines, "sort_num must have an element for each of the ",
          view.lines, " lines of input, but has ", given.size());
  std::vector<int32_t> limits(given.begin(), given.end());
  for (int32_t &limit : limits) {
    if (limit > view.size)
      fail(OPD_OUT_OF_RANGE, "sort_num must be at most ", view.size, ", the size of the axis, but is ", limit);
    limit = std::max(limit, 0);
  }
  const IndexWriter write(output, view.size, "output");
  for_each_line(input, view, as_int(args[4], "is_ascend") != 0, limits, view.size,
                [&](std::span<const Ranked> order, int64_t base, int64_t, int64_t) {
                  for (int64_t k = 0; k < view.size; ++k)
                    write(base + k * view.after,
                          static_cast<size_t>(k) < order.size() ? order[static_cast<size_t>(k)].index : k);
                });
  return {};
}

constexpr Builtin kSortBuiltins[] = {
    builtin<"tvm.contrib.sort.argsort", argsort, "(input, output, axis, is_ascend)", 4>(),
    builtin<"tvm.contrib.sort.sort", sort, "(input, output, axis, is_ascend)", 4>(),
    builtin<"tvm.contrib.sort.topk", topk, "(input, [values,] [indices,] k, axis, ret_type, is_ascend)", 6, 7>(),
    builtin<"tvm.contrib.sort.argsort_nms", argsort_nms, "(input, sort_num, output, axis, is_ascend)", 5>(),
};

}  // namespace

std::span<const Builtin> sort_builtins() { return kSortBuiltins; }

}  // namespace opd
