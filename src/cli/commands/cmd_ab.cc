// `opdyno ab`: which of two programs is faster, measured in turns until the verdict is clear.
#include <alloca.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <map>
#include <new>
#include <optional>
#include <random>
#include <string>

#include "cli/ab/ab_rule.h"
#include "cli/commands/command.h"
#include "cli/load/runner.h"
#include "cli/load/runs.h"
#include "cli/show/column.h"
#include "cli/support/args.h"
#include "cli/support/face.h"
#include "cli/support/failure.h"
#include "cli/support/file.h"
#include "cli/support/progress.h"
#include "cli/support/screen.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

// ---- a child process that holds one warm program and measures a turn of calls on request
//
// Each program has its own process: two builds of a library may define the same symbols, and the memory layout of one
// must not depend on the other. While one process measures, the other waits on its pipe. A process can be replaced by a
// new one, because the addresses of its data change the times as if the program were another.

// Requests and answers are lines. An answer that begins with '!' is an error: the exit code, the library's code, the
// message.
bool write_line(int to, const std::string &line) { return write_all(to, line + '\n'); }

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

// Runs in a worker process: loads the program and answers requests until one asks for the replacement of the process.
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
    if (!write_line(answers, answer) || request == kNextLife) return;
  }
}

// Addresses decide which data compete for one place in a cache, and which branches for one in the predictor. So they
// change the time of an operator by a few percent. Here heap, stack, and mappings that fit into no hole are moved by
// random distances, so that the effect differs between worker processes and averages out.
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

// The child's main function. It runs worker processes one after the other. It loads nothing itself, so that all of them
// start in the same state.
[[noreturn]] void serve(int requests, int answers, const Args &args) {
  // A worker process asks for its replacement by a shared flag, because a program could end with any exit code.
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
    const int status = wait_for(life);
    if (has_successor) continue;
    if (WIFEXITED(status)) ::_exit(WEXITSTATUS(status));
    ::signal(WTERMSIG(status), SIG_DFL);  // ends by the same signal, which AbWorker::fail_ended() reports
    ::raise(WTERMSIG(status));
    ::_exit(1);
  }
}

class AbWorker {
 public:
  // Forks, so the process must have no other threads. `args` are the arguments of `ab`, but with the words of this
  // program only.
  AbWorker(std::string name, const Args &args) : name_(std::move(name)) {
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
    requests_ = Descriptor(down[1]), answers_ = Descriptor(up[0]);
  }

  // Ends the child.
  ~AbWorker() {
    if (child_ < 0) return;
    ::kill(child_, SIGKILL);  // a call may be running
    wait_for(child_);
  }

  // If the child fails, the following functions fail with its exit code and its message, after the program's name.
  struct Size {
    double seconds = 0;  // per call
    int64_t rows = 1;    // rows that a call adds to a profile
    double load = 0;     // seconds to load the program
  };
  // Loads the program and calls until the times are steady.
  Size warm_up() {
    const std::string answer = ask("warm");
    const std::vector<std::string_view> words = split(answer, ' ');
    return {read_double(words[0]).value_or(0), read_int(words.at(1)).value_or(1), read_double(words.at(2)).value_or(0)};
  }

  // Loads the program in a new process, at other addresses, and warms up by a turn of calls.
  void restart(int64_t calls) {
    ask(std::string(kNextLife));
    ask(cat(0, " ", calls));  // warms up
  }

  // Measures one run. The report has the means over these calls, per operator.
  Report measure(int64_t turn, int64_t calls) {
    const std::string json = ask(cat(turn, " ", calls));
    return attempt(Exit::failed, name_, [&] { return Report::from_json(json); });
  }

 private:
  std::string ask(const std::string &request) {
    std::string answer;
    if (!write_line(requests_.get(), request) || !read_line(answers_.get(), received_, answer)) fail_ended();
    if (!answer.starts_with('!')) return answer;
    const size_t first = answer.find(' '), second = answer.find(' ', first + 1);
    const auto exit = read_int(std::string_view(answer).substr(1, first - 1));
    const auto code = read_int(std::string_view(answer).substr(first + 1, second - first - 1));
    throw Failure(static_cast<Exit>(exit.value_or(static_cast<int>(Exit::failed))),
                  cat(name_, ": ", answer.substr(second + 1)), static_cast<opd_code>(code.value_or(OPD_OK)));
  }

  [[noreturn]] void fail_ended() {
    const int status = wait_for(child_);
    child_ = -1;
    throw Failure(Exit::failed, cat(name_, ": its process ended ",
                                    WIFSIGNALED(status) ? cat("by signal ", WTERMSIG(status))
                                                        : cat("with exit code ", WEXITSTATUS(status))));
  }

  std::string name_;
  pid_t child_ = -1;               // -1 once the child has ended
  Descriptor requests_, answers_;  // pipes to and from the child
  std::string received_;           // bytes read beyond the last answer
};

// ---- the measurement in turns

using Clock = std::chrono::steady_clock;

