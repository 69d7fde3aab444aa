// Tensors as text: rows of aligned numbers. The middle of a large tensor is left out.
#include "cli/tensors/tensor_text.h"

#include <algorithm>

#include "cli/support/text.h"
#include "cli/tensors/dim.h"
#include "cli/tensors/element.h"

namespace opd::cli {

namespace {

constexpr size_t full_limit = 1000;  // elements
constexpr int64_t edge = 3;          // places shown at each end of a long dimension
constexpr int short_digits = 6;

class Printer {
 public:
  Printer(const DLTensor &view, bool full)
      : view_(view),
        data_(data_of(view)),
        scalar_(scalar_of(view.dtype, "printing")),
        cuts_(!full && element_count(view) > full_limit),
        digits_(full ? 0 : short_digits) {
    visit(0, 0, [this](size_t index) { width_ = std::max(width_, element(index).size()); });
  }

  std::string print() {
    if (element_count(view_) == 0) return "[]";
    print_level(0, 0);
    return std::move(out_);
  }

 private:
  // The indices shown along a dimension; -1 stands for the omitted ones.
  std::vector<int64_t> places(int level) const {
    const int64_t size = view_.shape[level];
    std::vector<int64_t> shown;
    for (int64_t i = 0; i < size; ++i) {
      if (cuts_ && size > 2 * edge && i == edge) {
        shown.push_back(-1);
        i = size - edge;
      }
      shown.push_back(i);
    }
    return shown;
  }

  template <class Use>
  void visit(int level, size_t index, Use use) {
    if (level == view_.ndim) return use(index);
    for (const int64_t place : places(level))
      if (place >= 0)
        visit(level + 1, index * static_cast<size_t>(view_.shape[level]) + static_cast<size_t>(place), use);
  }

  std::string element(size_t index) const {
    std::vector<std::string> numbers;
    const auto count = static_cast<size_t>(scalar_.per_element);
    for (size_t i = 0; i < count; ++i) numbers.push_back(print_scalar(data_, index * count + i, scalar_, digits_));
    return count == 1 ? numbers[0] : cat("(", join(numbers, " "), ")");
  }

  void print_level(int level, size_t index) {
    if (level == view_.ndim) {
      out_ += pad_left(element(index), width_);
      return;
    }
    const bool is_row = level + 1 == view_.ndim;
    const std::string between = is_row ? " "
                                       : cat(std::string(static_cast<size_t>(view_.ndim - level - 1), '\n'),
                                             std::string(static_cast<size_t>(level) + 1, ' '));
    out_ += '[';
    bool is_first = true;
    for (const int64_t place : places(level)) {
      if (!is_first) out_ += between;
      is_first = false;
      if (place < 0) out_ += "...";
      else print_level(level + 1, index * static_cast<size_t>(view_.shape[level]) + static_cast<size_t>(place));
    }
    out_ += ']';
  }

  const DLTensor &view_;
  const void *data_;
  Scalar scalar_;
  bool cuts_;
  int digits_;
  size_t width_ = 0;
  std::string out_;
};

}  // namespace

std::string tensor_text(const Tensor &tensor, bool full) {
  const DLTensor &view = tensor.view();
  return has_scalars(view.dtype) ? Printer(view, full).print() : "";
}

std::string tensor_type(const Tensor &tensor) {
  const DLTensor &view = tensor.view();
  return cat(opdyno::to_string(view.dtype), dims_text(view.shape, view.ndim));
}

}  // namespace opd::cli
