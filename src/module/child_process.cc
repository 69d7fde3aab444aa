#include "module/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/file.h"

extern char **environ;

namespace opd {
namespace {

struct Actions {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;

  explicit Actions(const std::string &log) {
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
    posix_spawnattr_init(&attributes);
    sigset_t none, usual;  // what our process blocks or ignores is not for compilers
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    sigaddset(&usual, SIGCHLD);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~Actions() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
};

}  // namespace

ProcessResult run_program(const std::vector<std::string> &arguments, const std::string &log) {
  std::vector<char *> argv;
  for (const auto &argument : arguments) argv.push_back(const_cast<char *>(argument.c_str()));
  argv.push_back(nullptr);
  const Actions actions(log);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, argv[0], &actions.files, &actions.attributes, argv.data(), environ);
  if (error) fail_errno("cannot run", arguments[0], error);
  int status = 0;
  pid_t waited;
  while ((waited = ::waitpid(child, &status, 0)) < 0 && errno == EINTR) {}
  // A host that ignores SIGCHLD takes the status away: then the program's output decides.
  return {waited < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0), read_file(log)};
}

}  // namespace opd
