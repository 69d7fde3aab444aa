#include "cli/serve/session.h"

#include <fcntl.h>
#include <link.h>
#include <pwd.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <opdyno/tensor.hpp>
#include <string_view>

#include "cli/support/text.h"

namespace opd::cli {

namespace {

constexpr char asked = 'a', let_in = 'y', refused = 'n';

// Returns 0 if the other side has ended.
char receive(const Descriptor &end) {
  char said = 0;
  ssize_t count;
  do count = recv(end.get(), &said, 1, 0);
  while (count < 0 && errno == EINTR);
  return count == 1 ? said : 0;
}

void say(const Descriptor &end, char what) { send(end.get(), &what, 1, MSG_NOSIGNAL); }

namespace fs = std::filesystem;

constexpr std::string_view start = "opdyno-serve-";

Descriptor locked(const std::string &directory) {
  Descriptor opened(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  const bool is_ours = opened && fstat(opened.get(), &info) == 0 && info.st_uid == geteuid();
  return is_ours && flock(opened.get(), LOCK_EX | LOCK_NB) == 0 ? std::move(opened) : Descriptor();
}

void remove_abandoned(const fs::path &parent) {
  std::error_code ignored;
  for (const auto &entry : fs::directory_iterator(parent, ignored))
    if (entry.path().filename().string().starts_with(start))
      if (const Descriptor held = locked(entry.path().string())) fs::remove_all(entry.path(), ignored);
}

using namespace std::chrono_literals;

constexpr auto grace = 2s;     // from SIGTERM to SIGKILL
constexpr auto of_late = 10s;  // long, because a process with much memory takes long to end

// The limit has two steps: SIGXCPU, and if the program ignores it, SIGKILL a second later.
bool has_used_up(int status, const rusage &used, int32_t limit) {
  if (!limit || !WIFSIGNALED(status)) return false;
  return WTERMSIG(status) == SIGXCPU ||
         (WTERMSIG(status) == SIGKILL && used.ru_utime.tv_sec + used.ru_stime.tv_sec >= limit);
}

// The operator that ran, according to the process; "": none.
std::string noted_operator(const SharedSession &shared) {
  const char *const text = shared.progress.crashed_in;
  std::string name(text, strnlen(text, sizeof shared.progress.crashed_in));
  const auto is_good = [](char c) { return c >= ' ' && c <= '~'; };  // messages and spans are UTF-8
  std::ranges::replace_if(name, std::not_fn(is_good), '?');
  return name;
}

std::string memory_text() {
  const opdyno::Value bytes = opdyno::device_attr({kDLCPU, 0}, OPD_ATTR_TOTAL_GLOBAL_MEMORY);
  if (bytes.type() != OPD_INT) return "the kernel had no memory left";
  return cat("the kernel had no memory left: the machine, or the control group of the server, has ",
             bytes.view().u.int64 >> 20, " MiB");
}

std::string signal_text(int number, const MemoryWatch &memory) {
  if (number == SIGKILL && memory.has_ended_a_process()) return cat("SIGKILL (", memory_text(), ")");
  return signal_name(number);
}

}  // namespace

// ---- processes

std::vector<pid_t> children_of_this_process() {
  std::vector<pid_t> found;
  std::ifstream children(cat("/proc/self/task/", getpid(), "/children"));
  for (pid_t child; children >> child;) found.push_back(child);
  return found;
}

void end_all_children() {
  // A child that ends may leave children of its own, which become children of this process.
  do
    for (const pid_t child : children_of_this_process()) kill(child, SIGKILL);
  while (waitpid(-1, nullptr, 0) > 0);
}

void forget_code() noexcept {
  // Only code of the program and its library is dropped: the linker may have changed the code of others, so no file has
  // it.
  const auto forget = [](dl_phdr_info *object, size_t, void *) {
    const std::string_view name = object->dlpi_name;  // "" for the program
    if (!name.empty() && name.find("/libopdyno.so") == name.npos) return 0;
    const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    for (int i = 0; i < object->dlpi_phnum; ++i) {
      const auto &segment = object->dlpi_phdr[i];
      const uintptr_t begin = object->dlpi_addr + segment.p_vaddr, end = begin + segment.p_filesz;
      if (segment.p_type != PT_LOAD || segment.p_flags != (PF_R | PF_X)) continue;
      const uintptr_t first = begin & ~(page - 1);
      madvise(reinterpret_cast<void *>(first), end - first, MADV_DONTNEED);  // a failure is harmless
    }
    return 0;
  };
  dl_iterate_phdr(forget, nullptr);
}

void detach_session() {
  const Descriptor nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (nothing) dup2(nothing.get(), STDIN_FILENO);
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    if (!isatty(stream)) continue;
    const Descriptor to_write(open(cat("/proc/self/fd/", stream).c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC));
    if (to_write) dup2(to_write.get(), stream);
  }
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  // These signals end sessions, even if the server was started with other handlers: SIGXCPU at the limit of CPU time,
  // SIGTERM at all other limits.
  for (const int number : {SIGXCPU, SIGTERM}) signal(number, SIG_DFL);
}

// ---- the gate that admits clients

SessionGate::SessionGate() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) fail_errno("make", "a pair of sockets", errno);
  servers_ = Descriptor(ends[0]), sessions_ = Descriptor(ends[1]);
}

bool SessionGate::ask() {
  servers_.reset();
  say(sessions_, asked);
  const bool is_let_in = receive(sessions_) == let_in;
  sessions_.reset();
  return is_let_in;
}