// Chooses the number of calls so that a turn takes 3 ms. Much shorter turns would measure the first calls after a
// pause. In longer ones, other processes would interrupt nearly every turn, and a disturbed turn counts only as an
// outlier. Profiles with many rows are limited, because they take longer to read than to make.
int64_t calls_of_turn(const AbWorker::Size &a, const AbWorker::Size &b) {
  constexpr double kSeconds = 0.003, kMostRows = 6000, kMostCalls = 1000;
  const double by_time = kSeconds / std::max({a.seconds, b.seconds, 1e-9});
  const double by_rows = kMostRows / static_cast<double>(std::max({a.rows, b.rows, int64_t{1}}));
  return static_cast<int64_t>(std::clamp(std::min(by_time, by_rows), 1.0, kMostCalls));
}

class Contest {
 public:
  Contest(const Args &args, Clock::time_point start)
      : a_(cat("A (", args.words()[0], ")"), args.of_program(0)),
        b_(cat("B (", args.words()[1], ")"), args.of_program(1)),
        end_(start + std::chrono::nanoseconds(args.duration_ns("budget").value_or(30'000'000'000))),
        most_turns_(args.integer("runs", 1'000'000, 1, 1'000'000)) {}

  void warm_up() {
    progress_.emplace();  // made only now, because its thread must not exist when the workers fork
    progress_->stage("warming up");
    const AbWorker::Size a = a_.warm_up(), b = b_.warm_up();
    calls_ = calls_of_turn(a, b);
    note_start(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(a.load + b.load)));
  }

  // Measures this many turns, but for at least a second: in less time, other load may slow down the same program each
  // time. Returns true once the budget is spent.
  bool measure_until(int64_t turns) {
    if (this->turns() == 0) least_end_ = Clock::now() + std::chrono::seconds(1);
    for (auto turn = this->turns(); turn < turns || Clock::now() < least_end_; ++turn) {
      if (turn > 0 && (turn >= most_turns_ || Clock::now() >= end_)) return true;
      progress_->stage(cat("turn ", turn + 1));
      restart_if_due(turn);
      in_order_of(turn, [&](AbWorker &worker) {
        (&worker == &a_ ? runs_a_ : runs_b_).push_back(worker.measure(turn, calls_));
      });
    }
    return this->turns() >= most_turns_ || Clock::now() >= end_;
  }

  DiffView compare(const opd_diff_options &options) const {
    return {Report::diff(runs_a_, runs_b_, &options), options};
  }
  int64_t turns() const { return static_cast<int64_t>(runs_a_.size()); }
  int64_t calls() const { return calls_; }
  void finish() { progress_.reset(); }

 private:
  // The sequence of Thue and Morse decides which program comes first: A B B A B A A B … So neither gains if the machine
  // drifts, or if the second turn of a process is faster than its first.
  template <class Do>
  void in_order_of(int64_t turn, const Do &act) {
    const bool is_a_first = std::popcount(static_cast<uint64_t>(turn)) % 2 == 0;
    act(is_a_first ? a_ : b_);
    act(is_a_first ? b_ : a_);
  }

  // Replaces both processes once they have measured for as long as their start took. So at most half of the time is
  // spent on starts, and a small program gets new processes every turn or two. If less time would remain to measure
  // than the start takes, there is no new start.
  void restart_if_due(int64_t turn) {
    const auto now = Clock::now();
    if (now < next_start_ || end_ - now < 2 * start_) return;
    in_order_of(turn, [&](AbWorker &worker) { worker.restart(calls_); });
    note_start(Clock::now() - now);
  }

  void note_start(Clock::duration taken) { start_ = taken, next_start_ = Clock::now() + taken; }

  AbWorker a_, b_;
  const Clock::time_point end_;
  const int64_t most_turns_;
  int64_t calls_ = 1;
  Clock::duration start_{};
  Clock::time_point next_start_, least_end_;
  std::vector<Report> runs_a_, runs_b_;
  std::optional<Progress> progress_;
};

}  // namespace

Exit run_ab(const Args &args) {
  const auto start = Clock::now();
  const std::string form = args.chosen("as", {"sentence", "table", "markdown", "csv", "json"});
  const opd_diff_options options = diff_options(args);
  Contest contest(args, start);
  contest.warm_up();
  AbRule rule(options);
  std::optional<DiffView> diff;
  for (bool is_spent = false; !is_spent && !(diff && rule.is_clear(*diff));) {
    is_spent = contest.measure_until(rule.next_look());
    diff = contest.compare(rule.start_look());
  }
  contest.finish();
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const std::string sentence = cat(ab_sentence(*diff, options), "\n"),
                    effort = cat("(", counted(contest.turns(), "turn"), " of ", counted(contest.calls(), "call"),
                                 " each, ", fixed(seconds, 1), " s)\n");
  if (form == "json") print(diff->report().json() + "\n");
  else if (form == "csv") print(diff->report().csv());
  else if (form == "sentence") print_fitted(sentence + effort);
  else {
    const TableStyle style = form == "table" ? TableStyle::text : TableStyle::markdown;
    const std::string text = sentence + effort + "\n" + diff->table(style) + diff->notes(style);
    style == TableStyle::text ? print_fitted(text) : print(text);
  }
  return diff->judge("ab");
}

}  // namespace opd::cli
