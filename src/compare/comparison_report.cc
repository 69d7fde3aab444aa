// Makes the output of a comparison. The report has a row for each operator of either program, in B's order, then a row
// for each result. The tensors around the first difference are saved as files for NumPy, DIR/a.npz and DIR/b.npz.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "compare/comparison.h"
#include "device/device.h"
#include "params/formats.h"

namespace opd {
namespace {

void save_contents(Params &params, const std::string &name, const Contents &contents) {
  Ref<Tensor> copy;
  const std::string_view bytes = elements_of(contents, copy);
  if (!bytes.data()) return;  // it was not kept; the report has a note
  Ref<Tensor> tensor = make_tensor(contents.dims, contents.dtype, kHost);
  if (!bytes.empty()) copy_from_bytes(tensor->dl, bytes.data(), bytes.size());
  params.add(name, std::move(tensor));
}

// Adds the tensors of a call. Their names are "softmax1/input_0", "softmax1/output_1", with the index of the argument.
void save_call(Params &params, const RecordedRun &run, size_t number) {
  const RecordedCall &call = run.calls[number];
  std::string name = call.name;
  if (call.occurrence) name += concat("#", call.occurrence + 1);
  for (size_t i = 0; i < call.slots.size(); ++i) {
    const CallTensor &slot = call.slots[i];
    if (slot.before != kNoValue) save_contents(params, concat(name, "/input_", i), run.contents(slot.before));
    if (slot.is_written) save_contents(params, concat(name, "/output_", i), run.contents(slot.after));
  }
}

void save_side(const RecordedRun &run, const std::vector<size_t> &causes, int32_t call, uint32_t value,
               const std::string &path) {
  const Ref<Params> params = make_object<Params>();
  for (const size_t cause : causes) save_call(*params, run, cause);
  if (call == CallMatching::kNone) save_contents(*params, "result", run.contents(value));
  else save_call(*params, run, static_cast<size_t>(call));
  save_params(*params, path);
}

}  // namespace

class ComparisonReport {
 public:
  explicit ComparisonReport(const Comparison &of) : of_(of), a_(of.a_), b_(of.b_), matching_(of.matching_) {}

  Ref<Report> make() {
    size_t next_a = 0;
    for (size_t b = 0; b < b_.calls.size(); ++b) {
      const int32_t a = matching_.of_b[b];
      // Operators only in A come before the next matched one of A.
      for (; a != CallMatching::kNone && next_a < static_cast<size_t>(a); ++next_a) add_only_in_a(next_a);
      if (a == CallMatching::kNone) add_only("only in B", b_, b);
      else add_pair(static_cast<size_t>(a), b);
    }
    for (; next_a < a_.calls.size(); ++next_a) add_only_in_a(next_a);
    for (size_t i = 0; i < std::max(a_.results.size(), b_.results.size()); ++i) add_result(i);
    configure();
    return builder_.finish();
  }

 private:
  void text(std::string_view column, std::string_view words) {
    if (!words.empty()) builder_.set(builder_.column(column), builder_.text(words));
  }
  void count(std::string_view column, uint64_t value) {
    builder_.set(builder_.column(column), Metric::of_count(static_cast<int64_t>(value)));
  }
  void number(std::string_view column, double value) {
    if (std::isfinite(value)) builder_.set(builder_.column(column), Metric::of_number(MetricKind::kRatio, value));
  }

  static std::string shapes_of(const RecordedCall &call) {
    std::string out;
    for (const CallTensor &slot : call.slots) out += (out.empty() ? "" : ", ") + slot.type;
    return out;
  }

  static std::string_view state_name(Agreement agreement) {
    constexpr std::string_view kNames[] = {"equal", "agrees", "unknown", "differs"};
    return kNames[static_cast<size_t>(agreement)];
  }

  void add_pair(size_t a, size_t b) {
    const RecordedCall &one = a_.calls[a], &other = b_.calls[b];
    builder_.begin_row();
    text("Name", other.name);
    text("Kind", "operator");
    text("State", state_name(of_.comparer_->compare_outputs(one, other)));
    text("Name in A", one.name == other.name ? std::string_view() : one.name);
    text("Matched By", match_name(matching_.how[b]));
    const std::string in_a = shapes_of(one), in_b = shapes_of(other);
    text("Argument Shapes", in_b);
    if (in_a != in_b) text("Argument Shapes in A", in_a);
    text("Inputs", one.slots.size() != other.slots.size()                 ? "other"
                   : of_.comparer_->inputs_agree(one, other)              ? "agree"
                   : of_.comparer_->inputs_agree_in_any_order(one, other) ? "other order"
                                                                          : "differ");
    count("Call", other.occurrence + 1);
    add_worst(of_.comparer_->outputs(one, other));
  }

