// The opdyno program: runs the command, and turns its exceptions into a message and an exit code.
#include <signal.h>

#include <new>

#include "cli/commands/command.h"
#include "cli/support/face.h"
#include "cli/support/file.h"
#include "cli/support/screen.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

std::string help_of(const std::vector<std::string> &words) {
  if (words.size() > 1) fail_usage("help takes one command");
  if (words.empty()) return help_text();
  const Command *command = find_command(words[0]);
  if (!command) fail_usage(cat("there is no command '", words[0], "'.", suggest(words[0], names_of(commands()))));
  return help_text(*command);
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
  if (name == "help" || name == "--help" || name == "-h") {
    print_fitted(help_of(words));
    return Exit::ok;
  }
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

constexpr std::string_view modules = "run bench profile inspect export compare ab dis serve ";

struct FileKind {
  std::string_view name;      // "a recorded call"
  std::string_view takers;    // the commands that take it, each with a space behind it
  std::string_view use = {};  // what to do with it, with % for the path
};

FileKind kind_of_json(std::string_view bytes) {
  if (bytes.starts_with("{\"calls\"")) return {"a profile's report", "report diff ", "opdyno report %"};
  if (bytes.find("\"traceEvents\"") != std::string_view::npos)
    return {"a trace for viewers", "", "open it in https://ui.perfetto.dev"};
  if (bytes.find("\"$schema\":\"https://www.speedscope.app") != std::string_view::npos)
    return {"a profile for speedscope", "", "open it in https://www.speedscope.app"};
  if (bytes.starts_with("{\"function\"") && bytes.find("\"median_us\"") != std::string_view::npos)
    return {"a result of opdyno bench", "bench ", "opdyno bench MOD --compare %"};
  return {};
}

// A protobuf message of ONNX begins with its version (field 1), and the names of its producer, domain or graph follow.
bool is_onnx(const std::string &path, std::string_view bytes) {
  if (lower_case(path).ends_with(".onnx")) return true;
  constexpr std::string_view next_fields = "\x12\x1a\x22\x3a\x42";
  return bytes.size() > 3 && bytes[0] == 8 && bytes[1] > 0 && bytes[1] < 32 &&
         next_fields.find(bytes[2]) != std::string_view::npos;
}

FileKind kind_of(const std::string &path) {
  const std::string content = first_bytes(path);
  const std::string_view bytes = content;
  if (bytes.empty()) return {};
  if (bytes.starts_with("opdynoE1"))
    return {"a recording of a process", "trace diff ", "opdyno trace table %, or opdyno trace view %"};
  if (bytes.starts_with("opdynoR1")) return {"a recorded call", "replay ", "opdyno replay %"};
  if (bytes.starts_with("\x7F\x45LF") || bytes.substr(1, 3) == "\x15\x14\x42")  // also a VM executable
    return {"a module", modules, "opdyno inspect %"};
  if (bytes[0] == '{' || bytes[0] == '[') return kind_of_json(bytes);
  if (bytes.starts_with("<!DOCTYPE html") || bytes.starts_with("<svg"))
    return {"a page for a browser", "", "open it there"};
  if (bytes.substr(1, 5) == "NUMPY" || bytes.starts_with("PK\3\4"))
    return {"a file of arrays", "info ", "opdyno info %, or as parameters with --params %"};
  if (const std::string_view line = bytes.substr(0, bytes.find('\n'));
      line.find(",Duration (us)") != std::string_view::npos)
    return {"a report as CSV", "report diff ", "opdyno report %"};
  if (is_onnx(path, bytes))
    return {"a model for ONNX", "", "compile it with TVM first: tvm.relax.frontend.onnx.from_onnx()"};
  return {};
}

// For the error of a command that cannot read the file: a line that says what the file is, and which command takes it.
// "" if that is not known, or if `command` takes such files, so that the file is damaged.
std::string other_use_of(const std::string &path, std::string_view command) {
  const FileKind kind = kind_of(path);
  if (kind.name.empty() || kind.takers.find(cat(command, " ")) != std::string_view::npos) return {};
  std::string use;
  for (const char c : kind.use) c == '%' ? use += path : use += c;
  return cat(path, " is ", kind.name, ": ", use, "\n");
}

// For files that are fine but not for this command.
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
