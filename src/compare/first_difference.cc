// Finds the first difference between two runs, and the call that causes it.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "compare/recorded_runs.h"
#include "value/number_blocks.h"

namespace opd {
namespace {

// "float32[2, 3]", without a device, which values do not have.
std::string type_of(const Contents &contents) { return type_text(contents.dtype, contents.dims); }

// The index of the element that contains the number.
std::string index_text(uint64_t number, const Contents &contents) {
  number /= numbers_per_element(contents.dtype);
  std::vector<int64_t> index(contents.dims.size());
  for (size_t i = index.size(); i-- > 0 && contents.elements();) {
    const auto size = static_cast<uint64_t>(contents.dims[i]);
    index[i] = static_cast<int64_t>(number % size);
    number /= size;
  }
  return dims_text(index);
}

std::string names_of(const RecordedRun &run, const std::vector<size_t> &calls) {
  constexpr size_t kMost = 4;
  std::string out;
  for (size_t i = 0; i < std::min(kMost, calls.size()); ++i)
    out += concat(i == 0 ? "" : i + 1 == calls.size() ? " or " : ", ", run.label(calls[i]));
  if (calls.size() > kMost) out += concat(" or ", calls.size() - kMost, " more");
  return out;
}

// The sources of a call's inputs: traced back to values of matched calls, parameters and constants.
struct Ancestry {
  std::vector<size_t> unmatched;  // unmatched calls on the way, in their order
  std::vector<uint32_t> values;   // values that these calls and the call itself read from outside
};

Ancestry ancestry_of(const RecordedRun &run, const std::vector<int32_t> &partners, size_t call) {
  Ancestry out;
  std::set<size_t> seen;
  std::set<uint32_t> values;
  std::vector<size_t> open = {call};
  while (!open.empty()) {
    const RecordedCall &reader = run.calls[open.back()];
    open.pop_back();
    for (const CallTensor &slot : reader.slots) {
      if (slot.before == kNoValue) continue;
      const Origin &origin = run.origin(slot.before);
      const auto producer = static_cast<size_t>(origin.index);
      const bool is_open = origin.kind == Origin::kCall && producer < partners.size() &&
                           partners[producer] == CallMatching::kNone && producer != call;
      if (!is_open) values.insert(slot.before);
      else if (seen.insert(producer).second) open.push_back(producer);
    }
  }
  out.unmatched.assign(seen.begin(), seen.end());
  out.values.assign(values.begin(), values.end());
  return out;
}

class Search {
 public:
  Search(ValueComparer &comparer, const CallMatching &matching)
      : comparer_(comparer), matching_(matching), a_(comparer.a()), b_(comparer.b()) {}

  FirstDifference find() {
    for (size_t b = 0; b < b_.calls.size() && !out_.is_found; ++b)
      if (matching_.of_b[b] != CallMatching::kNone) look_at(static_cast<size_t>(matching_.of_b[b]), b);
    for (size_t i = 0; i < std::min(a_.results.size(), b_.results.size()) && !out_.is_found; ++i) look_at_result(i);
    return std::move(out_);
  }

 private:
  void look_at(size_t a, size_t b) {
    const RecordedCall &one = a_.calls[a], &other = b_.calls[b];
    for (const auto &[a_value, b_value] : comparer_.outputs(one, other)) {
      if (comparer_.compare(a_value, b_value).agreement != Agreement::kDiffers) continue;
      out_.is_found = true;
      out_.a = static_cast<int32_t>(a), out_.b = static_cast<int32_t>(b);
      out_.a_value = a_value, out_.b_value = b_value;
      out_.where = b_.label(b);
      if (one.name != other.name) out_.where += concat(" (in A: ", a_.label(a), ")");
      out_.how = how(a_value, b_value);
      find_cause(a, b);
      return;
    }
  }

  void look_at_result(size_t i) {
    const uint32_t one = a_.results[i].after, other = b_.results[i].after;
    if (comparer_.compare(one, other).agreement != Agreement::kDiffers) return;
    out_.is_found = true;
    out_.a_value = one, out_.b_value = other;
    out_.where = concat("result ", i);
    out_.how = how(one, other);
    // Either the calls that wrote these values have no partners, or their partners wrote other values.
    const auto add = [](const RecordedRun &run, const std::vector<int32_t> &partners, uint32_t value,
                        std::vector<size_t> &causes) {
      const Origin &origin = run.origin(value);
      if (origin.kind != Origin::kCall || static_cast<size_t>(origin.index) >= run.calls.size()) return;
      const auto call = static_cast<size_t>(origin.index);
      if (partners[call] == CallMatching::kNone) causes = ancestry_of(run, partners, call).unmatched;
      causes.push_back(call);
    };
    add(a_, matching_.of_a, one, out_.a_causes);
    add(b_, matching_.of_b, other, out_.b_causes);
    say_causes();
  }

  std::string how(uint32_t a_value, uint32_t b_value) {
    const Contents &a = a_.contents(a_value), &b = b_.contents(b_value);
    const ComparedValue &compared = comparer_.compare(a_value, b_value);
    const Difference &difference = compared.difference;
    if (compared.has_other_shape) return concat(type_of(a), " in A, ", type_of(b), " in B");
    if (difference.as_bits && same(a.dtype, b.dtype))
      return concat(difference.mismatches, " of ", difference.numbers, " bytes of ", type_of(a), " differ");
    if (difference.as_bits) return concat(type_of(a), " in A cannot be compared with ", type_of(b), " in B");
    const std::string place = concat(" at ", index_text(difference.worst, a));
    if (!difference.has_distance())
      return concat(shown_number(difference.worst_b), place, ", where A has ", shown_number(difference.worst_a), "; ",
                    difference.mismatches, " of ", difference.numbers, " elements differ");
    return concat("max abs ", shown_number(difference.max_abs), " (tolerance ", shown_number(difference.allowed), ")");
  }

