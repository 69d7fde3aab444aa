#include "module/toolchain.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>

#include "base/error.h"
#include "module/elf_machine.h"

namespace opd {
namespace {

constexpr size_t kMaxShownOutput = 4096;

std::vector<std::string> words_of(const std::string &text) {
  std::vector<std::string> words;
  for (size_t at = 0; (at = text.find_first_not_of(" \t", at)) != std::string::npos;) {
    const size_t end = std::min(text.find_first_of(" \t", at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

// What the compiler says it is. Asked once per process and state of its file.
std::string identity_of(const std::vector<std::string> &compiler, const BuildFolder &build) {
  static std::mutex guard;
  static auto *known = new std::map<std::vector<std::string>, std::string>;
  {
    std::scoped_lock lock(guard);
    if (const auto found = known->find(compiler); found != known->end()) return found->second;
  }
  auto command = compiler;
  command.push_back("--version");
  const std::string text = run_compiler(command, build).output;
  std::scoped_lock lock(guard);
  return known->emplace(compiler, text).first->second;
}

// What -march=native means here: the lines of /proc/cpuinfo that say so. Its size reads as 0, so it is read until it
// ends.
std::string processor() {
  std::string all, out;
  const int fd = ::open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
  char chunk[4096];
  for (ssize_t n; fd >= 0 && all.size() < 65536 && (n = ::read(fd, chunk, sizeof chunk)) > 0;)
    all.append(chunk, static_cast<size_t>(n));
  if (fd >= 0) ::close(fd);
  for (const char *field : {"model name", "flags", "Features", "CPU part"})
    if (const size_t at = all.find(field); at != std::string::npos) out += all.substr(at, all.find('\n', at) - at);
  return out;
}

}  // namespace

Toolchain::Toolchain(const std::string &compiler, const std::string &flags) {
  const char *cc = std::getenv("CC");
  const std::string command = !compiler.empty() ? compiler : cc && *cc ? cc : "cc";
  compiler_ = ::access(command.c_str(), X_OK) == 0 ? std::vector{command} : words_of(command);
  require(!compiler_.empty(), "the C compiler's name is empty");
  for (auto &word : words_of(flags.empty() ? "-O2" : flags)) {
    const bool is_library =
        word.starts_with("-l") || word.starts_with("-Wl,") || (word[0] != '-' && word.find('.') != std::string::npos);
    (is_library ? libraries_ : flags_).push_back(std::move(word));
  }
}

std::vector<std::string> Toolchain::command(std::initializer_list<std::string> more) const {
  std::vector<std::string> all = compiler_;
  all.insert(all.end(), flags_.begin(), flags_.end());
  all.insert(all.end(), more);
  return all;
}

void Toolchain::add_libraries(std::vector<std::string> &command) const {
  command.insert(command.end(), libraries_.begin(), libraries_.end());
  command.push_back("-lm");  // compiled models call exp() and its like, and nobody tells
}

void Toolchain::add_to(ContentHash &hash, const BuildFolder &build) const {
  hash.add(machine_name(kMachine)).add(identity_of(compiler_, build));
  for (const auto *words : {&compiler_, &flags_, &libraries_})
    for (const auto &word : *words) {
      hash.add(word);
      if (word.find("native") != std::string::npos) hash.add(processor());
    }
  for (const char *name : {"CPATH", "C_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX"})
    if (const char *value = std::getenv(name)) hash.add(name).add(value);
}

ProcessResult run_compiler(const std::vector<std::string> &command, const BuildFolder &build) {
  try {
    return run_program(command, build.file("log"));
  } catch (const Exception &e) {
    if (e.error()->code != OPD_NOT_FOUND) throw;
    fail(OPD_NOT_FOUND, "there is no C compiler \"", command[0], "\"; install one, or set CC or the option compiler");
  }
}

std::string shown_output(const std::string &output) {
  return output.size() <= kMaxShownOutput ? output : output.substr(0, kMaxShownOutput) + "\n(more left out)";
}

}  // namespace opd
