// Implements CallMatching: matches the calls of one run with those of the other.
#include <algorithm>
#include <tuple>

#include "compare/recorded_runs.h"
#include "value/number_blocks.h"

namespace opd {
namespace {

// Removes the number of a name: TVM names the second "fused_matmul_add" "fused_matmul1_add1".
std::string without_digits(std::string_view name) {
  std::string out;
  for (size_t i = 0; i < name.size(); ++i) {
    const bool is_digit = name[i] >= '0' && name[i] <= '9';
    if (!is_digit) {
      out += name[i];
      continue;
    }
    size_t end = i;
    while (end < name.size() && name[end] >= '0' && name[end] <= '9') ++end;
    // A digit inside a word is kept, as in "conv2d".
    if (end < name.size() && name[end] != '_') out += name.substr(i, end - i);
    i = end - 1;
  }
  return out;
}

// Sorts sizes: "[6, 1, 4]" becomes "[1, 4, 6]".
std::string sorted_sizes(std::string_view shape) {
  std::vector<std::string_view> sizes;
  for (size_t begin = 1; begin + 1 < shape.size();) {
    const size_t end = std::min(shape.find(',', begin), shape.size() - 1);
    sizes.push_back(shape.substr(begin, end - begin));
    begin = end + 2;
  }
  std::ranges::sort(sizes);
  std::string out;
  for (const std::string_view size : sizes) out += concat(size, ",");
  return out;
}

// The computing parts of a kernel's name, each with a sign before it: "fused_matmul1_cast_add2_cast3" has
// "_matmul_add".
std::string parts_of(std::string_view name) {
  constexpr std::string_view kMoves[] = {"fused",     "cast",    "astype",  "quantize",         "dequantize",
                                         "transpose", "reshape", "squeeze", "layout_transform", "expand_dims"};
  std::string rest = "_" + without_digits(name) + "_";
  for (const std::string_view move : kMoves) {
    const std::string part = concat("_", move, "_");
    for (size_t at; (at = rest.find(part)) != std::string::npos;) rest.replace(at, part.size(), "_");
  }
  rest.pop_back();
  return rest;
}

// The kind of a call's first output: its number of elements, and whether they are floating point numbers.
std::optional<uint64_t> output_of(const RecordedRun &run, const RecordedCall &call) {
  for (const CallTensor &slot : call.slots)
    if (slot.is_written) return run.contents(slot.after).elements() << 1 | slot.is_real;
  return std::nullopt;
}

constexpr size_t kMostEdits = 1500;     // if there are more differences, the programs have little in common
constexpr size_t kMostInGroup = 64;     // calls of one name and shapes that are matched again
constexpr size_t kMostCandidates = 16;  // values that a value is compared with, number by number

class Matcher {
 public:
  explicit Matcher(ValueComparer &comparer)
      : comparer_(comparer),
        a_(comparer.a()),
        b_(comparer.b()),
        of_a_(a_.calls.size(), kNone),
        of_b_(b_.calls.size(), kNone),
        how_(b_.calls.size(), MatchedBy::kNothing) {
    make_keys(Form::kExact);
    align();
    match_in_order(MatchedBy::kName);
    for (const Form form : {Form::kNumbered, Form::kTransposed}) {
      make_keys(form);
      match_in_order(MatchedBy::kOrder);
    }
    repair();
    match_by_value();
    match_by_parts();
    match_by_data_flow();
  }

  CallMatching take() { return {std::move(of_a_), std::move(of_b_), std::move(how_)}; }

 private:
  static constexpr int32_t kNone = CallMatching::kNone;
  using Keys = std::vector<uint32_t>;
  enum class Form : uint8_t { kExact, kNumbered, kTransposed };  // forms of keys, from strict to loose

  void match(size_t a, size_t b, MatchedBy how) {
    of_a_[a] = static_cast<int32_t>(b);
    of_b_[b] = static_cast<int32_t>(a);
    how_[b] = how;
  }

