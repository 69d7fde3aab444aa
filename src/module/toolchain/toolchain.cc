#include "module/toolchain/toolchain.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>

#include "base/environment.h"
#include "base/file.h"
#include "base/fork_mutex.h"
#include "device/machine.h"
#include "module/c_source_text.h"
#include "module/elf/elf_machine.h"

extern char **environ;

namespace opd {
namespace {

constexpr size_t kMaxShownOutput = 4096;

std::vector<std::string> words_of(const std::string &text, const char *separators = " \t") {
  std::vector<std::string> words;
  for (size_t at = 0; (at = text.find_first_not_of(separators, at)) != std::string::npos;) {
    const size_t end = std::min(text.find_first_of(separators, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

// The state of the file that a program's name refers to.
std::string state_of_program(const std::string &name) {
  std::vector<std::string> places{name};
  if (name.find('/') == std::string::npos) {
    places.clear();
    for (const auto &directory : words_of(environment("PATH"), ":")) places.push_back(directory + "/" + name);
  }
  for (const auto &place : places) {
    if (::access(place.c_str(), X_OK)) continue;
    if (const std::string identity = file_identity(place); !identity.empty()) return identity;
  }
  return name;
}

// Lines of /proc/cpuinfo that identify the processor, for -march=native.
std::string processor() {
  std::string out;
  const std::string all = read_system_file("/proc/cpuinfo");
  for (const char *field : {"model name", "flags", "Features", "CPU part"})
    if (const size_t at = all.find(field); at != std::string::npos) out += all.substr(at, all.find('\n', at) - at);
  return out;
}

// The content of a library or object file. nullopt for text: linkers read it as a script that may name any file.
std::optional<std::string> read_linker_input(const std::string &path) {
  std::string content = read_file(path);
  if (content.starts_with("\x7f"
                          "ELF") ||
      content.starts_with("!<arch>\n"))
    return content;
  return std::nullopt;
}

bool is_file(const std::string &path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

// ---- programs

struct Actions {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;

  Actions(const std::string &log, bool own_group) {
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
    posix_spawnattr_init(&attributes);
    sigset_t none, usual;  // compilers must not inherit blocked or ignored signals
    sigemptyset(&none);
    sigemptyset(&usual);
    for (const int signal_number : {SIGPIPE, SIGXFSZ, SIGCHLD}) sigaddset(&usual, signal_number);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    // In this process's group, the program gets signals of the terminal, such as Ctrl-C. With a deadline it needs its
    // own group, so that all its children can be killed.
    int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    if (own_group) flags |= POSIX_SPAWN_SETPGROUP, posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, static_cast<short>(flags));
  }
  ~Actions() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
};

pid_t wait_for(pid_t child, int &status, int options) {
  pid_t waited;
  while ((waited = ::waitpid(child, &status, options)) < 0 && errno == EINTR) {}
  return waited;
}

// Returns 0 at the deadline. It polls, because SIGCHLD belongs to the host, and older kernels lack pidfd_open().
pid_t wait_until(pid_t child, std::chrono::steady_clock::time_point deadline, int &status) {
  constexpr auto kLongest = std::chrono::milliseconds(10);
  for (auto pause = std::chrono::microseconds(200);; pause = std::min<std::chrono::microseconds>(2 * pause, kLongest)) {
    if (const pid_t waited = wait_for(child, status, WNOHANG)) return waited;
    if (std::chrono::steady_clock::now() >= deadline) return 0;
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace

ProcessResult run_program(const std::vector<std::string> &arguments, const std::string &log, const Deadline &deadline) {
  std::vector<char *> argv;
  for (const auto &argument : arguments) argv.push_back(const_cast<char *>(argument.c_str()));
  argv.push_back(nullptr);
  const Actions actions(log, deadline.has_value());
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, argv[0], &actions.files, &actions.attributes, argv.data(), environ);
  if (error) fail_errno("cannot run", arguments[0], error);
  int status = 0;
  const pid_t waited = deadline ? wait_until(child, *deadline, status) : wait_for(child, status, 0);
  if (waited == 0) {
    ::kill(-child, SIGKILL);
    wait_for(child, status, 0);
    fail(OPD_DEADLINE_EXCEEDED, arguments[0], " was still running when the time for it was over, and was ended");
  }
  // If the host ignores SIGCHLD, there is no exit status. The caller then checks the output file.
  return {waited < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0), read_file(log)};
}

Toolchain::Toolchain(const std::string &compiler, const std::string &flags, std::chrono::milliseconds timeout) {
  const char *cc = std::getenv("CC");
  const std::string command = !compiler.empty() ? compiler : cc && *cc ? cc : "cc";
  compiler_ = ::access(command.c_str(), X_OK) == 0 ? std::vector{command} : words_of(command);
  require(!compiler_.empty(), "the C compiler's name is empty");
  split_flags(words_of(flags.empty() ? "-O2" : flags), flags_, libraries_);
  if (timeout.count()) deadline_ = std::chrono::steady_clock::now() + timeout;
}

std::vector<std::string> Toolchain::command(std::initializer_list<std::string> more) const {
  std::vector<std::string> all = compiler_;
  all.insert(all.end(), flags_.begin(), flags_.end());
  all.insert(all.end(), more);
  return all;
}

void Toolchain::add_libraries(std::vector<std::string> &command) const {
  command.insert(command.end(), libraries_.begin(), libraries_.end());
  command.push_back("-lm");  // compiled models call functions such as exp() without declaring the need
}

// The compiler's version text and the state of its programs. Read once per process and state.
std::string Toolchain::identity(const BuildDirectory &build) const {
  static auto &guard = *new ForkMutex(LockRank::kCompilers);
  static auto *known = new std::map<std::string, std::string>;
  std::string key;
  for (const auto &word : compiler_) key += word + '\n';
  for (const auto &program : {compiler_[0], std::string("as"), std::string("ld")})
    key += state_of_program(program) + '\n';
  {
    std::scoped_lock lock(guard);
    if (const auto found = known->find(key); found != known->end()) return found->second;
  }
  auto command = compiler_;
  command.push_back("--version");
  const std::string text = key + run(command, build).output;
  std::scoped_lock lock(guard);
  return known->emplace(key, text).first->second;
}

std::vector<std::string> Toolchain::library_directories() const {
  std::vector<std::string> directories;
  for (const auto *words : {&flags_, &libraries_})
    for (size_t i = 0; i < words->size(); ++i) {
      const std::string &word = (*words)[i];
      if (word == "-L" && i + 1 < words->size()) directories.push_back((*words)[i + 1]);
      else if (word.starts_with("-L")) directories.push_back(word.substr(2));
      else if (word.starts_with("-Wl,-L")) directories.push_back(word.substr(6));
    }
  for (const auto &directory : words_of(environment("LIBRARY_PATH"), ":")) directories.push_back(directory);
  return directories;
}

// Hashes the library that -lNAME refers to. It is searched in the directories of the flags, then in those of the
// compiler. Returns false if it is not found or may name other files.
bool Toolchain::add_library(ContentHash &hash, const std::string &name, const BuildDirectory &build) const {
  std::vector<std::string> files{"lib" + name + ".so", "lib" + name + ".a"};
  if (name.starts_with(':')) files = {name.substr(1)};
  for (const auto &directory : library_directories()) {
    bool found = false;
    for (const auto &file : files) {
      const std::string path = directory + "/" + file;
      if (!is_file(path)) continue;
      const auto content = read_linker_input(path);
      if (!content) return false;
      hash.add(path).add(*content);
      found = true;
    }
    if (found) return true;
  }
  for (const auto &file : files) {
    auto command = compiler_;
    command.push_back("-print-file-name=" + file);
    std::string path = run(command, build).output;
    path = path.substr(0, path.find('\n'));
    if (!path.starts_with('/') || !is_file(path)) continue;
    hash.add(path).add(read_file(path));  // a linker script there names only files of these directories
    return true;
  }
  return false;
}

bool Toolchain::add_to(ContentHash &hash, const BuildDirectory &build) const {
  hash.add(machine_name(kMachine)).add(identity(build));
  for (const char *name : {"CPATH", "C_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX", "LD_RUN_PATH",
                           "SOURCE_DATE_EPOCH"})
    if (const char *value = std::getenv(name)) hash.add(name).add(value);
  bool known = true;
  for (const auto *words : {&compiler_, &flags_, &libraries_})
    for (const auto &word : *words) {
      hash.add(word);
      if (word.find("native") != std::string::npos) hash.add(processor());
      if (word.starts_with("-fuse-ld=")) hash.add(state_of_program("ld." + word.substr(9)));
      if (words != &compiler_ && leads_to_unknown_files(word)) known = false;
    }
  for (const auto &file : files_named_by(flags_)) hash.add(file).add(read_file(file));
  for (size_t i = 0; known && i < libraries_.size(); ++i) {
    const std::string &word = libraries_[i];
    if (word == "-l" && i + 1 < libraries_.size()) known = add_library(hash, libraries_[++i], build);
    else if (word.starts_with("-l")) known = add_library(hash, word.substr(2), build);
    else if (word.starts_with('-'))
      for (const auto &file : files_named_by({word})) hash.add(file).add(read_file(file));
    else if (const auto content = is_file(word) ? read_linker_input(word) : std::nullopt) hash.add(*content);
    else known = i > 0 && takes_next_word(libraries_[i - 1]);
  }
  return known;
}

std::string shown_output(const std::string &output) {
  return output.size() <= kMaxShownOutput ? output : output.substr(0, kMaxShownOutput) + "\n(more left out)";
}

}  // namespace opd