  void find_cause(size_t a, size_t b) {
    const RecordedCall &one = a_.calls[a], &other = b_.calls[b];
    if (comparer_.inputs_agree(one, other)) {
      out_.a_causes = {a}, out_.b_causes = {b};
      return say_causes();
    }
    if (comparer_.inputs_agree_in_any_order(one, other)) {
      out_.a_causes = {a}, out_.b_causes = {b};
      return say_causes(" which reads the same values in another order");
    }
    const Ancestry of_a = ancestry_of(a_, matching_.of_a, a), of_b = ancestry_of(b_, matching_.of_b, b);
    if (say_differing_origin(one, other, of_a, of_b)) return;
    out_.a_causes = of_a.unmatched, out_.b_causes = of_b.unmatched;
    out_.a_causes.push_back(a), out_.b_causes.push_back(b);
    say_causes();
  }

  // Describes a value that one side reads from outside and that agrees with no value of the other side.
  bool say_differing_origin(const RecordedCall &one, const RecordedCall &other, const Ancestry &of_a,
                            const Ancestry &of_b) {
    const auto agree = [&](uint32_t a_value, uint32_t b_value) {
      return a_value != kNoValue && b_value != kNoValue && comparer_.agrees(a_value, b_value);
    };
    // Whether B's value is an input of A at another index, while B's input at that index does not agree with A's.
    const auto is_elsewhere = [&](uint32_t b_value) {
      for (size_t i = 0; i < one.slots.size(); ++i)
        if (agree(one.slots[i].before, b_value) && !agree(one.slots[i].before, other.slots[i].before)) return true;
      return false;
    };
    if (one.slots.size() == other.slots.size()) {
      for (size_t i = 0; i < one.slots.size(); ++i) {
        const uint32_t a_value = one.slots[i].before, b_value = other.slots[i].before;
        if (a_value == kNoValue || b_value == kNoValue || agree(a_value, b_value)) continue;
        const Origin::Kind kind = b_.origin(b_value).kind;
        if (kind == Origin::kCall || a_.origin(a_value).kind == Origin::kCall || is_elsewhere(b_value)) continue;
        out_.cause = concat("its input ", i, " differs already: ", origin_text(b_.origin(b_value)), " (",
                            how(a_value, b_value), ")");
        return true;
      }
    }
    for (const uint32_t b_value : of_b.values) {
      // Weights of a quantised build have no counterpart, because A's have another dtype.
      const auto is_alike = [&](uint32_t a_value) {
        const Contents &a = a_.contents(a_value), &b = b_.contents(b_value);
        return a.elements() == b.elements() && is_real(a.dtype) == is_real(b.dtype);
      };
      const auto fits = [&](uint32_t a_value) { return agree(a_value, b_value); };
      const bool is_of_call = b_.origin(b_value).kind == Origin::kCall,
                 has_alike = std::ranges::any_of(of_a.values, is_alike);
      if (is_of_call || !has_alike || std::ranges::any_of(of_a.values, fits)) continue;
      out_.cause = concat("which reads ", origin_text(b_.origin(b_value)), " of type ", type_of(b_.contents(b_value)),
                          "; no input of A agrees with it");
      return true;
    }
    return false;
  }

  static std::string origin_text(const Origin &origin) {
    if (origin.kind == Origin::kConstant) return concat("constant ", origin.index);
    if (origin.kind == Origin::kParameter) return concat("argument ", origin.index);
    return "memory that no call was seen to write";
  }

  void say_causes(const char *of_one = " whose inputs agree") {
    const std::string a = names_of(a_, out_.a_causes), b = names_of(b_, out_.b_causes);
    if (a.empty() && b.empty()) return;
    const bool is_one = out_.b_causes.size() == 1 && out_.a_causes.size() == 1;
    out_.cause = concat("caused by ", b.empty() ? "" : b.c_str());
    if (b.empty()) out_.cause += a + " of A";
    else if (a != b && !a.empty()) out_.cause += concat(" (in A: ", a, ")");
    out_.cause += is_one ? of_one : ", which read values that agree";
  }

  ValueComparer &comparer_;
  const CallMatching &matching_;
  const RecordedRun &a_, &b_;
  FirstDifference out_;
};

}  // namespace

std::string shown_number(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  const double magnitude = std::fabs(number);
  char text[32];
  if (magnitude == 0 || (magnitude >= 0.01 && magnitude < 1e5))
    return {text, std::to_chars(text, text + sizeof text, number, std::chars_format::general, 3).ptr};
  std::string out(text, std::to_chars(text, text + sizeof text, number, std::chars_format::scientific, 1).ptr);
  // Shortens "3.0e-05" to "3e-5".
  const size_t e = out.find('e');
  std::string fraction = out.substr(0, e), exponent = out.substr(e + 1);
  if (fraction.ends_with(".0")) fraction.resize(fraction.size() - 2);
  const bool is_negative = exponent[0] == '-';
  exponent.erase(0, 1);
  exponent.erase(0, std::min(exponent.find_first_not_of('0'), exponent.size() - 1));
  return concat(fraction, "e", is_negative ? "-" : "", exponent);
}

FirstDifference find_first_difference(ValueComparer &comparer, const CallMatching &matching) {
  return Search(comparer, matching).find();
}

}  // namespace opd