  // Keys have shapes without dtypes, so that builds of other precisions are matched, too.
  void make_keys(Form form) {
    std::unordered_map<std::string, uint32_t> numbers;
    const auto key_of = [form](const RecordedCall &call) {
      std::string key = form == Form::kExact ? call.name : without_digits(call.name);
      for (const CallTensor &slot : call.slots) {
        const std::string_view shape = std::string_view(slot.type).substr(slot.type.find('['));
        key += slot.is_real ? 'r' : 'i';
        key += form == Form::kTransposed ? sorted_sizes(shape) : shape;
      }
      return key;
    };
    const auto number = [&](const std::vector<RecordedCall> &calls) {
      Keys keys;
      for (const RecordedCall &call : calls)
        keys.push_back(numbers.try_emplace(key_of(call), static_cast<uint32_t>(numbers.size())).first->second);
      return keys;
    };
    a_keys_ = number(a_.calls);
    b_keys_ = number(b_.calls);
  }

  void align() {
    size_t begin = 0, a_end = a_keys_.size(), b_end = b_keys_.size();
    for (; begin < std::min(a_end, b_end) && a_keys_[begin] == b_keys_[begin]; ++begin)
      match(begin, begin, MatchedBy::kName);
    for (; a_end > begin && b_end > begin && a_keys_[a_end - 1] == b_keys_[b_end - 1]; --a_end, --b_end)
      match(a_end - 1, b_end - 1, MatchedBy::kName);
    align_by_edits(begin, a_end, begin, b_end);
  }

  // Source: Myers, An O(ND) Difference Algorithm and Its Variations, Algorithmica 1 (1986). If there are too many
  // differences, nothing is matched.
  void align_by_edits(size_t a_begin, size_t a_end, size_t b_begin, size_t b_end) {
    const auto n = static_cast<int64_t>(a_end - a_begin), m = static_cast<int64_t>(b_end - b_begin);
    const auto same_key = [&](int64_t x, int64_t y) {
      return a_keys_[a_begin + static_cast<size_t>(x)] == b_keys_[b_begin + static_cast<size_t>(y)];
    };
    // furthest[d][k + d]: the position in A that the furthest path of d edits on diagonal k reaches.
    std::vector<std::vector<int64_t>> furthest;
    for (int64_t d = 0; d <= static_cast<int64_t>(kMostEdits); ++d) {
      auto &now = furthest.emplace_back(static_cast<size_t>(2 * d + 1), -1);
      const auto before = [&](int64_t k) {
        return k < -(d - 1) || k > d - 1 ? int64_t{-1}
                                         : furthest[static_cast<size_t>(d - 1)][static_cast<size_t>(k + d - 1)];
      };
      for (int64_t k = -d; k <= d; k += 2) {
        int64_t x = d == 0 ? 0 : std::max(before(k + 1), before(k - 1) < 0 ? int64_t{-1} : before(k - 1) + 1);
        int64_t y = x - k;
        if (x < 0 || x > n || y < 0 || y > m) continue;
        while (x < n && y < m && same_key(x, y)) ++x, ++y;
        now[static_cast<size_t>(k + d)] = x;
        if (x < n || y < m) continue;
        for (; d > 0; --d) {  // back along the path
          const int64_t down = before(k + 1), right = before(k - 1);
          const bool is_down = right < 0 || down >= right + 1;
          const int64_t from = is_down ? down : right + 1;  // position in A before the diagonal
          for (; x > from; --x, --y)
            match(a_begin + static_cast<size_t>(x - 1), b_begin + static_cast<size_t>(y - 1), MatchedBy::kName);
          x = is_down ? down : right;
          k += is_down ? 1 : -1;
          y = x - k;
        }
        for (; x > 0; --x, --y)
          match(a_begin + static_cast<size_t>(x - 1), b_begin + static_cast<size_t>(y - 1), MatchedBy::kName);
        return;
      }
    }
  }

  void match_in_order(MatchedBy how) {
    std::unordered_map<uint32_t, std::vector<size_t>> waiting;  // calls of A by key, in reverse order
    for (size_t a = of_a_.size(); a-- > 0;)
      if (of_a_[a] == kNone) waiting[a_keys_[a]].push_back(a);
    for (size_t b = 0; b < of_b_.size(); ++b) {
      if (of_b_[b] != kNone) continue;
      const auto found = waiting.find(b_keys_[b]);
      if (found == waiting.end() || found->second.empty()) continue;
      match(found->second.back(), b, how);
      found->second.pop_back();
    }
  }

