// `opdyno bench`: measures the time of a call with the library's time evaluator, for one or several input sizes.
#include <algorithm>
#include <numeric>

#include "cli/bench/bench.h"
#include "cli/commands/command.h"
#include "cli/language/language.h"
#include "cli/load/runs.h"
#include "cli/support/file.h"
#include "cli/support/json.h"
#include "cli/tensors/element.h"

namespace opd::cli {

namespace {

// "N", "steady" or "steady:TIME".
void read_warmup(const std::string &text, opd_evaluator_options &options) {
  constexpr int64_t longest = int64_t{24} * 3600 * 1000'000'000;
  options.steady_ms = 3000;
  if (text == "steady") return;
  if (text.starts_with("steady:")) {
    const std::optional<int64_t> limit = read_duration(std::string_view(text).substr(7));
    if (limit && *limit <= longest) return void(options.steady_ms = std::max<int64_t>(1, *limit / 1'000'000));
  } else if (const std::optional<int64_t> calls = read_int(text); calls && *calls >= 0 && *calls <= 1'000'000'000) {
    options.steady_ms = 0;
    options.warmup = *calls;
    return;
  }
  fail_usage(cat("option '--warmup' takes a number of calls, steady or steady:TIME as in steady:5s, not '", text, "'"));
}

// The number of bytes to copy to flush the caches: the size of the last-level cache. A copy moves twice as many bytes
// through the cache.
int64_t flush_bytes(const std::string &text, uint64_t given) {
  const uint64_t bytes = text.empty() ? last_level_cache_bytes() : given;
  if (bytes == 0)
    fail_usage("the system does not report the size of the last-level cache; give it, as --flush-cache=64M");
  const Value memory = opdyno::device_attr({kDLCPU, 0}, OPD_ATTR_AVAILABLE_GLOBAL_MEMORY);
  const opd_value view = memory.view();
  if (view.type == OPD_INT && bytes > static_cast<uint64_t>(view.u.int64) / 2)
    fail_usage(cat("--flush-cache copies ", bytes, " bytes, which takes twice that, but only ", view.u.int64,
                   " are available; give less, as --flush-cache=64M"));
  return static_cast<int64_t>(bytes);
}

// A call is cold only if nothing ran since the flush, so each call is measured alone.
void read_flush(const Args &args, opd_evaluator_options &options) {
  if (args.has("min-repeat-ms") || options.number > 1)
    fail_usage(
        "--flush-cache measures each call alone, with cold caches: --number and --min-repeat-ms do not go with it");
  if (options.concurrency > 1)
    fail_usage("--flush-cache and --concurrency exclude each other: the caches of other processors are not flushed");
  const std::string text = *args.value("flush-cache");
  options.cache_flush_bytes = flush_bytes(text, text.empty() ? 0 : *args.bytes("flush-cache"));
  options.min_repeat_ms = 0;
}

std::string argument_text(const opd_value &value) {
  if (value.type == OPD_TENSOR) return tensor_type(Tensor::of(value));
  if (value.type != OPD_ARRAY) return opdyno::to_string(value);
  std::vector<std::string> items;
  const Array array = Array::of(value);
  for (size_t i = 0; i < array.size(); ++i) items.push_back(argument_text(array[i].view()));
  return cat("(", join(items, ", "), ")");
}

std::vector<std::string> argument_texts(const std::vector<opd_value> &arguments) {
  std::vector<std::string> texts;
  for (const opd_value &argument : arguments) texts.push_back(argument_text(argument));
  return texts;
}

// Measures the runner's function with its arguments.
BenchRow measure_row(Runner &runner, const Sizes &sizes, const BenchPlan &plan) {
  opd_evaluator_options options = plan.options;
  const std::string &name = runner.target().name();
  const std::string what = sizes.empty() ? name : cat(name, ", ", sizes_text(sizes));
  int64_t done = 0;
  const auto before_repeat = Function::of([&](const opd_value *, int32_t) {
    runner.progress().stage(cat("bench ", what, ", repeat ", ++done, " of ", options.repeat));
  });
  if (!runner.machine()) options.preprocess = before_repeat.get();
  options.device = runner.target().device();
  runner.progress().stage(cat("warming up ", what));
  const Evaluator evaluator = attempt(Exit::usage, "", [&] { return Evaluator(runner.function(), &options); });
  return {sizes, argument_texts(runner.arguments()), evaluator.call(runner.arguments())};
}

// ---- an earlier result of --json, for comparison

[[noreturn]] void fail_file(std::string problem) { throw Failure(Exit::failed, std::move(problem), OPD_BAD_FORMAT); }

// Reads the mean of each repeat; each thread has one result per repeat.
Benchmark read_times(const cJSON *row, const std::string &path, size_t threads) {
  const cJSON *results = json_member(row, "results_us"), *one = nullptr;
  std::vector<double> seconds;
  cJSON_ArrayForEach(one, results) {
    if (!cJSON_IsNumber(one)) fail_file(cat(path, ": results_us holds something else than numbers"));
    seconds.push_back(one->valuedouble * 1e-6);
  }
  if (!cJSON_IsArray(results) || seconds.empty())
    fail_file(cat(path, " is not what bench --json prints: it lacks results_us"));
  if (seconds.size() % threads)
    fail_file(cat(path, ": results_us has ", seconds.size(), " results of ", threads, " threads"));
  for (size_t i = 0; i < seconds.size(); i += threads)
    seconds[i / threads] = std::accumulate(&seconds[i], &seconds[i] + threads, 0.0) / static_cast<double>(threads);
  seconds.resize(seconds.size() / threads);
  return attempt(Exit::failed, path, [&] { return Benchmark::of(seconds); });
}

Sizes read_sizes(const cJSON *row, const std::string &path) {
  Sizes sizes;
  const cJSON *one = nullptr;
  cJSON_ArrayForEach(one, json_member(row, "sizes")) {
    if (!cJSON_IsNumber(one) || !one->string || !(one->valuedouble >= 0 && one->valuedouble < 9e18))
      fail_file(cat(path, ": sizes holds something else than sizes"));
    sizes.emplace_back(one->string, static_cast<int64_t>(one->valuedouble));
  }
  return sizes;
}

std::optional<int64_t> read_setting(const cJSON *all, const char *name, int64_t least, const std::string &path) {
  constexpr int64_t most = int64_t{1} << 53;
  const cJSON *number = json_member(all, name);
  if (!number) return std::nullopt;
  if (cJSON_IsNumber(number) && number->valuedouble >= static_cast<double>(least) &&
      number->valuedouble <= static_cast<double>(most))
    if (const auto whole = static_cast<int64_t>(number->valuedouble); static_cast<double>(whole) == number->valuedouble)
      return whole;
  fail_file(cat(path, ": ", name, " is not a whole number from ", least, " to ", most));
}

std::optional<std::string> read_text(const cJSON *all, const char *name, const std::string &path) {
  const cJSON *text = json_member(all, name);
  if (!text) return std::nullopt;
  if (!cJSON_IsString(text)) fail_file(cat(path, ": ", name, " is not text"));
  return text->valuestring;
}

std::optional<std::vector<std::string>> read_arguments(const cJSON *row, const std::string &path) {
  const cJSON *arguments = json_member(row, "arguments"), *one = nullptr;
  if (!arguments) return std::nullopt;
  std::vector<std::string> texts;
  bool is_good = cJSON_IsArray(arguments);
  cJSON_ArrayForEach(one, arguments) {
    is_good &= cJSON_IsString(one) != 0;
    if (is_good) texts.emplace_back(one->valuestring);
  }
  if (!is_good) fail_file(cat(path, ": arguments holds something else than texts"));
  return texts;
}

std::string arguments_text(const std::vector<std::string> &arguments) {
  return arguments.empty() ? "no arguments" : printable(join(arguments, ", "));
}

class BenchBase {
 public:
  // Fails with Exit::failed if the file is not such an output.
  explicit BenchBase(const std::string &path) : path_(path) {
    const std::string text = read_file(path);
    const Json json(cJSON_ParseWithLength(text.data(), text.size()));
    const cJSON *rows = json_member(json.get(), "rows"), *row = nullptr;
    concurrency_ = read_setting(json.get(), "concurrency", 1, path).value_or(1);
    flushed_bytes_ = read_setting(json.get(), "flushed_bytes", 0, path);
    threads_ = read_setting(json.get(), "threads", 1, path);
    function_ = read_text(json.get(), "function", path);
    const auto threads = static_cast<size_t>(concurrency_);
    is_sweep_ = cJSON_IsArray(rows);
    const auto add = [&](const cJSON *its) {
      rows_.push_back({read_sizes(its, path), read_arguments(its, path), read_text(its, "clock", path),
                       read_times(its, path, threads)});
    };
    if (!is_sweep_) add(json.get());
    cJSON_ArrayForEach(row, rows) add(row);
  }

