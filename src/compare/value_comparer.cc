// Implements ValueComparer: compares values of two runs, and the inputs and outputs of their calls.
#include <algorithm>
#include <numeric>

#include "compare/recorded_runs.h"
#include "device/device.h"
#include "value/number_blocks.h"

namespace opd {
namespace {

// Whether slot `i` shares the memory of another slot for which has() is true: a call may write an output in place of an
// input.
bool is_alias(const RecordedCall &call, size_t i, uint32_t CallTensor::*value, const std::function<bool(size_t)> &has) {
  for (size_t j = 0; j < call.slots.size(); ++j)
    if (j != i && call.slots[j].*value == call.slots[i].*value && has(j)) return true;
  return false;
}

}  // namespace

const ComparedValue &ValueComparer::compare(uint32_t a, uint32_t b) {
  const auto [place, is_new] = known_.try_emplace(uint64_t{a} << 32 | b);
  if (is_new) {
    check_stop_();
    place->second = compare_contents(a_.contents(a), b_.contents(b));
  }
  return place->second;
}

ComparedValue ValueComparer::compare_contents(const Contents &a, const Contents &b) const {
  ComparedValue out;
  const uint64_t elements = a.elements();
  if (elements != b.elements()) {
    out.agreement = Agreement::kDiffers, out.has_other_shape = true;
    return out;
  }
  out.difference.numbers = elements;
  // NaN is the only number that may differ from equal bits.
  const bool may_differ = !tolerances_.equal_nan && is_real(a.dtype) && (a.kept || a.live);
  if (a.has_same_bits(b) && !may_differ) return out;
  Ref<Tensor> a_copy, b_copy;
  const std::string_view one = elements_of(a, a_copy), other = elements_of(b, b_copy);
  if (!one.data() || !other.data()) {
    out.agreement = Agreement::kUnknown;
    return out;
  }
  out.difference = compare_elements(one.data(), a.dtype, other.data(), b.dtype, elements, tolerances_);
  if (!out.difference.agrees()) compare_layouts(a, one, b, other, out.difference);
  if (!out.difference.agrees()) out.agreement = Agreement::kDiffers;
  else if (!a.has_same_bits(b)) out.agreement = Agreement::kAgrees;
  return out;
}

// Compares each transposition of `b` with the shape of `a`. `best`: the result without transposition.
void ValueComparer::compare_layouts(const Contents &a, std::string_view a_bytes, const Contents &b,
                                    std::string_view b_bytes, Difference &best) const {
  constexpr size_t kMostAxes = 5;
  const size_t ndim = a.dims.size();
  if (a.dims == b.dims || ndim > kMostAxes ||
      !std::is_permutation(a.dims.begin(), a.dims.end(), b.dims.begin(), b.dims.end()))
    return;
  std::vector<size_t> axes(ndim);  // axes of B, in the order of A's
  std::iota(axes.begin(), axes.end(), size_t{0});
  std::vector<int64_t> strides(ndim, 1);
  for (size_t i = ndim; i-- > 1;) strides[i - 1] = strides[i] * b.dims[i];
  do {
    const auto fits = [&](size_t i) { return b.dims[axes[i]] == a.dims[i]; };
    std::vector<int64_t> turned;
    for (size_t i = 0; i < ndim && fits(i); ++i) turned.push_back(strides[axes[i]]);
    if (turned.size() < ndim) continue;
    check_stop_();
    const DLTensor view{const_cast<char *>(b_bytes.data()),
                        kHost,
                        static_cast<int32_t>(ndim),
                        b.dtype,
                        const_cast<int64_t *>(a.dims.data()),
                        turned.data(),
                        0};
    Ref<Tensor> copy;
    const Difference difference =
        compare_elements(a_bytes.data(), a.dtype, host_bytes(view, copy).data(), b.dtype, a.elements(), tolerances_);
    if (difference.mismatches < best.mismatches) best = difference;
  } while (!best.agrees() && std::next_permutation(axes.begin(), axes.end()));
}

std::vector<std::pair<uint32_t, uint32_t>> ValueComparer::outputs(const RecordedCall &a, const RecordedCall &b) const {
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  const auto add = [&](const CallTensor &one, const CallTensor &other) {
    if (one.after != kNoValue && other.after != kNoValue) pairs.emplace_back(one.after, other.after);
  };
  if (a.slots.size() == b.slots.size()) {
    // If a kernel should write an argument but does not, the argument differs. Exception: one side writes an input
    // because its output is in place of that input, and the other side does not.
    const auto is_in_place = [](const RecordedCall &here, const RecordedCall &there, size_t i) {
      return here.slots[i].is_written && !there.slots[i].is_written &&
             is_alias(here, i, &CallTensor::after, [&](size_t j) { return there.slots[j].is_written; });
    };
    for (size_t i = 0; i < a.slots.size(); ++i) {
      const bool is_output = a.slots[i].is_written || b.slots[i].is_written;
      if (is_output && !is_in_place(a, b, i) && !is_in_place(b, a, i)) add(a.slots[i], b.slots[i]);
    }
    return pairs;
  }
  std::vector<const CallTensor *> of_a, of_b;
  for (const CallTensor &slot : a.slots)
    if (slot.is_written) of_a.push_back(&slot);
  for (const CallTensor &slot : b.slots)
    if (slot.is_written) of_b.push_back(&slot);
  for (size_t i = 0; i < std::min(of_a.size(), of_b.size()); ++i) add(*of_a[i], *of_b[i]);
  return pairs;
}

Agreement ValueComparer::compare_outputs(const RecordedCall &a, const RecordedCall &b) {
  Agreement worst = Agreement::kEqual;
  for (const auto &[one, other] : outputs(a, b)) worst = std::max(worst, compare(one, other).agreement);
  return worst;
}

double ValueComparer::distance(const RecordedCall &a, const RecordedCall &b) {
  double greatest = 0;
  for (const auto &[one, other] : outputs(a, b)) greatest = std::max(greatest, compare(one, other).difference.max_abs);
  return greatest;
}

bool ValueComparer::inputs_agree(const RecordedCall &a, const RecordedCall &b) {
  if (a.slots.size() != b.slots.size()) return false;
  for (size_t i = 0; i < a.slots.size(); ++i) {
    const uint32_t one = a.slots[i].before, other = b.slots[i].before;
    if (one != kNoValue && other != kNoValue && !agrees(one, other)) return false;
    if ((one == kNoValue) == (other == kNoValue)) continue;
    // On one side the output is in place of an input. On the other side the output's memory had no contents.
    const RecordedCall &call = one != kNoValue ? a : b;
    if (!is_alias(call, i, &CallTensor::before, [](size_t) { return true; })) return false;
  }
  return true;
}

bool ValueComparer::inputs_agree_in_any_order(const RecordedCall &a, const RecordedCall &b) {
  const auto inputs_of = [](const RecordedCall &call) {
    std::vector<uint32_t> inputs;
    for (const CallTensor &slot : call.slots)
      if (slot.before != kNoValue) inputs.push_back(slot.before);
    return inputs;
  };
  std::vector<uint32_t> of_a = inputs_of(a);
  const std::vector<uint32_t> of_b = inputs_of(b);
  if (of_a.size() != of_b.size()) return false;
  for (const uint32_t value : of_b) {
    const auto found = std::ranges::find_if(of_a, [&](uint32_t other) { return agrees(other, value); });
    if (found == of_a.end()) return false;
    of_a.erase(found);
  }
  return true;
}

}  // namespace opd