  void repair() {
    struct Group {
      std::vector<size_t> as, bs;
      bool has_doubt = false;
    };
    std::unordered_map<uint32_t, Group> groups;
    for (size_t b = 0; b < of_b_.size(); ++b) {
      if (of_b_[b] == kNone) {
        groups[b_keys_[b]].bs.push_back(b);
        continue;
      }
      const auto a = static_cast<size_t>(of_b_[b]);
      const RecordedCall &one = a_.calls[a], &other = b_.calls[b];
      if (comparer_.compare_outputs(one, other) <= Agreement::kUnknown || comparer_.inputs_agree(one, other)) continue;
      Group &group = groups[b_keys_[b]];
      group.as.push_back(a), group.bs.push_back(b);
      group.has_doubt = true;
    }
    for (size_t a = 0; a < of_a_.size(); ++a)
      if (of_a_[a] == kNone)
        if (const auto found = groups.find(a_keys_[a]); found != groups.end()) found->second.as.push_back(a);
    for (auto &[key, group] : groups)
      if (group.has_doubt && std::max(group.as.size(), group.bs.size()) > 1)
        repair_group(std::move(group.as), std::move(group.bs));
  }

  void repair_group(std::vector<size_t> as, std::vector<size_t> bs) {
    if (std::max(as.size(), bs.size()) > kMostInGroup) return;
    std::ranges::sort(as);
    std::vector<std::pair<int32_t, MatchedBy>> former;
    for (const size_t b : bs) former.emplace_back(of_b_[b], how_[b]);
    for (const size_t a : as) of_a_[a] = kNone;
    for (const size_t b : bs) of_b_[b] = kNone, how_[b] = MatchedBy::kNothing;
    const auto match_if = [&](MatchedBy how, const auto &fits) {
      for (const size_t b : bs)
        for (const size_t a : as)
          if (of_b_[b] == kNone && of_a_[a] == kNone && fits(a_.calls[a], b_.calls[b])) match(a, b, how);
    };
    match_if(MatchedBy::kValue, [&](const RecordedCall &a, const RecordedCall &b) {
      return comparer_.compare_outputs(a, b) <= Agreement::kAgrees;
    });
    match_if(MatchedBy::kDataFlow,
             [&](const RecordedCall &a, const RecordedCall &b) { return comparer_.inputs_agree(a, b); });
    // If there is no evidence, the former pairs stay. Other pairs would only move the point where the runs seem to
    // diverge.
    for (size_t i = 0; i < bs.size(); ++i) {
      const auto [a, how] = former[i];
      if (of_b_[bs[i]] == kNone && a != kNone && of_a_[static_cast<size_t>(a)] == kNone)
        match(static_cast<size_t>(a), bs[i], how);
    }
  }

  // If several calls have agreeing outputs, takes the most alike: equal bits, then the same name, then the least
  // distance, then the position nearest to the expected one. With a wide tolerance, many outputs may agree.
  void match_by_value() {
    std::unordered_map<uint64_t, std::vector<size_t>> open;  // unmatched calls of A by the kind of their first output
    for (size_t a = 0; a < of_a_.size(); ++a)
      if (of_a_[a] == kNone)
        if (const auto output = output_of(a_, a_.calls[a])) open[*output].push_back(a);
    size_t expected = 0;  // position in A
    for (size_t b = 0; b < of_b_.size(); ++b) {
      if (of_b_[b] != kNone) expected = static_cast<size_t>(of_b_[b]) + 1;
      const auto output = of_b_[b] == kNone ? output_of(b_, b_.calls[b]) : std::nullopt;
      const auto found = output ? open.find(*output) : open.end();
      if (found == open.end()) continue;
      std::vector<size_t> &candidates = found->second;
      const std::optional<size_t> best = most_alike(candidates, expected, b_.calls[b]);
      if (!best) continue;
      expected = candidates[*best] + 1;
      match(candidates[*best], b, MatchedBy::kValue);
      candidates.erase(candidates.begin() + static_cast<ptrdiff_t>(*best));
    }
  }

