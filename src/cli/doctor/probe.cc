// Implements Probe: starts the process, waits for its answer within a time limit, and ends it.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "cli/doctor/doctor.h"
#include "cli/support/failure.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

constexpr size_t most_bytes = 65536;

// Output of drivers and programs must not mix with the lines of this program.
void leave_streams() {
  const int nothing = open("/dev/null", O_RDWR);
  if (nothing < 0) return;
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, stream);
  if (nothing > STDERR_FILENO) close(nothing);
}

}  // namespace

Probe Probe::begin(const std::function<int(int to)> &child) {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) return Probe(cat("could not be started: ", strerror(errno)));
  Descriptor from(ends[0]), to(ends[1]);
  const pid_t parent = getpid(), process = fork();
  if (process < 0) return Probe(cat("could not be started: ", strerror(errno)));
  if (process == 0) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);  // the parent ended before the call above
    for (const int signal_number : {SIGBUS, SIGPIPE, SIGXFSZ}) signal(signal_number, SIG_DFL);
    leave_streams();
    _exit(child(to.get()));  // skips destructors, which belong to the parent
  }
  setpgid(process, process);  // set here, too, so that it is set before end() needs it
  return {process, std::move(from)};
}

Probe Probe::of_function(const std::function<std::string()> &work) {
  return begin([&](int to) {
    try {
      return write_all(to, work()) ? 0 : 1;
    } catch (...) { return 1; }
  });
}

Probe Probe::of_program(const std::vector<std::string> &command) {
  std::vector<char *> words;
  for (const std::string &word : command) words.push_back(const_cast<char *>(word.c_str()));
  words.push_back(nullptr);
  return begin([&](int to) {
    dup2(to, STDOUT_FILENO);
    execv(words[0], words.data());
    return 127;
  });
}

Probe::~Probe() {
  if (child_ > 0) end();
}

int Probe::end() {
  kill(-child_, SIGKILL);  // the whole process group
  const int status = wait_for(child_);
  child_ = -1;
  return status;
}

Probe::Answer Probe::wait(std::chrono::steady_clock::time_point deadline) {
  using namespace std::chrono;
  Answer answer{false, {}, problem_};
  if (!problem_.empty()) return answer;
  for (bool has_ended = false; !has_ended;) {
    const auto left = ceil<milliseconds>(deadline - steady_clock::now()).count();
    pollfd waiting = {answers_.get(), POLLIN, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(std::clamp<int64_t>(left, 0, 3'600'000)));
    if (ready < 0 && errno == EINTR) continue;
    char bytes[4096];
    const ssize_t count = ready > 0 ? read(answers_.get(), bytes, sizeof bytes) : -1;
    if (count < 0) return end(), answer.why = kTooLate, answer;
    answer.text.append(bytes, static_cast<size_t>(count));
    if (answer.text.size() > most_bytes) return end(), answer.why = "wrote more than 64 KiB", answer;
    has_ended = count == 0;
  }
  // The pipe is closed, so the process is about to end, unless it closed only the pipe.
  int status = 0;
  pid_t ended = 0;
  while ((ended = waitpid(child_, &status, WNOHANG)) == 0 && steady_clock::now() < deadline) usleep(1000);
  if (ended != child_) return end(), answer.why = kTooLate, answer;
  kill(-child_, SIGKILL);  // processes that it left behind
  child_ = -1;
  if (WIFSIGNALED(status)) answer.why = cat("ended by ", signal_name(WTERMSIG(status)));
  else if (WEXITSTATUS(status) != 0) answer.why = cat("ended with exit code ", WEXITSTATUS(status));
  answer.is_whole = answer.why.empty();
  return answer;
}

}  // namespace opd::cli