  // Adds the numbers of the output that differs most.
  void add_worst(const std::vector<std::pair<uint32_t, uint32_t>> &outputs) {
    const ComparedValue *worst = nullptr;
    for (const auto &[a, b] : outputs) {
      const ComparedValue &compared = of_.comparer_->compare(a, b);
      if (!worst || compared.agreement > worst->agreement ||
          (compared.agreement == worst->agreement && compared.difference.max_abs > worst->difference.max_abs))
        worst = &compared;
    }
    if (!worst || worst->has_other_shape || worst->agreement == Agreement::kUnknown) return;
    const Difference &difference = worst->difference;
    if (!difference.as_bits && difference.has_distance()) {
      number("Max Abs", difference.max_abs);
      number("Max Rel", difference.max_rel);
      if (difference.mismatches) number("Tolerance", difference.allowed);
    }
    count("Mismatches", difference.mismatches);
    count("Elements", difference.numbers);
  }

  void add_only_in_a(size_t a) {
    if (matching_.of_a[a] == CallMatching::kNone) add_only("only in A", a_, a);
  }

  void add_only(std::string_view state, const RecordedRun &run, size_t number) {
    const RecordedCall &call = run.calls[number];
    builder_.begin_row();
    text("Name", call.name);
    text("Kind", "operator");
    text("State", state);
    text("Argument Shapes", shapes_of(call));
    count("Call", call.occurrence + 1);
  }

  void add_result(size_t i) {
    const bool in_a = i < a_.results.size(), in_b = i < b_.results.size();
    builder_.begin_row();
    text("Name", concat("(result ", i, ")"));
    text("Kind", "result");
    text("Argument Shapes", (in_b ? b_ : a_).results[i].type);
    if (!in_a || !in_b) return text("State", in_a ? "only in A" : "only in B");
    const uint32_t a = a_.results[i].after, b = b_.results[i].after;
    text("State", state_name(of_.comparer_->compare(a, b).agreement));
    if (a_.results[i].type != b_.results[i].type) text("Argument Shapes in A", a_.results[i].type);
    add_worst({{a, b}});
  }

  void configure() {
    const auto set = [&](std::string_view name, std::string_view words) {
      if (!words.empty()) builder_.configure(name, builder_.text(words));
    };
    const auto count_of = [&](std::string_view name, uint64_t value) {
      builder_.configure(name, Metric::of_count(static_cast<int64_t>(value)));
    };
    const FirstDifference &first = of_.first_;
    set("Verdict", of_.verdict());
    count_of("Equal", of_.is_equal());
    set("First difference", first.where);
    set("Cause", names_of(b_, first.b_causes));
    set("Cause in A", names_of(a_, first.a_causes));
    set("Failure of A", a_.failure ? a_.failure->message : std::string());
    set("Failure of B", b_.failure ? b_.failure->message : std::string());
    count_of("Operators of A", a_.calls.size());
    count_of("Operators of B", b_.calls.size());
    count_of("Kept (bytes)", of_.store_.kept_bytes());
    set("Note", note());
  }

  static std::string names_of(const RecordedRun &run, const std::vector<size_t> &calls) {
    std::string out;
    for (const size_t call : calls) out += (out.empty() ? "" : ", ") + run.label(call);
    return out;
  }

  std::string note() const {
    std::string out;
    const auto add = [&](const std::string &sentence) { out += (out.empty() ? "" : "; ") + sentence; };
    if (const uint64_t refused = of_.store_.num_refused())
      add(concat(refused, " values were not kept, because the copies take the ", of_.store_.limit_bytes(),
                 " bytes that they may: of these it is known only whether they are equal bit for bit"));
    for (const auto &[run, side] : {std::pair(&a_, "A"), std::pair(&b_, "B")}) {
      if (run->num_dropped)
        add(concat(run->num_dropped, " calls of ", side, " beyond the first ", kMostRecordedCalls,
                   " were not compared"));
      if (!run->note.empty()) add(concat(side, ": ", run->note));
    }
    if (!of_.order_note_.empty()) add(of_.order_note_);
    for (size_t i = 0; i < of_.args_.size(); ++i) {
      const View &arg = of_.args_[i];
      const auto is_it = [&](const View &of_b) { return is_object(of_b) && object_of(of_b) == object_of(arg); };
      const Args of_b = of_.b_args();
      const bool is_shared = is_object(arg) && std::ranges::any_of(of_b, is_it) && !try_dltensor(arg) &&
                             arg.type != OPD_ARRAY && arg.type != OPD_FUNCTION && arg.type != OPD_SHAPE &&
                             !is_text(arg) && !is_bytes(arg);
      if (is_shared)
        add(concat("argument ", i, ", a ", type_key(arg.type), ", cannot be copied: B got it as A left it"));
    }
    return out;
  }

  const Comparison &of_;
  const RecordedRun &a_, &b_;
  const CallMatching &matching_;
  ReportBuilder builder_;
};

Ref<Report> Comparison::to_report() const { return ComparisonReport(*this).make(); }

void Comparison::save() const {
  const std::string &directory = options_.save_directory;
  if (directory.empty() || !first_.is_found) return;
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) fail(OPD_IO, directory, ": cannot make this directory: ", error.message());
  save_side(a_, first_.a_causes, first_.a, first_.a_value, directory + "/a.npz");
  save_side(b_, first_.b_causes, first_.b, first_.b_value, directory + "/b.npz");
}

}  // namespace opd
