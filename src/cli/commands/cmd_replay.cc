// `opdyno replay`: makes a recorded call again, and compares the results.
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "cli/commands/command.h"
#include "cli/load/bounds_check.h"
#include "cli/load/program.h"
#include "cli/load/target.h"
#include "cli/show/column.h"
#include "cli/show/forms.h"
#include "cli/support/file.h"
#include "cli/support/screen.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

std::set<std::string> host_functions(const Report &report) {
  const Column names(report, "Name"), kinds(report, "Kind");
  std::set<std::string> found;
  for (size_t i = 0; i < report.count(); ++i)
    if (kinds.text(i) == "host function") found.insert(names.text(i));
  return found;
}

// A replay by the options of the command line.
class Replayer {
 public:
  explicit Replayer(const Args &args) : args_(args), path_(args.words()[0]) {
    options_.rtol = args.text("rtol"), options_.atol = args.text("atol");
    options_.timeout_ns = args.duration_ns("timeout").value_or(0);
    if (args.has("threads")) opdyno::set_threads_count(static_cast<int32_t>(args.integer("threads", 0, 1, 1024)));
    options_.minimise = args.text("minimise");
    if (options_.minimise) refuse_overwriting(path_, options_.minimise);
    if (const auto other = args.value("with")) {
      program_ = load_program(*other, args);
      if (!program_.vm_module)
        throw Failure(Exit::refused, cat(*other, " holds no VM program"), OPD_OK, cat("inspect ", *other));
      options_.module = program_.vm_module.get();
    }
  }

  opdyno::Replayed read() {
    auto options = options_;
    options.run = 0;
    options.minimise = nullptr;
    return replay(options, false);
  }

  // Devices are used only here: the child process of minimise() could not use drivers that were started before.
  opdyno::Replayed run() {
    if (args_.has("device")) options_.device = device_option(args_);
    if (args_.has("check-bounds") && args_.has("device") && options_.device.device_type != kDLCPU)
      fail_usage("option '--check-bounds' checks kernels of the CPU only");
    if (args_.has("check-bounds")) watch_bounds();
    try {
      return replay(options_, args_.has("profile"));
    } catch (const Failure &) {
      if (check_ && check_->finding()) throw Failure(Exit::mismatch, *check_->finding());
      throw;
    }
  }

  const BoundsCheck *bounds_check() const { return check_.get(); }

 private:
  opdyno::Replayed replay(const opd_replay_options &options, bool with_profile) const {
    try {
      return opdyno::replay(path_, &options, with_profile);
    } catch (const opdyno::Error &error) {
      const bool is_usage = error.code() == OPD_INVALID_ARGUMENT;
      const bool is_refused = error.code() == OPD_BAD_FORMAT || error.code() == OPD_UNSUPPORTED;
      throw Failure(is_usage     ? Exit::usage
                    : is_refused ? Exit::refused
                                 : Exit::failed,
                    message_of(error), error.code());
    }
  }

  void watch_bounds() {
    const opdyno::Replayed recorded = read();
    if (!recorded.module) throw Failure(Exit::failed, cat(path_, " has only hashes of its program: give it by --with"));
    if (!program_.vm_module) program_ = program_of(recorded.module);
    check_ = std::make_unique<BoundsCheck>(program_, host_functions(recorded.report));
    instrument_ = check_->instrument();
    options_.module = program_.vm_module.get();
    options_.instrument = instrument_.get();
  }

  const Args &args_;
  const std::string path_;
  opd_replay_options options_ = opdyno::defaults(opd_replay_options_init);
  Program program_;
  std::unique_ptr<BoundsCheck> check_;
  Function instrument_;
};

std::string values_table(const Report &report) {
  const Column names(report, "Name"), kinds(report, "Kind"), values(report, "Value"), states(report, "State");
  TextTable table{{{"Name", "Kind", "Value", "State"}}, {0, 1, 2, 3}, {3}};
  for (size_t i = 0; i < report.count(); ++i)
    table.lines.push_back({printable(names.text(i)), kinds.text(i), printable(values.text(i)), states.text(i)});
  return table.written(TableStyle::text);
}

