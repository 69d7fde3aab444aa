// relax.run.*: operators whose result size depends on the data. Results equal numpy's, with one exception. Without an
// axis, the indices that rebuild the input are a vector, as Relax declares them; numpy 2 gives them the input's shape.
#include <cstring>
#include <numeric>
#include <vector>

#include "device/device.h"
#include "params/params.h"
#include "vm/builtins/builtins.h"
#include "vm/builtins/tensor_args.h"

namespace opd {
namespace {

Ref<Tensor> host_copy(const View &v, std::string_view name) {
  if (v.type == OPD_TENSOR) return on_host(Ref<Tensor>::share(&as<Tensor>(v, name)));
  return copied_to(kHost, as_dltensor(v, name));
}

Ref<Tensor> index_tensor(std::span<const int64_t> dims, int64_t *&out_data) {
  auto tensor = make_tensor(dims, kInt64, kHost);
  out_data = static_cast<int64_t *>(tensor->dl.data);
  return tensor;
}

template <class F>
Ref<Tensor> index_vector(size_t count, const F &element) {
  const int64_t dims[] = {static_cast<int64_t>(count)};
  int64_t *data;
  auto tensor = index_tensor(dims, data);
  for (size_t i = 0; i < count; ++i) data[i] = element(i);
  return tensor;
}

// The rows to compare: slices of a tensor along an axis, or its elements.
struct Rows {
  int64_t count, width, inner;  // a row has width / inner runs of `inner` elements
  Rows(const DLTensor &x, const int32_t *axis) : count(static_cast<int64_t>(count_of(x))), width(1), inner(1) {
    if (!axis) return;
    const AxisView view(x, *axis);
    require(count > 0 || view.size == 0, "x must have elements to compare along axis ", *axis, ", but is ",
            describe(x));
    width = count ? view.lines : 0;
    inner = view.after;
    count = view.size;
  }
  // The index of a row's part `run` in a tensor of `rows` rows.
  int64_t place(int64_t row, int64_t run, int64_t rows) const { return (run * rows + row) * inner; }
};

// Groups of equal rows, in ascending order.
struct Groups {
  std::vector<int64_t> first, size;  // per group: its first row, and its number of rows
  std::vector<int64_t> of_row;

  Groups(const DLTensor &x, const Rows &rows) : of_row(static_cast<size_t>(rows.count)) {
    const SortKeys keys(x.dtype, "x");
    const auto width = static_cast<size_t>(rows.width);
    std::vector<int64_t> table(static_cast<size_t>(rows.count) * width);
    for (int64_t row = 0; row < rows.count; ++row)
      for (int64_t run = 0; run * rows.inner < rows.width; ++run)
        keys.load(data_of(x) + rows.place(row, run, rows.count) * (x.dtype.bits / 8), 1, rows.inner,
                  table.data() + row * rows.width + run * rows.inner);
    std::vector<int64_t> order(static_cast<size_t>(rows.count));
    std::iota(order.begin(), order.end(), 0);
    const auto row_at = [&](int64_t row) {
      return std::span<const int64_t>(table).subspan(static_cast<size_t>(row) * width, width);
    };
    const auto compare = [&](int64_t a, int64_t b) {
      const auto x_row = row_at(a), y_row = row_at(b);
      return std::lexicographical_compare_three_way(x_row.begin(), x_row.end(), y_row.begin(), y_row.end());
    };
    std::ranges::sort(order, [&](int64_t a, int64_t b) {
      const auto result = compare(a, b);
      return result != 0 ? result < 0 : a < b;
    });
    for (size_t i = 0; i < order.size(); ++i) {
      if (i == 0 || compare(order[i - 1], order[i]) != 0) first.push_back(order[i]), size.push_back(0);
      ++size.back();
      of_row[static_cast<size_t>(order[i])] = static_cast<int64_t>(first.size()) - 1;
    }
  }

