#include "cli/serve/session_process.h"

#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string_view>

#include "cli/support/file.h"
#include "cli/support/text.h"

namespace opd::cli {

void adopt_orphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

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

}  // namespace opd::cli
