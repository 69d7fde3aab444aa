// Implements report_bus_errors(): the handler of SIGBUS names the mapped file that became shorter, and ends the
// program.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "cli/support/failure.h"
#include "cli/support/file.h"
#include "cli/support/signal_text.h"

// All code here runs in a signal handler: it allocates no memory and uses only system calls.
namespace opd::cli {

namespace {

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
  static uintptr_t number(const char *&at) {
    uintptr_t value = 0;
    for (;; ++at) {
      if (*at >= '0' && *at <= '9') value = value * 16 + static_cast<uintptr_t>(*at - '0');
      else if (*at >= 'a' && *at <= 'f') value = value * 16 + static_cast<uintptr_t>(*at - 'a' + 10);
      else return value;
    }
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
  char line_[4352];
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

}  // namespace opd::cli