  // The check_… functions fail with Exit::usage if the base was measured in another way. Settings that the file lacks
  // count as equal. The base must have a row for each of `rows`.
  void check_fits(const BenchPlan &plan, const std::vector<Sizes> &rows) const {
    if (is_sweep_ != plan.is_sweep)
      refuse(is_sweep_ ? "holds a sweep over sizes; compare it with the same --sweep"
                       : "holds no sweep; compare it without --sweep");
    if (concurrency_ != plan.options.concurrency)
      refuse(
          cat("was measured with ", counted(concurrency_, "thread"), "; compare it with --concurrency ", concurrency_));
    if (flushed_bytes_.value_or(plan.options.cache_flush_bytes) != plan.options.cache_flush_bytes)
      refuse(*flushed_bytes_ > 0
                 ? cat("was measured with cold caches, ", *flushed_bytes_,
                       " bytes copied before each call; compare it with --flush-cache=", *flushed_bytes_)
                 : "was measured with warm caches; compare it without --flush-cache");
    for (const Sizes &sizes : rows)
      if (!find(sizes)) refuse(cat("has no row for ", sizes_text(sizes)));
  }

  void check_function(const std::string &function, int64_t threads) const {
    if (function_.value_or(function) != function)
      refuse(cat("measured the function ", printable(*function_), ", not ", printable(function)));
    if (threads && threads_.value_or(threads) != threads)
      refuse(cat("was measured with ", counted(*threads_, "thread"), " of parallel kernels, not ", threads,
                 "; compare it with --threads ", *threads_));
  }

