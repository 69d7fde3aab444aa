// Numbered tries, each of which may crash or exit its process: they run in children, one after the other.
#pragma once
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace opdyno_test {

struct Tries {
  struct End {
    size_t number;
    int status;  // waitpid's
  };
  size_t accepted = 0, refused = 0;
  std::vector<End> ends;  // tries that ended their process, or took too long

  /** What happened, for a message; `name` tells what a number stands for. */
  template <class Name>
  std::string describe(Name name) const {
    std::string text = std::to_string(ends.size()) + " tries ended the process:";
    for (const End &end : ends) {
      text += " " + name(end.number) + " (";
      if (!WIFSIGNALED(end.status)) text += "exit status " + std::to_string(WEXITSTATUS(end.status));
      else if (WTERMSIG(end.status) == SIGALRM) text += "did not end";
      else text += strsignal(WTERMSIG(end.status));
      text += ")";
    }
    return text;
  }
};

/** Runs tries 0 to count - 1. @p start is called in each child and gives a callable `bool(size_t number)`, which says
 * whether what it tried was accepted. One that takes longer than @p seconds is an end, too. */
template <class Start>
Tries run_tries(size_t count, unsigned seconds, Start start) {
  struct Shared {
    std::atomic<size_t> next{0}, accepted{0}, refused{0};
  };
  void *const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("mmap failed");
  auto *const shared = new (memory) Shared;
  Tries tries;
  while (shared->next < count) {
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("fork failed");
    if (child == 0) {
      alarm(seconds);
      auto try_one = start();
      for (size_t i = shared->next; i < count; i = ++shared->next) {
        alarm(seconds);
        if (try_one(i)) ++shared->accepted;
        else ++shared->refused;
      }
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (shared->next < count) tries.ends.push_back({shared->next++, status});
  }
  tries.accepted = shared->accepted;
  tries.refused = shared->refused;
  munmap(memory, sizeof(Shared));
  return tries;
}

}  // namespace opdyno_test
