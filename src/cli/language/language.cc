// `opdyno bench` and `opdyno profile` of a language model: the commands with --prefill or --decode.
#include "cli/language/language.h"

#include "cli/load/machine.h"
#include "cli/show/forms.h"
#include "cli/support/file.h"
#include "cli/support/progress.h"

namespace opd::cli {

namespace {

// A language model's program, ready to run.
class LanguageRunner {
 public:
  explicit LanguageRunner(const Args &args)
      : program_((progress_.stage(cat("loading ", args.words()[0])), load_program(args.words()[0], args))),
        language_(LanguageProgram::of(program_, args)),
        target_(program_, language_.decode.name, args),
        token_(CancelToken::create()) {
    if (args.has("threads")) opdyno::set_threads_count(static_cast<int32_t>(args.integer("threads", 0, 1, 1024)));
    progress_.stage("making weights");
    generation_ = std::make_unique<Generation>(language_, target_, args,
                                               [this] { return options_of_call(token_, watchdog_.get()); });
    if (const auto timeout = args.duration_ns("timeout"))
      watchdog_ = std::make_unique<Watchdog>(std::chrono::nanoseconds(*timeout), token_, language_.decode.name);
    progress_.stage(cat("making caches for ", target_.name()));
    generation_->begin();
  }

  Progress &progress() { return progress_; }

  // Makes the runs; `what` names them on the line of progress.
  std::vector<GenerationRun> runs(int64_t count, std::string_view what) {
    std::vector<GenerationRun> runs;
    for (int64_t i = 1; i <= count; ++i) {
      progress_.stage(cat(what, " ", i, " of ", count));
      runs.push_back(generation_->run());
    }
    return runs;
  }

  // Records the decoding passes of one more run.
  Profile recorded() {
    auto options = opdyno::defaults(opd_profile_options_init);
    options.details = 1;
    Profile profile;
    progress_.stage("recording a run");
    const Vm &vm = target_.vm();
    generation_->run([&] { vm.profile_start(&options); }, [&] { profile = vm.profile_stop(); });
    return profile;
  }

  LanguageResult result(std::vector<GenerationRun> runs) const {
    LanguageResult result{generation_->plan(),  generation_->vocabulary(), opdyno::threads_count(),
                          generation_->stats(), std::move(runs),           machine_name(nullptr)};
    for (const LanguageFunction &create : language_.creates) result.functions.push_back(create.name);
    if (language_.embed) result.functions.push_back(language_.embed->name);
    result.functions.insert(result.functions.end(), {language_.prefill.name, language_.decode.name});
    return result;
  }

 private:
  Progress progress_;
  Program program_;
  LanguageProgram language_;
  Target target_;
  CancelToken token_;
  std::unique_ptr<Generation> generation_;
  std::unique_ptr<Watchdog> watchdog_;  // last: its thread uses the token
};

// Refuses options of the command that have no meaning here.
void refuse(const Args &args, std::initializer_list<std::string_view> names) {
  if (args.words().empty()) fail_usage("expected MOD after the command, found nothing");
  if (args.words().size() > 1)
    fail_usage(cat("--prefill and --decode choose the functions; leave out '", args.words()[1],
                   "', or name them by --prefill-function and --decode-function"));
  for (const std::string_view name : names)
    if (args.has(name)) fail_usage(cat("--", name, " does not go with --prefill and --decode"));
}

}  // namespace

Exit bench_language(const Args &args) {
  refuse(args, {"input", "dim", "on", "number", "min-repeat-ms", "concurrency", "flush-cache", "sweep", "copies", "csv",
                "compare", "fail-above", "min-effect"});
  const int64_t warmup = args.integer("warmup", 1, 0, 1'000'000), repeat = args.integer("repeat", 10, 1, 1'000'000);
  const MachineQuality quality;
  LanguageRunner runner(args);
  runner.runs(warmup, "warm-up");
  LanguageResult result = runner.result(runner.runs(repeat, "run"));
  result.quality = quality.entries();
  runner.progress().clear();
  print(args.has("json") ? language_json(result) : language_text(result, 0));
  return Exit::ok;
}

Exit profile_language(const Args &args, bool is_output_taken) {
  refuse(args, {"input", "dim", "on", "runs", "turn", "budget", "collector", "builtins", "details", "roofline"});
  const int64_t warmup = args.integer("warmup", 1, 0, 1'000'000), repeat = args.integer("repeat", 1, 1, 1'000'000);
  const int64_t most = args.has("wide") ? INT64_MAX : args.integer("top", 10, 1, 1'000'000);
  const ReportForm form = report_form_of_file(args.value("output").value_or(""), ReportForm::json);
  if (args.has("top") && args.has("wide")) fail_usage("--top and --wide exclude each other");
  LanguageRunner runner(args);
  runner.runs(warmup, "warm-up");
  LanguageResult result = runner.result(runner.runs(repeat, "run"));
  const Profile profile = runner.recorded();
  result.profile.emplace(profile.report, static_cast<size_t>(result.plan.decode), result.tokens());
  runner.progress().clear();
  if (const uint64_t dropped = profile.trace.dropped())
    print_message(
        cat("opdyno profile: ", dropped, " calls found no room in the trace and are left out; decode fewer\n"));
  if (const auto path = args.value("output")) write_file(*path, written(profile.report, form, write_options(args)));
  write_profile(args, profile);
  if (args.has("json")) print(language_json(result));
  else if (!is_output_taken) print(language_text(result, most));
  return Exit::ok;
}

}  // namespace opd::cli