  void in_order_of_appearance() {
    std::vector<size_t> order(first.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, [&](size_t a, size_t b) { return first[a] < first[b]; });
    std::vector<int64_t> new_first, new_size, new_place(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      new_first.push_back(first[order[i]]);
      new_size.push_back(size[order[i]]);
      new_place[order[i]] = static_cast<int64_t>(i);
    }
    first = std::move(new_first);
    size = std::move(new_size);
    for (int64_t &group : of_row) group = new_place[static_cast<size_t>(group)];
  }
};

Ref<Tensor> chosen_rows(const DLTensor &x, const Rows &rows, const int32_t *axis, std::span<const int64_t> chosen) {
  std::vector<int64_t> dims(1);
  if (axis) dims.assign(x.shape, x.shape + x.ndim);
  dims[axis ? static_cast<size_t>(*axis) : 0] = static_cast<int64_t>(chosen.size());
  auto result = make_tensor(dims, x.dtype, kHost);
  const int64_t bytes = x.dtype.bits / 8;
  for (int64_t i = 0; i < static_cast<int64_t>(chosen.size()); ++i)
    for (int64_t run = 0; run * rows.inner < rows.width; ++run)
      std::memcpy(data_of(result->dl) + rows.place(i, run, static_cast<int64_t>(chosen.size())) * bytes,
                  data_of(x) + rows.place(chosen[static_cast<size_t>(i)], run, rows.count) * bytes,
                  static_cast<size_t>(rows.inner * bytes));
  return result;
}

Value unique(Args args) {
  const auto x = host_copy(args[0], "x");
  const bool sorted = as_int(args[1], "sorted") != 0, with_index = as_int(args[2], "return_index") != 0;
  const bool with_inverse = as_int(args[3], "return_inverse") != 0, with_counts = as_int(args[4], "return_counts") != 0;
  int32_t axis_given = 0;
  const int32_t *axis = nullptr;
  if (args.size() == 6 && args[5].type != OPD_NONE) axis_given = axis_of(args[5], x->dl.ndim), axis = &axis_given;
  const Rows rows(x->dl, axis);
  Groups groups(x->dl, rows);
  if (!sorted) groups.in_order_of_appearance();
  auto values = chosen_rows(x->dl, rows, axis, groups.first);
  if (!with_index && !with_inverse && !with_counts) return values;
  const auto copy_of = [](const std::vector<int64_t> &v) {
    return index_vector(v.size(), [&](size_t i) { return v[i]; });
  };
  std::vector<Value> results{std::move(values)};
  if (with_index) results.emplace_back(copy_of(groups.first));
  if (with_inverse) results.emplace_back(copy_of(groups.of_row));
  if (with_counts) results.emplace_back(copy_of(groups.size));
  return Array::make({&results.front().view(), results.size()});
}

// Returns int64[rank, number of non-zero elements]: one column of indices per element, in row-major order.
Value nonzero(Args args) {
  const auto x = host_copy(args[0], "x");
  const SortKeys keys(x->dl.dtype, "x");
  const int64_t one[] = {1};
  const auto shape = x->dl.ndim ? dims_of(x->dl) : std::span<const int64_t>(one);
  std::vector<int64_t> all(count_of(x->dl)), places;
  keys.load(data_of(x->dl), 1, static_cast<int64_t>(all.size()), all.data());
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i] != keys.zero()) places.push_back(static_cast<int64_t>(i));
  const int64_t dims[] = {static_cast<int64_t>(shape.size()), static_cast<int64_t>(places.size())};
  int64_t *data;
  auto result = index_tensor(dims, data);
  for (size_t i = 0; i < places.size(); ++i) {
    int64_t place = places[i];
    for (size_t axis = shape.size(); axis-- > 0; place /= shape[axis])
      data[axis * places.size() + i] = place % shape[axis];
  }
  return result;
}

Value shape_to_tensor(Args args) {
  const auto dims = as<Shape>(args[0], "shape").dims();
  return index_vector(dims.size(), [&](size_t i) { return dims[i]; });
}

constexpr Builtin kUniqueBuiltins[] = {
    builtin<"relax.run.unique", unique, "(x, sorted, return_index, return_inverse, return_counts [, axis])", 5, 6>(),
    builtin<"relax.run.nonzero", nonzero, "(x)", 1>(),
    builtin<"relax.run.shape_to_tensor", shape_to_tensor, "(shape)", 1>(),
};

}  // namespace

std::span<const Builtin> unique_builtins() { return kUniqueBuiltins; }

}  // namespace opd