  void check_arguments(const Sizes &sizes, const std::vector<std::string> &arguments) const {
    const Row &row = *find(sizes);
    if (row.arguments.value_or(arguments) != arguments)
      refuse(cat("was measured with other arguments", sizes.empty() ? "" : cat(" at ", sizes_text(sizes)), ": ",
                 arguments_text(*row.arguments), ", not ", arguments_text(arguments)));
  }

  // Adds the change to each row. Fails with Exit::usage if another clock measured the base.
  // Each row has its own test. The level is divided among the tests, so that all together err no more often than one.
  void compare(BenchResult &result, opd_diff_options options) const {
    options.level /= static_cast<double>(result.rows.size());
    for (BenchRow &row : result.rows) {
      const Row &base = *find(row.sizes);
      if (base.clock.value_or(clock_name(row.stats)) != clock_name(row.stats))
        refuse(
            cat("was measured by the ", printable(*base.clock), "'s clock, not by the ", clock_name(row.stats), "'s"));
      row.diff.emplace(Benchmark::diff(base.times, row.times, &options), options);
    }
  }

 private:
  struct Row {
    Sizes sizes;
    std::optional<std::vector<std::string>> arguments;
    std::optional<std::string> clock;
    Benchmark times;
  };
  const Row *find(const Sizes &sizes) const {
    const auto sorted = [](Sizes all) { return std::sort(all.begin(), all.end()), all; };
    for (const Row &row : rows_)
      if (sorted(row.sizes) == sorted(sizes)) return &row;
    return nullptr;
  }

