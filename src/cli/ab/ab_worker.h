// A child process that holds one warm program and measures a turn of calls on request.
//
// Each program has its own process: two builds of a library may define the same symbols, and the memory layout of one
// must not depend on the other. While one measures, the other waits on its pipe. The process that holds the program can
// be replaced by a new one, because the addresses of its data change the times as if the program were another.
#pragma once
#include <sys/types.h>

#include <string>

#include "cli/support/args.h"
#include "cli/support/face.h"

namespace opd::cli {

class AbWorker {
 public:
  // Forks, so the process must have no other threads. `args` are the arguments of `ab`, with the words of this program
  // only.
  AbWorker(std::string name, const Args &args);
  ~AbWorker();  // ends the child
  AbWorker(const AbWorker &) = delete;
  AbWorker &operator=(const AbWorker &) = delete;

  // If the child fails, these fail with its exit code and its message, after the program's name.
  struct Size {
    double seconds = 0;  // per call
    int64_t rows = 1;    // rows that a call adds to a profile
    double load = 0;     // seconds to load the program
  };
  Size warm_up();  // loads the program and calls until the times are steady
  // Loads the program in a new process, at other addresses, and warms up by a turn of calls.
  void restart(int64_t calls);
  Report measure(int64_t turn, int64_t calls);  // one run: means over these calls, per operator

 private:
  std::string ask(const std::string &request);
  [[noreturn]] void fail_ended();

  std::string name_;
  pid_t child_ = -1;                  // -1 once the child has ended
  int requests_ = -1, answers_ = -1;  // pipes to and from the child
  std::string received_;              // bytes read beyond the last answer
};

}  // namespace opd::cli
