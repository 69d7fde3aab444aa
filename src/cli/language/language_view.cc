// The output of `bench` and `profile` for a language model: the parts of the time to decode a token, as text and JSON.
#include <algorithm>
#include <map>

#include "cli/bench/bench.h"
#include "cli/language/language.h"
#include "cli/load/program.h"
#include "cli/show/column.h"
#include "cli/support/json.h"
#include "cli/support/screen.h"

namespace opd::cli {

namespace {

// The last part of a call path such as "decode/vm.builtin.rnn_state_get".
std::string caller_of(const std::string &path) { return path.substr(path.rfind('/') + 1); }

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

std::string share_text(double share) { return cat(fixed(share * 100, 1), " %"); }

std::string memory_text(uint64_t bytes) {
  const double kibibytes = static_cast<double>(bytes) / 1024;
  return kibibytes < 1024 ? cat(significant(kibibytes, 4), " KiB") : cat(significant(kibibytes / 1024, 4), " MiB");
}

int64_t pages_in_use(const opd_kv_stats &cache) { return cache.num_pages - cache.free_pages; }

std::string times_text(const LanguageResult &result) {
  const GenerationPlan &plan = result.plan;
  const Benchmark first = result.first_tokens(), tokens = Benchmark::of(result.tokens().whole);
  const opd_benchmark_stats first_is = first.stats(), is = tokens.stats();
  const double batch = static_cast<double>(plan.batch);
  std::string text = cat(join(result.functions, ", "), ": ", counted(plan.batch, "sequence"), ", prompts of ",
                         counted(plan.prefill, "token"), ", ", plan.decode, " decoded after them; ",
                         counted(static_cast<int64_t>(result.runs.size()), "run"), "\n");
  text += cat("  time to first token  ", pad_left(time_text(first_is.median), 10), "  ",
              rate_text(batch * static_cast<double>(plan.prefill) / first_is.median), " tokens/s of the prompts\n");
  for (const auto &[name, seconds] :
       {std::pair("p50", is.median), std::pair("p99", tokens.percentile(99)), std::pair("mean", is.mean)})
    text += cat("  time per token ", pad_right(name, 4), "  ", pad_left(time_text(seconds), 10), "\n");
  text += cat("  tokens per second    ", pad_left(rate_text(batch / is.mean), 10), "  ", plan.batch, " at once\n");
  text +=
      cat("  pages in use         ", pad_left(cat(pages_in_use(result.cache)), 10), "  of ", result.cache.num_pages);
  if (result.cache.page_size) text += cat(", ", counted(result.cache.page_size, "token"), " each");
  return text + cat("; ", memory_text(result.cache.bytes), "\n");
}

struct Part {
  const char *name, *key;
  double seconds;
};

std::vector<Part> parts_of(const TokenProfile &profile) {
  return {{"operators", "operators", profile.operators},
          {"attention", "attention", profile.attention},
          {"cache bookkeeping", "cache_bookkeeping", profile.bookkeeping},
          {"dispatch", "dispatch", profile.dispatch},
          {"all", "all", profile.whole}};
}

std::string parts_text(const TokenProfile &profile) {
  TextTable table{{{"Per token", "Time", "Share"}}};
  for (const Part &part : parts_of(profile))
    table.lines.push_back({part.name, time_text(part.seconds), share_text(profile.share(part.seconds))});
  return cat("\n", table.written(TableStyle::text));
}

std::string operators_text(const TokenProfile &profile, int64_t most) {
  TextTable table{{{"Operator", "Calls per token", "Time per token", "Share"}}};
  for (const TokenProfile::Operator &one : profile.longest) {
    if (most-- == 0) break;
    table.lines.push_back({printable(one.name), significant(one.calls, 4), time_text(one.seconds),
                           share_text(profile.share(one.seconds))});
  }
  return cat("\n", table.written(TableStyle::text));
}

void write_times(JsonWriter &json, const Benchmark &times) {
  const opd_benchmark_stats is = times.stats();
  json.begin_object();
  for (const auto &[name, seconds] : {std::pair("p50", is.median), std::pair("p99", times.percentile(99)),
                                      std::pair("mean", is.mean), std::pair("min", is.min), std::pair("max", is.max)})
    json.key(name).number(seconds * 1e6);
  json.key("results").begin_array();
  for (const double seconds : times.seconds()) json.number(seconds * 1e6);
  json.end_array().end_object();
}

void write_profile(JsonWriter &json, const TokenProfile &profile) {
  json.key("profile_us_per_token").begin_object();
  for (const Part &part : parts_of(profile)) json.key(part.key).number(part.seconds * 1e6);
  json.end_object().key("host_share").number(profile.host_share()).key("operators").begin_array();
  for (const TokenProfile::Operator &one : profile.longest) {
    json.begin_object().key("name").string(one.name).key("calls_per_token").number(one.calls);
    json.key("us_per_token").number(one.seconds * 1e6).end_object();
  }
  json.end_array();
}

}  // namespace

TokenProfile::TokenProfile(const Report &report, size_t passes, const DecodingTimes &plain)
    : whole(median(plain.whole)), bookkeeping(median(plain.bookkeeping)) {
  const Column names(report, "Name"), times(report, "Self (us)"), paths(report, "Call Path");
  const std::vector<size_t> pass_of = passes_of(report.column(OPD_REPORT_CALLS, "Run"), passes);
  std::vector<double> in_operators(passes), in_attention(passes), in_caches(passes);
  std::map<std::string, std::vector<double>> by_name;
  std::map<std::string, size_t> calls;
  for (size_t i = 0; i < report.count(); ++i) {
    const std::string name = names.text(i);
    if (name.starts_with('(')) continue;  // dispatch, and the time of the recording itself
    const double seconds = times.number(i, 0) * 1e-6;
    if (is_of_cache(name)) in_caches[pass_of[i]] += seconds;
    else if (is_of_cache(caller_of(paths.text(i)))) in_attention[pass_of[i]] += seconds;
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

Benchmark LanguageResult::first_tokens() const { return Benchmark::of(mapped(runs, &GenerationRun::first_token)); }

DecodingTimes LanguageResult::tokens() const {
  DecodingTimes all;
  for (const GenerationRun &run : runs) {
    const auto &[whole, bookkeeping] = run.decoding;
    all.whole.insert(all.whole.end(), whole.begin(), whole.end());
    all.bookkeeping.insert(all.bookkeeping.end(), bookkeeping.begin(), bookkeeping.end());
  }
  return all;
}

std::string language_text(const LanguageResult &result, int64_t most) {
  std::string text = times_text(result);
  if (!result.quality.empty()) text += machine_text(result.quality);
  if (result.profile) text += parts_text(*result.profile) + operators_text(*result.profile, most);
  return text;
}

std::string language_json(const LanguageResult &result) {
  JsonWriter json;
  const Benchmark tokens = Benchmark::of(result.tokens().whole);
  const double batch = static_cast<double>(result.plan.batch);
  json.begin_object().key("machine").string(result.machine).key("functions").list(result.functions);
  json.key("prefill").number(result.plan.prefill).key("decode").number(result.plan.decode);
  json.key("batch").number(result.plan.batch).key("vocabulary").number(result.vocabulary);
  json.key("threads").number(result.threads);
  write_times(json.key("time_to_first_token_us"), result.first_tokens());
  write_times(json.key("time_per_token_us"), tokens);
  json.key("tokens_per_second").number(batch / tokens.stats().mean);
  json.key("cache").begin_object().key("pages").number(result.cache.num_pages);
  json.key("pages_in_use").number(pages_in_use(result.cache)).key("page_size").number(result.cache.page_size);
  json.key("bytes").number(result.cache.bytes).end_object();
  write_quality(json, result.quality);
  if (result.profile) write_profile(json, *result.profile);
  return json.end_object().take() + "\n";
}

}  // namespace opd::cli