  [[noreturn]] void refuse(const std::string &why) const { fail_usage(cat(path_, " ", why)); }

  std::string path_;
  std::vector<Row> rows_;
  bool is_sweep_ = false;
  int64_t concurrency_ = 1;
  std::optional<int64_t> flushed_bytes_, threads_;
  std::optional<std::string> function_;
};

}  // namespace

BenchPlan BenchPlan::from(const Args &args) {
  BenchPlan plan{opdyno::defaults(opd_evaluator_options_init), args.has("sweep")};
  plan.options.repeat = args.integer("repeat", 10, 1, 1'000'000);
  plan.options.number = args.integer("number", 1, 1, 1'000'000'000);
  plan.options.min_repeat_ms = args.integer("min-repeat-ms", 10, 0, 3'600'000);
  plan.options.concurrency = args.integer("concurrency", 1, 1, 1024);
  read_warmup(args.value("warmup").value_or("steady"), plan.options);
  if (args.has("flush-cache")) read_flush(args, plan.options);
  return plan;
}

BenchPlan BenchPlan::for_tvms(const Args &args) const {
  for (const char *name : {"warmup", "concurrency"})
    if (args.has(name))
      fail_usage(cat("--", name, " is not for TVM's servers, which warm up with one call of one thread"));
  BenchPlan plan = *this;
  plan.options.warmup = 1;
  plan.options.steady_ms = 0;
  return plan;
}

Exit run_bench(const Args &args) {
  if (GenerationPlan::is_wanted(args)) return bench_language(args);
  if (args.has("copies")) return run_bench_copies(args);
  if (args.words().empty()) fail_usage("expected MOD [FN] or --copies after 'bench', found nothing");
  if (args.has("json") && args.has("csv")) fail_usage("--json and --csv exclude each other");
  for (const char *name : {"fail-above", "min-effect"})
    if (args.has(name) && !args.has("compare")) fail_usage(cat("--", name, " needs --compare"));
  const opd_diff_options changes = diff_options(args);  // checks the options before anything is measured
  const std::vector<Sizes> rows = sweep_of(args);
  BenchResult result{"", 0, BenchPlan::from(args), {}, {}};
  std::optional<BenchBase> base;
  if (const auto path = args.value("compare")) base.emplace(*path).check_fits(result.plan, rows);
  Runner runner(args, rows[0]);
  result.function = runner.target().name();
  const Machine *const machine = runner.machine();
  if (machine && machine->is_tvms()) result.plan = result.plan.for_tvms(args);
  result.threads = machine ? 0 : opdyno::threads_count();  // 0: unknown
  if (result.plan.options.concurrency > 1 && !runner.target().is_program())
    fail_usage(cat(result.function,
                   " is a plain function, which writes to its arguments: threads would write to "
                   "the same ones; --concurrency is for VM programs"));
  if (base) base->check_function(result.function, result.threads);
  const MachineQuality quality;
  runner.start();
  for (const Sizes &sizes : rows) {
    if (&sizes != &rows[0]) runner.resize(args, sizes);
    if (base) base->check_arguments(sizes, argument_texts(runner.arguments()));
    result.rows.push_back(measure_row(runner, sizes, result.plan));
  }
  runner.progress().clear();
  result.machine = machine_name(machine);
  if (machine) result.quality = {{"name", machine->text(), false}};
  else result.quality = quality.entries();
  if (base) base->compare(result, changes);
  print(args.has("json")  ? bench_json(result)
        : args.has("csv") ? bench_csv(result)
                          : bench_text(result) + bench_changes(result));
  Exit code = Exit::ok;
  for (const BenchRow &row : result.rows)
    if (row.diff)
      code = std::max(code, row.diff->judge(row.sizes.empty() ? "bench" : cat("bench, ", sizes_text(row.sizes))));
  return code;
}

}  // namespace opd::cli
