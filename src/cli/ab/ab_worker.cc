#include "cli/ab/ab_worker.h"

#include <alloca.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <map>
#include <new>
#include <random>

#include "cli/load/runner.h"
#include "cli/show/column.h"
#include "cli/support/failure.h"
#include "cli/support/file.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

// Requests and answers are lines. An answer that begins with '!' is an error: the exit code, the library's code, the
// message.
bool write_line(int to, std::string line) {
  line += '\n';
  for (size_t done = 0; done < line.size();) {
    const ssize_t written = ::write(to, line.data() + done, line.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    done += static_cast<size_t>(written);
  }
  return true;
}

// Reads a line. False at the end of the stream. `buffer` keeps bytes read beyond the line.
bool read_line(int from, std::string &buffer, std::string &line) {
  for (size_t searched = 0;;) {
    if (const size_t end = buffer.find('\n', searched); end != std::string::npos) {
      line = buffer.substr(0, end);
      buffer.erase(0, end + 1);
      return true;
    }
    searched = buffer.size();
    char bytes[4096];
    const ssize_t count = ::read(from, bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    buffer.append(bytes, static_cast<size_t>(count));
  }
}

// Means over `calls` calls of the program, by operator.
class Means {
 public:
  explicit Means(const Report &report)
      : durations_(report, "Duration (us)"), selves_(report, "Self (us)"), counts_(report, "Count") {
    for (size_t i = 0; i < kTexts.size(); ++i) texts_[i] = Column(report, kTexts[i]);
    for (size_t row = 0; row < report.count(); ++row) add(row);
  }

  Report make(int64_t turn, int64_t calls) const {
    const ReportBuilder builder;
    for (const auto &[texts, sums] : operators_) {
      builder.add_call();
      for (size_t i = 0; i < kTexts.size(); ++i)
        if (!texts[i].empty()) builder.set_call(kTexts[i], OPD_METRIC_STRING, opdyno::arg(texts[i]));
      builder.set_call("Duration (us)", OPD_METRIC_DURATION, opdyno::arg(sums.duration / static_cast<double>(calls)));
      builder.set_call("Self (us)", OPD_METRIC_DURATION, opdyno::arg(sums.self / static_cast<double>(calls)));
      builder.set_call("Count", OPD_METRIC_COUNT,
                       opdyno::arg(static_cast<int64_t>(std::llround(sums.count / static_cast<double>(calls)))));
    }
    builder.set_configuration("Turn", OPD_METRIC_COUNT, opdyno::arg(turn));
    return builder.finish();
  }

 private:
  static constexpr std::array kTexts{"Name", "Argument Shapes", "Device", "Row Kind"};
  struct Sums {
    double duration = 0, self = 0, count = 0;
  };

  void add(size_t row) {
    std::array<std::string, kTexts.size()> key;
    for (size_t i = 0; i < key.size(); ++i) key[i] = texts_[i].text(row);
    Sums &sums = operators_[key];
    const double duration = durations_.number(row, 0);
    sums.duration += duration;
    sums.self += selves_.number(row, duration);
    sums.count += counts_.number(row, 1);
  }

  std::array<Column, kTexts.size()> texts_;
  const Column durations_, selves_, counts_;
  std::map<std::array<std::string, kTexts.size()>, Sums> operators_;
};

// Measures in the child process.
class Worker {
 public:
  explicit Worker(const Args &args) : runner_(args) { runner_.start(); }

  std::string warm_up() {
    constexpr int64_t longest_ms = 3000;
    const double seconds = evaluate(1, longest_ms);
    if (!runner_.target().is_program()) return cat(seconds, " 1");
    return cat(seconds, " ", profile(1).count());
  }

  std::string measure(int64_t turn, int64_t calls) {
    return (runner_.target().is_program() ? Means(profile(calls)).make(turn, calls) : plain(turn, calls)).json();
  }

 private:
  Report profile(int64_t calls) {
    auto options = opdyno::defaults(opd_profile_options_init);
    options.warmup = static_cast<int32_t>(1 + calls / 4);  // refills the caches after the other program's turn
    options.repeat = static_cast<int32_t>(calls);
    const opd_call_options call = runner_.call_options();
    return runner_.target().vm().profile(runner_.target().name().c_str(), runner_.arguments(), &options, &call).report;
  }

  // Returns seconds per call.
  double evaluate(int64_t calls, int64_t steady_ms) {
    auto options = opdyno::defaults(opd_evaluator_options_init);
    options.number = calls, options.repeat = 1, options.steady_ms = steady_ms;
    options.warmup = 1 + calls / 4;
    options.device = runner_.target().device();
    return Evaluator(runner_.function(), &options).call(runner_.arguments()).stats().median;
  }

  // A function outside of a VM program counts as one operator.
  Report plain(int64_t turn, int64_t calls) {
    const ReportBuilder builder;
    builder.add_call();
    builder.set_call("Name", OPD_METRIC_STRING, opdyno::arg(runner_.target().name()));
    builder.set_call("Duration (us)", OPD_METRIC_DURATION, opdyno::arg(evaluate(calls, 0) * 1e6));
    builder.set_configuration("Turn", OPD_METRIC_COUNT, opdyno::arg(turn));
    return builder.finish();
  }

  Runner runner_;
};

std::string answer_to(const std::string &request, std::unique_ptr<Worker> &worker, const Args &args) {
  const auto start = std::chrono::steady_clock::now();
  if (!worker) worker = std::make_unique<Worker>(args);
  const std::chrono::duration<double> loaded = std::chrono::steady_clock::now() - start;
  const std::vector<std::string_view> words = split(request, ' ');
  if (words.size() == 1) return cat(worker->warm_up(), " ", loaded.count());
  return worker->measure(read_int(words[0]).value(), read_int(words[1]).value());
}

std::string refusal(Exit exit, opd_code code, std::string_view message) {
  return cat("!", static_cast<int>(exit), " ", static_cast<int>(code), " ", printable(message));
}

constexpr std::string_view kNextLife = "again";

// Runs one life of the worker: a process that loads the program and answers until it is asked to end.
void live(int requests, int answers, const Args &args, std::atomic<bool> &has_successor) {
  std::unique_ptr<Worker> worker;
  std::string buffer, request, answer;
  while (read_line(requests, buffer, request)) {
    try {
      answer = request == kNextLife ? "" : answer_to(request, worker, args);
    } catch (const Failure &failure) {
      answer = refusal(failure.code(), failure.library_code(), failure.what());
    } catch (const opdyno::Error &error) {
      answer = refusal(Exit::failed, error.code(), message_of(error));
    } catch (const std::exception &error) { answer = refusal(Exit::failed, OPD_OK, error.what()); }
    if (request == kNextLife) has_successor = true;
    if (!write_line(answers, std::move(answer)) || request == kNextLife) return;
  }
}

// Addresses decide which data compete for one place in a cache, and which branches for one in the predictor. So they
// change the time of an operator by some percent. Here heap, stack, and mappings that fit into no hole are moved by
// random distances, so that the effect differs from life to life and averages out.
void live_elsewhere(int requests, int answers, const Args &args, std::atomic<bool> &has_successor) {
  constexpr size_t kUnit = 16, kHeapUnits = 4096, kStackUnits = 256, kPages = 4096;  // 16 bytes: the heap's alignment
  std::random_device random;
  // The blocks are written, so that the compiler keeps them. They are not freed, so that the program's data lie behind
  // them.
  *static_cast<volatile char *>(::operator new(kUnit *(1 + random() % kHeapUnits))) = 0;
  *static_cast<volatile char *>(::alloca(kUnit * (1 + random() % kStackUnits))) = 0;
  const size_t gap = (1 + random() % kPages) * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  ::mmap(nullptr, gap, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);  // if it fails, nothing moves
  live(requests, answers, args, has_successor);
}

// The child's main function: it runs one life after the other. It loads nothing itself, so that all lives begin alike.
[[noreturn]] void serve(int requests, int answers, const Args &args) {
  // Lives set a shared flag to ask for a successor, because a program could end with any exit code.
  void *const shared =
      ::mmap(nullptr, sizeof(std::atomic<bool>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) ::_exit(1);
  auto &has_successor = *new (shared) std::atomic<bool>;
  for (;;) {
    has_successor = false;
    const pid_t life = ::fork();
    if (life < 0) ::_exit(1);
    if (life == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a call may be running when `ab` ends
      live_elsewhere(requests, answers, args, has_successor);
      ::_exit(0);  // skips destructors, which belong to the parent
    }
    int status = 0;
    while (::waitpid(life, &status, 0) < 0 && errno == EINTR) {}
    if (has_successor) continue;
    if (WIFEXITED(status)) ::_exit(WEXITSTATUS(status));
    ::signal(WTERMSIG(status), SIG_DFL);  // ends like the life, for AbWorker::fail_ended()
    ::raise(WTERMSIG(status));
    ::_exit(1);
  }
}

}  // namespace

AbWorker::AbWorker(std::string name, const Args &args) : name_(std::move(name)) {
  int down[2] = {-1, -1}, up[2] = {-1, -1};
  if (::pipe(down) != 0 || ::pipe(up) != 0 || (child_ = ::fork()) < 0) fail_errno("start", name_, errno);
  if (child_ == 0) {
    ::close(down[1]);
    ::close(up[0]);
    ::dup2(STDERR_FILENO, STDOUT_FILENO);  // output of programs must not mix with the results
    serve(down[0], up[1], args);
  }
  ::close(down[0]);
  ::close(up[1]);
  requests_ = down[1], answers_ = up[0];
}

AbWorker::~AbWorker() {
  ::close(requests_);
  ::close(answers_);
  if (child_ < 0) return;
  ::kill(child_, SIGKILL);  // a call may be running
  int status = 0;
  while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {}
}

std::string AbWorker::ask(const std::string &request) {
  std::string answer;
  if (!write_line(requests_, request) || !read_line(answers_, received_, answer)) fail_ended();
  if (!answer.starts_with('!')) return answer;
  const size_t first = answer.find(' '), second = answer.find(' ', first + 1);
  const auto exit = read_int(std::string_view(answer).substr(1, first - 1));
  const auto code = read_int(std::string_view(answer).substr(first + 1, second - first - 1));
  throw Failure(static_cast<Exit>(exit.value_or(static_cast<int>(Exit::failed))),
                cat(name_, ": ", answer.substr(second + 1)), static_cast<opd_code>(code.value_or(OPD_OK)));
}

void AbWorker::fail_ended() {
  int status = 0;
  while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {}
  child_ = -1;
  throw Failure(Exit::failed, cat(name_, ": its process ended ",
                                  WIFSIGNALED(status) ? cat("by signal ", WTERMSIG(status))
                                                      : cat("with exit code ", WEXITSTATUS(status))));
}

AbWorker::Size AbWorker::warm_up() {
  const std::string answer = ask("warm");
  const std::vector<std::string_view> words = split(answer, ' ');
  return {read_double(words[0]).value_or(0), read_int(words.at(1)).value_or(1), read_double(words.at(2)).value_or(0)};
}

void AbWorker::restart(int64_t calls) {
  ask(std::string(kNextLife));
  ask(cat(0, " ", calls));  // warms up
}

Report AbWorker::measure(int64_t turn, int64_t calls) {
  const std::string json = ask(cat(turn, " ", calls));
  return attempt(Exit::failed, name_, [&] { return Report::from_json(json); });
}

}  // namespace opd::cli
