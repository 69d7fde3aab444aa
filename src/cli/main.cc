// The opdyno program: runs the command, and turns its exceptions into a message and an exit code.
#include <signal.h>

#include <new>

#include "cli/commands/command.h"
#include "cli/support/face.h"
#include "cli/support/file.h"
#include "cli/support/file_kind.h"
#include "cli/support/screen.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

Exit help(const std::vector<std::string> &words) {
  if (words.size() > 1) fail_usage("help takes one command");
  if (words.empty()) {
    print_fitted(help_text());
    return Exit::ok;
  }
  const Command *command = find_command(words[0]);
  if (!command) fail_usage(cat("there is no command '", words[0], "'.", suggest(words[0], names_of(commands()))));
  print_fitted(help_text(*command));
  return Exit::ok;
}

Exit dispatch(const std::string &name, const std::vector<std::string> &words) {
  if (name == "--version" || name == "version") {
    print(version_text());
    return Exit::ok;
  }
  if (name == "--generate-pages" && words.size() == 1) {  // used by the build
    write_generated(words[0]);
    return Exit::ok;
  }
  if (name == "help" || name == "--help" || name == "-h") return help(words);
  const Command *command = find_command(name);
  if (!command) {
    std::vector<std::string> names = names_of(commands());
    names.insert(names.begin(), {"help", "--help", "--version"});
    fail_usage(
        cat(name.starts_with('-') ? "unknown option '" : "there is no command '", name, "'.", suggest(name, names)));
  }
  const Args args = Args::parse(words, command->options);
  if (args.has("help")) {
    print_fitted(help_text(*command));
    return Exit::ok;
  }
  const size_t count = args.words().size();
  if (count < command->least_words || count > command->most_words)
    fail_usage(cat("expected ", command->words.empty() ? "no words" : command->words, " after '", command->name,
                   "', found ", count ? join(args.words(), " ") : "nothing"));
  return command->run(args);
}

void show_log(opd_log_level level, const char *message) {
  if (level >= OPD_LOG_WARNING)
    print_message(cat("opdyno: ", level == OPD_LOG_ERROR ? "error: " : "warning: ", message, "\n"));
}

// For a file that is fine but not for this command.
std::string other_uses_of(const std::vector<std::string> &words, opd_code code) {
  std::string lines;
  const bool may_be = code == OPD_BAD_FORMAT || code == OPD_UNSUPPORTED;
  for (size_t i = 1; may_be && i < words.size(); ++i) lines += printable(other_use_of(words[i], words[0]), false);
  return lines;
}

int run(const std::vector<std::string> &words) {
  const std::string name = words.empty() ? "" : words[0];
  try {
    if (words.empty()) {
      print_message(help_text());
      return static_cast<int>(Exit::usage);
    }
    const Exit code = dispatch(name, {words.begin() + 1, words.end()});
    close_output();
    constexpr int kClosedPipe = 128 + SIGPIPE;  // as shells show programs that the signal ended
    return code == Exit::ok && is_output_closed() ? kClosedPipe : static_cast<int>(code);
  } catch (const Failure &failure) {
    const bool is_command = find_command(name) != nullptr;
    print_message(
        cat("opdyno", is_command ? " " : "", is_command ? name : "", ": ", printable(failure.what(), false), "\n"));
    if (failure.code() == Exit::usage)
      print_message(cat("Try 'opdyno help", is_command ? " " : "", is_command ? name : "", "'.\n"));
    else print_message(cat(other_uses_of(words, failure.library_code()), next_step(failure)));
    return static_cast<int>(failure.code());
  } catch (const opdyno::Error &error) {
    print_message(cat("opdyno ", name, ": ", printable(message_of(error), false), "\n",
                      other_uses_of(words, error.code()), next_step(error.code())));
  } catch (const std::bad_alloc &) {
    print_message(cat("opdyno: out of memory\n", next_step(OPD_OUT_OF_MEMORY)));
  } catch (const std::exception &error) { print_message(cat("opdyno: ", error.what(), "\n")); }
  return static_cast<int>(Exit::failed);
}

}  // namespace

}  // namespace opd::cli

int main(int argc, char **argv) {
  opd::cli::occupy_standard_streams();
  // write() then reports a closed pipe, or a file beyond the limit of sizes, as an error.
  for (const int signal_number : {SIGPIPE, SIGXFSZ}) signal(signal_number, SIG_IGN);
  opd::cli::report_bus_errors();
  opdyno::set_log(opd::cli::show_log);
  return opd::cli::run({argv + (argc > 0), argv + argc});
}