void print_recording(const Report &report) {
  for (const char *const name : {"Function", "Recorded", "Error", "Program", "Path", "Host", "opdyno", "Processor",
                                 "Threads", "Devices", "Environment", "Operators"})
    if (const std::string text = configured_text(report, name); !text.empty())
      print(cat(pad_right(cat(name, ":"), 13), text, "\n"));
  if (report.count()) print(cat("\n", values_table(report)));
}

Exit show(const Args &args, Replayer &replayer) {
  if (args.has("info")) {
    const opdyno::Replayed recorded = replayer.read();
    if (args.has("json")) print(written(recorded.report, ReportForm::json, write_options(args)) + "\n");
    else print_recording(recorded.report);
    return Exit::ok;
  }
  const opdyno::Replayed made = replayer.run();
  const bool is_same = configured_text(made.report, "Same") == "1";
  if (const BoundsCheck *check = replayer.bounds_check()) {
    if (check->finding()) throw Failure(Exit::mismatch, *check->finding());
    print_message(cat("opdyno replay: ", check->summary(), "\n"));
  }
  if (args.has("json")) {
    print(written(made.report, ReportForm::json, write_options(args)) + "\n");
  } else {
    print(configured_text(made.report, "Verdict") + "\n");
    if (const std::string kept = configured_text(made.report, "Minimised"); !kept.empty())
      print(cat("the call of ", kept, " is in ", args.text("minimise"), "\n"));
    if (const std::string note = configured_text(made.report, "Note"); !note.empty()) print(cat("note: ", note, "\n"));
    if (made.profile) print(cat("\n", shown_table(made.profile, args)));
  }
  return is_same ? Exit::ok : Exit::mismatch;
}

// The operator that a minimised recording calls.
std::string kept_operator(const std::string &path) {
  auto options = opdyno::defaults(opd_replay_options_init);
  options.run = 0;
  const opdyno::Replayed kept = opdyno::replay(path, &options);
  const std::string text = Executable::of(kept.module).disassemble();
  const size_t call = text.find("call ");  // the first call; the rest of the program makes its result
  return call == std::string::npos ? "?" : text.substr(call + 5, text.find('(', call) - call - 5);
}

// The call may crash or exit its process, so it runs in a child process. The file then shows what the call was about to
// do.
Exit minimise(const Args &args, Replayer &replayer) {
  const pid_t child = ::fork();
  if (child < 0) fail_errno("cannot start a process for", args.words()[0], errno);
  if (child == 0) return show(args, replayer);
  const int status = wait_for(child);
  if (WIFEXITED(status)) ::_exit(WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  if (::access(args.text("minimise"), F_OK))
    throw Failure(Exit::failed, cat("the call ended its process by ", signal_name(signal), " before an operator ran"));
  const std::string recorded = configured_text(replayer.read().report, "Recorded");
  const bool is_same = recorded == "did not end";
  print(cat("the call ends its process by ", signal_name(signal), ", within ", kept_operator(args.text("minimise")),
            is_same ? "" : cat("; when it was recorded, it ", recorded), "\nthe call of it is in ",
            args.text("minimise"), "\n"));
  return is_same ? Exit::ok : Exit::mismatch;
}

}  // namespace

Exit run_replay(const Args &args) {
  if (args.has("info"))
    for (const std::string_view option : {"device", "profile", "check-bounds", "minimise"})
      if (args.has(option)) fail_usage(cat("--info and --", option, " exclude each other"));
  if (args.has("json") && args.has("profile")) fail_usage("--json and --profile exclude each other");
  Replayer replayer(args);
  return args.has("minimise") ? minimise(args, replayer) : show(args, replayer);
}

}  // namespace opd::cli
