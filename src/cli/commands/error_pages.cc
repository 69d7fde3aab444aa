// The examples are executed by tests/docs/errors_test.py, and their output is compared.
#include "cli/commands/error_pages.h"

#include "cli/support/text.h"

namespace opd::cli {

namespace {

constexpr std::string_view kCompile = "$ cc example.c -o example $(pkg-config --cflags --libs opdyno) && ./example\n";

#include "cli/commands/error_programs.inc"

constexpr ExitCode known_exit_codes[] = {
    {"0", "ok"},
    {"1", "a comparison or check failed: --expect, --fail-above, --check-bounds, --verify, --require"},
    {"2", "wrong usage: the command line is invalid, alone or for this module"},
    {"3", "the module was refused: it cannot be loaded"},
    {"4", "an error while running: of a call, or of reading or writing a file"}};

std::string section(const ErrorPage &page) {
  std::string text = cat("## ", opdyno::code_name(page.code), "\n\n", page.meaning, "\n\n");
  if (!page.program.empty()) text += cat("```c\n", page.program, "```\n\n");
  return text + cat("```console\n", page.session, "```\n\nNext: ", page.next, "\n\n");
}

}  // namespace

std::span<const ExitCode> exit_codes() { return known_exit_codes; }

const std::vector<ErrorPage> &error_pages() {
  static const std::string twice = cat(kCompile, "OPD_ALREADY_EXISTS: …my.nothing…\n");
  static const std::string beyond = cat(kCompile, "OPD_OUT_OF_RANGE: …2…\n");
  static const std::string cancel = cat(kCompile, "OPD_CANCELLED: …\n");
  static const std::string not_started = cat(kCompile, "OPD_FAILED_PRECONDITION: …\n");
  static const std::string none = cat(kCompile, "OPD_OK\n"), unknown = cat(kCompile, "OPD_INTERNAL\n");
  static const std::vector<ErrorPage> pages = {
      {OPD_OK, "There is no error. Functions return NULL then, and only `opd_error_code` of NULL gives this code.",
       kNone, none, "nothing to do."},
      {OPD_INVALID_ARGUMENT,
       "An argument does not fit: its count, type, dtype, shape or value. The message names the parameter, what was "
       "expected and what was given.",
       "",
       "$ opdyno run model.so -i x:3xf32=1\n"
       "opdyno run: …expected dimension 0 to be 4, but it is 3…\n"
       "Try 'opdyno explain OPD_INVALID_ARGUMENT'.\n",
       "`opdyno inspect MOD --signatures` shows what each function takes."},
      {OPD_NOT_FOUND,
       "Something of that name does not exist: a file, a function, a symbol, an event to count. The message lists what "
       "there is, or the closest names.",
       "",
       "$ opdyno info none.npz\n"
       "opdyno info: cannot open none.npz: No such file or directory\n"
       "Try 'opdyno explain OPD_NOT_FOUND'.\n",
       "Check the spelling. `opdyno inspect MOD` lists functions, `opdyno info --collectors` what can be counted. If "
       "a program needs a function that no module has, add it by `--import FILE`."},
      {OPD_ALREADY_EXISTS,
       "The name is taken, and no permission to replace was given. In the process there is one registry of global "
       "functions, types and kinds of devices.",
       kTwice, twice, "Choose another name, or pass `override_existing`."},
      {OPD_OUT_OF_RANGE, "An index or a number lies outside of the allowed range. The message gives the range.",
       kBeyond, beyond, "Ask for the size first, as by `opd_array_count`."},
      {OPD_BAD_FORMAT,
       "The bytes are not what they claim to be: a file is damaged, cut short, or of another kind. The message gives "
       "the offset.",
       "",
       "$ echo hello > model.vmexec\n"
       "$ opdyno run model.vmexec\n"
       "opdyno run: model.vmexec starts with the bytes 68 65 6c 6c 6f 0a at offset 0, which no known module does: …\n"
       "Try 'opdyno explain OPD_BAD_FORMAT'.\n",
       "Compare the file's size and checksum with its source, and copy it again. `opdyno inspect MOD --verify` "
       "checks all parts of a module, and runs none of it."},
      {OPD_UNSUPPORTED,
       "opdyno understands the request, but this build, machine or version does not support it: a device "
       "without a driver, a counter that is forbidden, a module of a release of TVM that is too old, a library for "
       "another processor.",
       "",
       "$ opdyno run model.so --device metal:0\n"
       "opdyno run: there is no device metal:0 here: this build has no back end for devices of kind metal, …\n"
       "Try 'opdyno doctor'.\n",
       "`opdyno doctor` shows what is missing on this machine, and the command that fixes it. If the message names a "
       "release of TVM, export the model anew."},
      {OPD_OUT_OF_MEMORY,
       "Memory does not suffice, or a limit that was set on it (`--memory-limit`, `memory_limit` of a VM's options).",
       "",
       "$ opdyno run model.so --memory-limit 16\n"
       "opdyno run: a storage of 16 bytes would exceed the VM's memory limit: 16 of 16 bytes are in use\n"
       "Try 'opdyno explain OPD_OUT_OF_MEMORY'.\n",
       "Raise the limit. `opdyno profile MOD --collector memory --warmup 0` shows which operators allocate most."},
      {OPD_CANCELLED, "A cancel token ended the call. Memory of the call is released; the VM can be called again.",
       kCancel, cancel, "Nothing is broken: call again with another token, or none."},
      {OPD_DEADLINE_EXCEEDED,
       "The call's deadline passed (`--timeout`, `timeout_ns` of the call's options, `build_timeout_ms` for "
       "compilers). "
       "The call ended at its next operator or parallel region.",
       "",
       "$ opdyno bench model.so --timeout 1ns\n"
       "opdyno bench: the deadline passed …\n"
       "Try 'opdyno explain OPD_DEADLINE_EXCEEDED'.\n",
       "Allow more time, or find the slow operator: `opdyno profile MOD`."},
      {OPD_FAILED_PRECONDITION,
       "The handle is not in a state that allows this: something must be begun, ended or loaded before.", kNotStarted,
       not_started, "The comment on the function in `include/opdyno` says which call must come before."},
      {OPD_IO,
       "Reading, writing or connecting failed. The message has the system's reason, such as a full disk, missing "
       "rights or a refused connection.",
       "",
       "$ opdyno run model.so --on 127.0.0.1:1\n"
       "opdyno run: cannot connect to the server at 127.0.0.1:1: Connection refused\n"
       "Try 'opdyno explain OPD_IO'.\n",
       "Look at the reason. For other machines: does `opdyno serve` run there, and listen at that address? For the "
       "cache directory: `opdyno doctor`."},
      {OPD_CALL_FAILED,
       "A function or program that was called raised an error: a kernel, a callback, the C compiler. Kind and message "
       "are its own.",
       "",
       "$ echo 'this is no C' > kernel.c\n"
       "$ opdyno run kernel.c\n"
       "opdyno run: the C compiler … could not compile kernel.c:\n"
       "…\n"
       "Try 'opdyno explain OPD_CALL_FAILED'.\n",
       "The message is that function's own. `OPDYNO_BACKTRACE=1` adds the native frames at the place where the "
       "error was made."},
      {OPD_INTERNAL,
       "A defect in opdyno, or a code of a newer version, which reads as this one. No input may lead here.", kUnknown,
       unknown,
       "Report it with the command, the file and the output of `opdyno --version`; `OPDYNO_BACKTRACE=1` adds the "
       "native "
       "frames."},
  };
  return pages;
}

std::vector<std::string> explained_names() {
  std::vector<std::string> names;
  for (const ErrorPage &page : error_pages()) names.emplace_back(opdyno::code_name(page.code));
  names.emplace_back("exit-codes");
  return names;
}

std::string exit_codes_text() {
  std::string text;
  for (const auto &[code, meaning] : known_exit_codes) text += cat("  ", code, "  ", wrapped(meaning, 5, 100), "\n");
  return text;
}

std::string errors_markdown() {
  std::string text =
      "# Errors\n\nEach error has a code for programs, a kind by which bindings name exceptions, and a message. "
      "`opdyno "
      "explain CODE`\nshows these pages. They are written by the program itself, and their examples are executed by "
      "the tests. The examples\nfind a `model.so` whose `main()` takes four float32 numbers.\n\n## Exit codes of the "
      "program\n\n| code | meaning |\n|---|---|\n";
  for (const auto &[code, meaning] : known_exit_codes) text += cat("| ", code, " | ", meaning, " |\n");
  text += "\n";
  for (const ErrorPage &page : error_pages()) text += section(page);
  text.pop_back();
  return text;
}

}  // namespace opd::cli
