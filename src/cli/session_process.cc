#include "session_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "file.h"
#include "text.h"

namespace opd::cli {

void adopt_orphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

std::vector<pid_t> children_of_this_process() {
  std::vector<pid_t> found;
  std::ifstream children(cat("/proc/self/task/", getpid(), "/children"));
  for (pid_t child; children >> child;) found.push_back(child);
  return found;
}

void end_all_children() {
  // Each that ends may leave children of its own, which become those of this process.
  do
    for (const pid_t child : children_of_this_process()) kill(child, SIGKILL);
  while (waitpid(-1, nullptr, 0) > 0);
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
  // These end sessions, also if the server was started with other handlers: of CPU time, of all other limits.
  for (const int number : {SIGXCPU, SIGTERM}) signal(number, SIG_DFL);
}

}  // namespace opd::cli