bool SessionGate::has_asked() { return receive(servers_) == asked; }

void SessionGate::answer(bool is_let_in) {
  say(servers_, is_let_in ? let_in : refused);
  servers_.reset();
}

// ---- shared memory

void note_reason(SharedSession &shared, const std::string &reason) {
  char(&place)[sizeof shared.progress.end_reason] = shared.progress.end_reason;
  place[reason.copy(place, sizeof place - 1)] = '\0';
}

void tell_end(int connection, const SharedSession &shared) {
  opd_rpc_progress progress = shared.progress;
  progress.struct_size = sizeof progress;
  try {
    opdyno::rpc_tell_end(connection, progress);
  } catch (const opdyno::Error &) {}  // then the client only sees that the connection ends
}

// ---- directories of sessions

SessionFolders::SessionFolders(const std::string &user) : user_(user) {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  if (error) fail_errno("use", "the directory for temporary files", error.value());
  remove_abandoned(parent);
  do {
    path_ = (parent / cat(start, "XXXXXX")).string();
    if (!mkdtemp(path_.data())) fail_errno("make a directory in", parent.string(), errno);
    lock_ = locked(path_);
  } while (!lock_ && access(path_.c_str(), F_OK));  // before it was locked, another server may have removed it
  constexpr mode_t to_pass_through = 0711;
  if (!user_.empty() && chmod(path_.c_str(), to_pass_through)) fail_errno("open", path_, errno);
}

SessionFolders::~SessionFolders() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string SessionFolders::path_of(int64_t session) const { return cat(path_, "/", session); }

std::string SessionFolders::make(int64_t session) {
  std::string path = path_of(session);
  if (mkdir(path.c_str(), S_IRWXU)) fail_errno("make", path, errno);
  if (const passwd *const owner = user_.empty() ? nullptr : getpwnam(user_.c_str()))
    if (chown(path.c_str(), owner->pw_uid, owner->pw_gid)) fail_errno("give away", path, errno);
  return path;
}

// During this count, the session's programs change files, and may try to mislead the server.
uint64_t SessionFolders::bytes_of(int64_t session, uint64_t most) const {
  constexpr uint64_t least = 4096, block = 512;  // an empty file takes space, too
  uint64_t bytes = 0;
  std::vector<fs::path> directories = {path_of(session)};
  while (!directories.empty() && bytes <= most) {
    std::error_code error;
    fs::directory_iterator file(directories.back(), error);
    directories.pop_back();
    for (; !error && file != fs::directory_iterator(); file.increment(error)) {
      struct stat info {};
      if (lstat(file->path().c_str(), &info)) continue;  // the file is gone
      bytes += std::max(least, static_cast<uint64_t>(info.st_blocks) * block);
      if (S_ISDIR(info.st_mode)) directories.push_back(file->path());
    }
    if (error && error != std::errc::no_such_file_or_directory) return UINT64_MAX;
  }
  return bytes;
}

void SessionFolders::remove(int64_t session) {
  std::error_code ignored;
  fs::remove_all(path_of(session), ignored);
}

// ---- ends of sessions

void ForcedEnd::go_on(pid_t process, SharedSession &shared) {
  const bool asks = has_client && !has_begun;
  if (asks) note_reason(shared, cat("the server (", why, ")"));
  kill(process, asks ? SIGTERM : SIGKILL);
  next_step = asks ? Clock::now() + grace : Clock::time_point::max();
  has_begun = true;
}

void MemoryWatch::look() {
  constexpr std::string_view line = "\noom_kill ";
  const std::string text = system_text("/proc/vmstat");
  const size_t at = text.find(line);
  uint64_t count = 0;  // 0: kernels before 4.13, which do not report it
  if (at != text.npos) std::from_chars(text.data() + at + line.size(), text.data() + text.size(), count);
  if (known_ && count != *known_) changed_ = std::chrono::steady_clock::now();
  known_ = count;
}

bool MemoryWatch::has_ended_a_process() const {
  return changed_ != std::chrono::steady_clock::time_point() && std::chrono::steady_clock::now() - changed_ < of_late;
}

SessionEnd end_of_session(int status, const rusage &used, const std::optional<ForcedEnd> &forced, int32_t cpu_limit_s,
                          const MemoryWatch &memory, SharedSession &shared) {
  const std::string ran = noted_operator(shared), place = ran.empty() ? "" : cat(", in the operator ", ran);
  const bool has_reason = shared.progress.end_reason[0] != '\0';  // the process's signal handler has written it
  const auto told = [&](const std::string &reason) {
    if (!has_reason) note_reason(shared, reason);
  };
  if (forced && forced->has_begun && WIFSIGNALED(status)) return {forced->why + place, forced->outcome};
  if (has_used_up(status, used, cpu_limit_s)) {
    const std::string limit = cat("its ", cpu_limit_s, " s of CPU time");
    told(cat(WTERMSIG(status) == SIGKILL ? "SIGKILL" : "SIGXCPU", " (the session has used up ", limit, ")"));
    return {cat("it used up ", limit, place), "limit"};
  }
  if (WIFSIGNALED(status)) {
    const std::string text = signal_text(WTERMSIG(status), memory);
    told(text);
    return {cat("its process was ended by ", text, place), "crashed"};
  }
  const int code = WEXITSTATUS(status);
  told(cat("exit(", code, "), which a program called"));
  if (code == 0) return {"", ""};
  return {cat("its process exited with code ", code, place), "exited"};
}

}  // namespace opd::cli
