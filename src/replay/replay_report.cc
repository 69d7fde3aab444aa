// Makes a report and a one-sentence summary of a replay.
#include <algorithm>
#include <cmath>

#include "base/bytes.h"
#include "compare/recorded_runs.h"
#include "replay/replay.h"

namespace opd {
namespace {

// Removes the full stop, so that the message can be a part of a sentence.
std::string_view part_of(std::string_view message) {
  if (message.ends_with('.')) message.remove_suffix(1);
  return message;
}

std::string difference_text(const ComparedLeaf &leaf) {
  if (leaf.state == LeafState::kOnlyCaptured) return concat(leaf.captured->name, " is missing");
  if (leaf.state == LeafState::kOnlyNow) return concat(leaf.now->name, " was not returned then");
  const std::string &name = leaf.now->name;
  if (leaf.has_other_type) return concat(name, " is ", leaf.now->shown, ", and was ", leaf.captured->shown);
  if (!leaf.difference) return concat(name, ", ", leaf.now->shown, ", has another hash");
  const Difference &difference = *leaf.difference;
  if (difference.as_bits) return concat(name, ", ", leaf.now->shown, ", has other bits");
  const std::string how =
      difference.has_distance()
          ? concat("max abs ", shown_number(difference.max_abs), " (tolerance ", shown_number(difference.allowed), ")")
          : concat("element ", difference.worst, " is ", shown_number(difference.worst_b), ", and was ",
                   shown_number(difference.worst_a));
  return concat(name, ", ", leaf.now->shown, ", differs at ", difference.mismatches, " of ", difference.numbers,
                " elements: ", how);
}

}  // namespace

std::string Replay::result_text() const {
  size_t equal = 0, agrees = 0;
  const ComparedLeaf *first = nullptr;
  for (const ComparedLeaf &leaf : compared_) {
    equal += leaf.state == LeafState::kEqual, agrees += leaf.state == LeafState::kAgrees;
    if (!first && leaf.state > LeafState::kAgrees) first = &leaf;
  }
  if (first) return concat("the call returned something else than was recorded: ", difference_text(*first));
  std::string out = "the call returned what was recorded: ";
  if (compared_.empty()) return out + "an empty tuple";
  if (!agrees) return concat(out, counted(equal, "value"), equal == 1 ? " is" : " are", " equal bit for bit");
  return concat(out, counted(agrees, "value"), agrees == 1 ? " agrees" : " agree", " within the tolerance, ", equal,
                equal == 1 ? " is" : " are", " equal bit for bit");
}

bool Replay::is_same() const {
  if (!capture_->end) return false;
  const std::optional<KeptError> &error = capture_->end->error;
  if (error || failure_) return error && failure_ && error->is_same(KeptError::of(*failure_));
  const auto is_good = [](const ComparedLeaf &leaf) { return leaf.state <= LeafState::kAgrees; };
  if (!std::ranges::all_of(compared_, is_good)) return false;
  // If the result has no tensor, the operators decide.
  const bool has_tensors =
      std::ranges::any_of(captured_leaves_, [](const KeptLeaf &leaf) { return leaf.tensor != nullptr; });
  return has_tensors || !operator_difference_;
}

std::string Replay::verdict() const {
  std::string out;
  const std::string now = failure_ ? concat("failed: ", part_of(failure_->message)) : std::string("returned");
  if (!capture_->end) {
    out = concat("the recorded call did not end: its process ended within it, or the file was cut; this one ", now);
  } else if (const auto &error = capture_->end->error) {
    const bool is_same_error = failure_ && error->is_same(KeptError::of(*failure_));
    out = is_same_error ? concat("the call failed as it did when it was recorded: ", part_of(failure_->message))
                        : concat("the call ", now, "; when it was recorded, it failed: ", part_of(error->message));
  } else if (failure_) {
    out = concat("the call ", now, "; when it was recorded, it returned");
  } else {
    out = result_text();
  }
  if (operator_difference_) {
    const OperatorDifference &first = *operator_difference_;
    out += concat("; the first operator that differs is ", first.name, ", number ", first.number + 1, " of the call");
    if (first.name != first.captured_name) out += concat(", in the place of ", first.captured_name);
  }
  if (!playback_->problem().empty()) out += "; " + playback_->problem();
  return out;
}

class ReplayReport {
 public:
  explicit ReplayReport(const Replay &of) : of_(of), capture_(*of.capture_) {}

