#include "cli/language/token_profile.h"

#include <algorithm>
#include <map>

#include "cli/load/program.h"

namespace opd::cli {

namespace {

bool is_of_cache(std::string_view name) {
  return name.starts_with("vm.builtin.attention_kv_cache_") || name.starts_with("vm.builtin.rnn_state_");
}

// The last part of a call path such as "decode/vm.builtin.rnn_state_get".
std::string caller_of(const Value &path) {
  const std::string text = path.type() == OPD_NONE ? "" : path.string();
  return text.substr(text.rfind('/') + 1);
}

double number_of(const Value &value) {
  if (value.type() == OPD_INT) return static_cast<double>(value.view().u.int64);
  return value.type() == OPD_FLOAT ? value.view().u.float64 : 0;
}

double median(const std::vector<double> &seconds) { return Benchmark::of(seconds).stats().median; }

// The pass of each row. Each pass consists of the same calls of the VM, and a row has the number of its call.
std::vector<size_t> passes_of(const Array &runs, size_t passes) {
  std::map<int64_t, size_t> order;
  for (size_t i = 0; i < runs.size(); ++i)
    if (const Value run = runs[i]; run.type() == OPD_INT) order.emplace(run.view().u.int64, 0);
  const size_t calls = std::max<size_t>(1, order.size() / passes);
  size_t next = 0;
  for (auto &[run, place] : order) place = std::min(passes - 1, next++ / calls);
  std::vector<size_t> found(runs.size());
  for (size_t i = 0; i < runs.size(); ++i)
    if (const Value run = runs[i]; run.type() == OPD_INT) found[i] = order[run.view().u.int64];
  return found;
}

}  // namespace

TokenProfile::TokenProfile(const Report &report, size_t passes, const DecodingTimes &plain)
    : whole(median(plain.whole)), bookkeeping(median(plain.bookkeeping)) {
  const Array names = report.column(OPD_REPORT_CALLS, "Name"), times = report.column(OPD_REPORT_CALLS, "Self (us)"),
              paths = report.column(OPD_REPORT_CALLS, "Call Path");
  const std::vector<size_t> pass_of = passes_of(report.column(OPD_REPORT_CALLS, "Run"), passes);
  std::vector<double> in_operators(passes), in_attention(passes), in_caches(passes);
  std::map<std::string, std::vector<double>> by_name;
  std::map<std::string, size_t> calls;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string name = names[i].string();
    if (name.starts_with('(')) continue;  // dispatch, and the time of the recording itself
    const double seconds = number_of(times[i]) * 1e-6;
    if (is_of_cache(name)) in_caches[pass_of[i]] += seconds;
    else if (is_of_cache(caller_of(paths[i]))) in_attention[pass_of[i]] += seconds;
    else if (!name.starts_with(builtin_prefix)) in_operators[pass_of[i]] += seconds;
    by_name.try_emplace(name, passes).first->second[pass_of[i]] += seconds;
    ++calls[name];
  }
  operators = median(in_operators);
  attention = median(in_attention);
  bookkeeping += median(in_caches);
  dispatch = std::max(0.0, whole - operators - attention - bookkeeping);
  for (const auto &[name, seconds] : by_name)
    longest.push_back({name, static_cast<double>(calls[name]) / static_cast<double>(passes), median(seconds)});
  std::ranges::stable_sort(longest, std::ranges::greater(), &Operator::seconds);
}

}  // namespace opd::cli
