#include "module/toolchain/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "base/file.h"

extern char **environ;

namespace opd {
namespace {

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

}  // namespace opd
