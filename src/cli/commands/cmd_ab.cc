// `opdyno ab`: which of two programs is faster, measured in turns until the verdict is clear.
#include <algorithm>
#include <bit>
#include <chrono>
#include <optional>

#include "cli/ab/ab_rule.h"
#include "cli/ab/ab_worker.h"
#include "cli/commands/command.h"
#include "cli/load/runs.h"
#include "cli/support/file.h"
#include "cli/support/progress.h"
#include "cli/support/screen.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

using Clock = std::chrono::steady_clock;

enum class AbForm { sentence, table, markdown, csv, json };

AbForm ab_form_of(const Args &args) {
  return static_cast<AbForm>(args.choice("as", {"sentence", "table", "markdown", "csv", "json"}));
}

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

  DiffView compare(const opd_diff_options &options) const { return DiffView::of_runs(runs_a_, runs_b_, options); }
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
  const AbForm form = ab_form_of(args);
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
  if (form == AbForm::json) print(diff->report().json() + "\n");
  else if (form == AbForm::csv) print(diff->report().csv());
  else if (form == AbForm::sentence) print_fitted(sentence + effort);
  else {
    const TableStyle style = form == AbForm::table ? TableStyle::text : TableStyle::markdown;
    const std::string text = sentence + effort + "\n" + diff->table(style) + diff->notes(style);
    style == TableStyle::text ? print_fitted(text) : print(text);
  }
  return diff->judge("ab");
}

}  // namespace opd::cli
