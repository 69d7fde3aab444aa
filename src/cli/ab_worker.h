// A child process that holds one program, warm, and measures a turn of calls whenever it is asked to.
//
// Each program has a process of its own: two builds of a library may define the same symbols, and the memory layout of
// one must not depend on the other. While one measures, the other waits for its pipe.
#pragma once
#include <sys/types.h>

#include <string>

#include "args.h"
#include "face.h"

namespace opd::cli {

class AbWorker {
 public:
  // Forks. The process must have no other threads. `args` are those of `ab`, with the words of this program alone.
  AbWorker(std::string name, const Args &args);
  ~AbWorker();  // ends the child
  AbWorker(const AbWorker &) = delete;
  AbWorker &operator=(const AbWorker &) = delete;

  // These fail as the child does: with its exit code, and its message after the name.
  struct Size {
    double seconds = 0;  // that a call takes
    int64_t rows = 1;    // that a call adds to a profile
  };
  Size warm_up();                               // loads the program and calls until the times are steady
  Report measure(int64_t turn, int64_t calls);  // one run: per operator the mean over these calls

 private:
  std::string ask(const std::string &request);
  [[noreturn]] void fail_ended();

  std::string name_;
  pid_t child_ = -1;                  // none once it has ended
  int requests_ = -1, answers_ = -1;  // pipes to and from the child
  std::string received_;              // beyond the last answer
};

}  // namespace opd::cli