  // Returns one of `candidates`, calls of A in ascending order; none if no output agrees.
  std::optional<size_t> most_alike(const std::vector<size_t> &candidates, size_t expected, const RecordedCall &call) {
    const auto middle = std::lower_bound(candidates.begin(), candidates.end(), expected) - candidates.begin();
    auto behind = static_cast<size_t>(middle),
         before = behind;  // next candidates: `behind`, and the one before `before`
    std::optional<size_t> best;
    std::tuple<Agreement, bool, double> best_likeness;
    for (size_t tried = 0; tried < kMostCandidates && (before > 0 || behind < candidates.size()); ++tried) {
      const bool is_behind = before == 0 || (behind < candidates.size() &&
                                             candidates[behind] - expected <= expected - candidates[before - 1]);
      const size_t index = is_behind ? behind++ : --before;
      const RecordedCall &other = a_.calls[candidates[index]];
      const Agreement agreement = comparer_.compare_outputs(other, call);
      if (agreement > Agreement::kAgrees) continue;
      const std::tuple likeness(agreement, without_digits(other.name) != without_digits(call.name),
                                comparer_.distance(other, call));
      if (!best || likeness < best_likeness) best = index, best_likeness = likeness;
    }
    return best;
  }

  void match_by_parts() {
    std::vector<size_t> ends(of_b_.size() + 1,
                             of_a_.size());  // per call of B: only earlier calls of A may be its partner
    for (size_t b = of_b_.size(); b-- > 0;)
      ends[b] = of_b_[b] == kNone ? ends[b + 1] : std::min(ends[b + 1], static_cast<size_t>(of_b_[b]));
    const auto ends_with_it = [](const std::string &one, const std::string &other) {
      return !other.empty() && one.ends_with(other);
    };
    size_t begin = 0;
    for (size_t b = 0; b < of_b_.size(); ++b) {
      if (of_b_[b] != kNone) begin = std::max(begin, static_cast<size_t>(of_b_[b]) + 1);
      const auto output = of_b_[b] == kNone ? output_of(b_, b_.calls[b]) : std::nullopt;
      if (!output) continue;
      const std::string parts = parts_of(b_.calls[b].name);
      for (size_t a = begin, tried = 0; a < ends[b] && tried < kMostCandidates; ++a) {
        if (of_a_[a] != kNone) continue;
        ++tried;
        const std::string others = parts_of(a_.calls[a].name);
        const bool fits =
            output_of(a_, a_.calls[a]) == output && (ends_with_it(parts, others) || ends_with_it(others, parts));
        if (!fits) continue;
        match(a, b, MatchedBy::kOrder);
        begin = a + 1;
        break;
      }
    }
  }

  // Goes backwards from the results. A pair that is found here comes before its readers, so it is visited, too.
  void match_by_data_flow() {
    for (size_t i = 0; i < std::min(a_.results.size(), b_.results.size()); ++i)
      match_producers(a_.results[i].after, b_.results[i].after);
    for (size_t b = of_b_.size(); b-- > 0;) {
      if (of_b_[b] == kNone) continue;
      const RecordedCall &one = a_.calls[static_cast<size_t>(of_b_[b])], &other = b_.calls[b];
      if (one.slots.size() != other.slots.size()) continue;
      for (size_t i = 0; i < one.slots.size(); ++i) match_producers(one.slots[i].before, other.slots[i].before);
    }
  }

  bool match_producers(uint32_t a_value, uint32_t b_value) {
    if (a_value == kNoValue || b_value == kNoValue) return false;
    const Origin &one = a_.origin(a_value), &other = b_.origin(b_value);
    if (one.kind != Origin::kCall || other.kind != Origin::kCall) return false;
    const auto a = static_cast<size_t>(one.index), b = static_cast<size_t>(other.index);
    // A call beyond the recorder's limit has no record.
    if (a >= of_a_.size() || b >= of_b_.size() || of_a_[a] != kNone || of_b_[b] != kNone) return false;
    if (a_.contents(a_value).elements() != b_.contents(b_value).elements()) return false;
    if (is_real(a_.contents(a_value).dtype) != is_real(b_.contents(b_value).dtype)) return false;
    match(a, b, MatchedBy::kDataFlow);
    return true;
  }

  ValueComparer &comparer_;
  const RecordedRun &a_, &b_;
  Keys a_keys_, b_keys_;
  std::vector<int32_t> of_a_, of_b_;  // the members of CallMatching
  std::vector<MatchedBy> how_;
};

}  // namespace

std::string_view match_name(MatchedBy how) {
  constexpr std::string_view kNames[] = {"", "name", "order", "value", "data flow"};
  return kNames[static_cast<size_t>(how)];
}

CallMatching match_calls(ValueComparer &comparer) { return Matcher(comparer).take(); }

}  // namespace opd
