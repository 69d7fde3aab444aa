// Files and standard streams. Every failed read or write is an error with the system's reason.
#include "cli/support/file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cerrno>
#include <filesystem>

#include "cli/support/failure.h"
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

// Waits for data on a pipe that was opened non-blocking.
void wait_for_more(int fd) {
  pollfd waiting = {fd, POLLIN, 0};
  poll(&waiting, 1, -1);
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
    if (got < 0 && errno == EAGAIN) {
      wait_for_more(fd);
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

void print(std::string_view text) {
  if (!write_all(STDOUT_FILENO, text)) fail_errno("write to", "standard output", errno);
}

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

}  // namespace opd::cli
