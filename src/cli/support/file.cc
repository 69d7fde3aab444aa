#include "cli/support/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "cli/support/failure.h"
#include "cli/support/signal_text.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

constexpr size_t most_of_a_pipe = size_t{1} << 30;

// Limits the size: a sparse file can have terabytes with a few bytes on disk.
void check_size(const struct stat &status, const std::string &path) {
  const auto memory = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  if (static_cast<uint64_t>(status.st_size) > memory / 2)
    throw Failure(Exit::failed, cat("cannot read ", path, ": it has ", status.st_size,
                                    " bytes, more than half of this machine's memory"));
}

std::string read_all(int fd, const std::string &path) {
  struct stat status {};
  const bool is_regular = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
  if (is_regular) check_size(status, path);
  std::string content;
  std::string block(1 << 16, 0);  // on the heap, because the stack may be small
  for (;;) {
    const ssize_t got = read(fd, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) {  // a pipe that was opened non-blocking
      pollfd waiting = {fd, POLLIN, 0};
      poll(&waiting, 1, -1);
      continue;
    }
    if (got < 0) fail_errno("read", path, errno);
    if (got == 0) return content;
    if (!is_regular && content.size() + static_cast<size_t>(got) > most_of_a_pipe)
      throw Failure(Exit::failed,
                    cat("cannot read ", path, ": it brings more than 1 GiB, and its end is not in sight"));
    content.append(block, 0, static_cast<size_t>(got));
  }
}

// Files of /proc report the size 0, so they are read until they end. With O_NONBLOCK, a FIFO without a writer does not
// block.
std::string begin_of(const std::string &path, size_t least) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  std::string text;
  char bytes[4096];
  while (file && text.size() < least) {
    const ssize_t count = read(file.get(), bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.append(bytes, static_cast<size_t>(count));
  }
  return text;
}

}  // namespace

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

std::string read_file(const std::string &path) {
  if (path == "-") return read_all(STDIN_FILENO, "standard input");
  // Opening a device may have effects, and opening a FIFO without a writer would block.
  struct stat status {};
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode) &&
      !S_ISDIR(status.st_mode))
    throw Failure(Exit::failed, cat("cannot read ", path, ": it is neither a regular file nor a pipe"));
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) fail_errno("open", path, errno);
  const std::string content = read_all(file.get(), path);
  if (content.empty() && S_ISFIFO(status.st_mode))
    throw Failure(Exit::failed, cat("cannot read ", path, ": it is a pipe that nothing was written to"));
  return content;
}

void write_file(const std::string &path, std::string_view content) {
  if (path == "-") return print(content);
  opdyno::write_file(path, content);
}

std::string first_bytes(const std::string &path) {
  std::error_code error;  // reading a pipe would take bytes from its reader
  return std::filesystem::is_regular_file(path, error) ? begin_of(path, 4096) : "";
}

std::string suffix_of(const std::string &path) { return lower_case(std::filesystem::path(path).extension().string()); }

void refuse_overwriting(const std::string &input, const std::string &output) {
  std::error_code error;  // set if a file does not exist yet
  if (input != "-" && output != "-" && std::filesystem::equivalent(input, output, error))
    fail_usage(cat("the output ", output, " would overwrite the input ", input, "; name another file"));
}

void occupy_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) < 0) open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

namespace {
bool is_closed = false;  // the reader of standard output has gone
}  // namespace

void print(std::string_view text) {
  if (is_closed || write_all(STDOUT_FILENO, text)) return;
  if (errno != EPIPE) fail_errno("write to", "standard output", errno);
  is_closed = true;
}

bool is_output_closed() { return is_closed; }

void print_message(std::string_view text) { write_all(STDERR_FILENO, text); }

void close_output() {
  if (close(STDOUT_FILENO) != 0 && errno != EBADF) fail_errno("write to", "standard output", errno);
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  return status;
}

bool has_terminal() { return isatty(STDERR_FILENO) == 1; }

namespace {

// ---- the handler of SIGBUS: all code here runs in it, allocates no memory and uses only system calls

// Lines of /proc/self/maps: "begin-end perms offset device inode   path".
class MapsReader {
 public:
  explicit MapsReader(int fd) : fd_(fd) {}

  // The path of the file that is mapped at an address; "" if there is none.
  const char *find(uintptr_t address) {
    while (read_line()) {
      const char *at = line_;
      const uintptr_t begin = number(at), end = number(++at);
      if (address < begin || address >= end) continue;
      while (*at && *at != '/') ++at;
      return at;
    }
    return "";
  }

 private:
  uintptr_t number(const char *&at) const {
    uintptr_t value = 0;
    at = std::from_chars(at, std::end(line_), value, 16).ptr;
    return value;
  }

  bool read_line() {
    size_t size = 0;
    for (char c; read(fd_, &c, 1) == 1;) {
      if (c == '\n') {
        line_[size] = '\0';
        return true;
      }
      if (size + 1 < sizeof line_) line_[size++] = c;
    }
    return false;
  }

  int fd_;
  char line_[4352] = {};
};

void on_bus_error(int, siginfo_t *info, void *) {
  const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  MapsReader maps(fd);
  const char *path = fd < 0 ? "" : maps.find(reinterpret_cast<uintptr_t>(info->si_addr));
  SignalText text;
  text << "opdyno: " << (*path ? path : "a file that is being read");
  text << " became shorter, or cannot be read any more, while it was in use\n";
  text.flush();
  _exit(static_cast<int>(Exit::failed));
}

}  // namespace

void report_bus_errors() {
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO | SA_RESETHAND;
  sigaction(SIGBUS, &action, nullptr);
}

// ---- facts from small files of the system

std::string system_path(const std::string &path) {
  const char *root = std::getenv("OPDYNO_SYSTEM_ROOT");
  return root && *root ? cat(root, path) : path;
}

std::string system_text(const std::string &path) { return begin_of(system_path(path), 65536); }

std::string system_line(const std::string &path) {
  constexpr size_t most = 4096;
  const std::string text = system_text(path);
  return std::string(trim(std::string_view(text).substr(0, std::min(text.find('\n'), most))));
}

bool has_system_file(const std::string &path) { return access(system_path(path).c_str(), F_OK) == 0; }

std::vector<std::string> numbered_names(const std::string &directory, const std::string &begin) {
  std::vector<std::pair<int64_t, std::string>> found;
  const std::unique_ptr<DIR, int (*)(DIR *)> open_directory(opendir(system_path(directory).c_str()), closedir);
  while (const dirent *entry = open_directory ? readdir(open_directory.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with(begin)) continue;
    if (const auto number = read_int(name.substr(begin.size())); number && *number >= 0)
      found.emplace_back(*number, name);
  }
  std::ranges::sort(found);
  std::vector<std::string> names;
  for (auto &[number, name] : found) names.push_back(std::move(name));
  return names;
}

}  // namespace opd::cli