  Ref<Report> make() {
    for (size_t i = 0; i < capture_.args.size(); ++i) {
      const std::string &name = i < capture_.call.names.size() ? capture_.call.names[i] : std::string();
      for (const KeptLeaf &leaf : leaves_of(capture_.args[i], name.empty() ? concat("arg_", i) : name))
        add(leaf.name, "argument", leaf.shown);
    }
    for (const KeptHostCall &call : capture_.host_calls)
      add(call.function, "host function",
          call.error ? "failed: " + call.error->message : counted(call.args.size(), "argument"));
    if (of_.operator_difference_) {
      add(of_.operator_difference_->name, "operator", {});
      text("State", "differs");
    }
    if (of_.options_.runs)
      for (const ComparedLeaf &leaf : of_.compared_) add_result(leaf);
    else if (capture_.end && !capture_.end->error)
      for (const KeptLeaf &leaf : leaves_of(capture_.end->result, "out")) add(leaf.name, "result", leaf.shown);
    configure();
    return builder_.finish();
  }

 private:
  void text(std::string_view column, std::string_view words) {
    if (!words.empty()) builder_.set(builder_.column(column), builder_.text(words));
  }
  void add(std::string_view name, std::string_view kind, std::string_view value) {
    builder_.begin_row();
    text("Name", name), text("Kind", kind), text("Value", value);
  }

  void add_result(const ComparedLeaf &leaf) {
    constexpr std::string_view kStates[] = {"equal", "agrees", "differs", "only recorded", "only now"};
    const KeptLeaf &shown = leaf.now ? *leaf.now : *leaf.captured;
    add(shown.name, "result", shown.shown);
    text("State", kStates[static_cast<size_t>(leaf.state)]);
    if (leaf.now && leaf.captured && leaf.now->shown != leaf.captured->shown)
      text("Recorded Value", leaf.captured->shown);
    if (!leaf.difference || leaf.difference->as_bits) return;
    const auto number = [&](std::string_view column, double value) {
      if (std::isfinite(value)) builder_.set(builder_.column(column), Metric::of_number(MetricKind::kRatio, value));
    };
    number("Max Abs", leaf.difference->max_abs), number("Max Rel", leaf.difference->max_rel);
    builder_.set(builder_.column("Mismatches"), Metric::of_count(static_cast<int64_t>(leaf.difference->mismatches)));
  }

  void set(std::string_view name, std::string_view words) {
    if (!words.empty()) builder_.configure(name, builder_.text(words));
  }
  void count(std::string_view name, uint64_t number) {
    builder_.configure(name, Metric::of_count(static_cast<int64_t>(number)));
  }

  void configure() {
    const CapturedProcess &process = capture_.process;
    if (of_.options_.runs) {
      set("Verdict", of_.verdict());
      count("Same", of_.is_same());
    }
    set("Function", capture_.call.function);
    set("Recorded", captured_outcome());
    set("Error", capture_.end && capture_.end->error ? capture_.end->error->message : std::string());
    set("Minimised", of_.minimised_);
    set("Program", hex(capture_.modules.back().hash));
    set("Path", capture_.modules.back().path);
    set("Host", process.host);
    set("opdyno", process.opdyno);
    set("Processor", concat(process.architecture, process.features.empty() ? "" : " ", process.features));
    count("Threads", static_cast<uint64_t>(process.threads));
    set("Devices", devices());
    std::string variables;
    for (const auto &[name, value] : process.environment)
      variables += concat(variables.empty() ? "" : " ", name, "=", value);
    set("Environment", variables);
    if (capture_.call.has_operators) count("Operators", capture_.operators.size());
    set("Note", note());
  }

  std::string captured_outcome() const {
    if (!capture_.end) return "did not end";
    return capture_.end->error ? "failed" : "returned";
  }

  std::string devices() const {
    std::string out;
    for (const VmDevice &device : capture_.call.vm.devices)
      out += concat(out.empty() ? "" : ", ", device_name(device.device),
                    device.allocator == OPD_ALLOCATOR_NAIVE ? " (naive)" : "");
    return out;
  }

  // Describes how this process differs from that of the capture.
  std::string note() const {
    const CapturedProcess now = CapturedProcess::of_this(false), &then = capture_.process;
    std::string out;
    const auto add_if = [&](bool differs, const std::string &sentence) {
      if (differs) out += (out.empty() ? "" : "; ") + sentence;
    };
    add_if(of_.options_.runs && of_.runs_other_program(), "the program is another one than was recorded");
    add_if(of_.move_.moves(),
           concat("recorded on ", device_name(of_.move_.from), ", made on ", device_name(of_.move_.to), " again"));
    add_if(now.opdyno != then.opdyno, concat("recorded by opdyno ", then.opdyno, ", this is ", now.opdyno));
    add_if(now.architecture != then.architecture,
           concat("recorded on ", then.architecture, ", this is ", now.architecture));
    add_if(now.architecture == then.architecture && now.features != then.features,
           "the processor has other features than the recording one");
    add_if(now.threads != then.threads,
           concat("recorded with ", counted(then.threads, "thread"), ", here are ", now.threads));
    return out;
  }

  const Replay &of_;
  const CapturedCall &capture_;
  ReportBuilder builder_;
};

Ref<Report> Replay::to_report() const { return ReplayReport(*this).make(); }

}  // namespace opd
