#include "compare/value_comparer.h"

#include <algorithm>

#include "compare/number_blocks.h"

namespace opd {

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
  // NaN is the one number that may differ from its own bits.
  const bool may_differ = !tolerances_.equal_nan && is_real(a.dtype) && (a.kept || a.live);
  if (a.has_same_bits(b) && !may_differ) return out;
  Ref<Tensor> a_copy, b_copy;
  const std::string_view one = elements_of(a, a_copy), other = elements_of(b, b_copy);
  if (!one.data() || !other.data()) {
    out.agreement = Agreement::kUnknown;
    return out;
  }
  out.difference = compare_elements(one.data(), a.dtype, other.data(), b.dtype, elements, tolerances_);
  if (!out.difference.agrees()) out.agreement = Agreement::kDiffers;
  else if (!a.has_same_bits(b)) out.agreement = Agreement::kAgrees;
  return out;
}

namespace {

// Whether slot `i` has the same memory as one of `has`: a call may write an argument in the place of another.
bool is_alias(const RecordedCall &call, size_t i, uint32_t CallTensor::*value, const std::function<bool(size_t)> &has) {
  for (size_t j = 0; j < call.slots.size(); ++j)
    if (j != i && call.slots[j].*value == call.slots[i].*value && has(j)) return true;
  return false;
}

}  // namespace

std::vector<std::pair<uint32_t, uint32_t>> ValueComparer::outputs(const RecordedCall &a, const RecordedCall &b) const {
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  const auto add = [&](const CallTensor &one, const CallTensor &other) {
    if (one.after != kNoValue && other.after != kNoValue) pairs.emplace_back(one.after, other.after);
  };
  if (a.slots.size() == b.slots.size()) {
    // A kernel that should write an argument, and does not, differs there, too. An input that only one side writes,
    // because its output has that place, is none.
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

bool ValueComparer::inputs_agree(const RecordedCall &a, const RecordedCall &b) {
  if (a.slots.size() != b.slots.size()) return false;
  for (size_t i = 0; i < a.slots.size(); ++i) {
    const uint32_t one = a.slots[i].before, other = b.slots[i].before;
    if (one != kNoValue && other != kNoValue && !agrees(one, other)) return false;
    if ((one == kNoValue) == (other == kNoValue)) continue;
    // The output has the place of an input on one side, and memory without contents on the other.
    const RecordedCall &call = one != kNoValue ? a : b;
    if (!is_alias(call, i, &CallTensor::before, [](size_t) { return true; })) return false;
  }
  return true;
}

}  // namespace opd
