// Compares values of two runs, each pair once. If two shapes have the same sizes in another order, one value may be the
// other one transposed, as in programs of other layouts (NCHW, NHWC). Then the most alike transposition counts.
#pragma once
#include <functional>
#include <unordered_map>

#include "compare/call_recorder.h"
#include "compare/difference.h"

namespace opd {

enum class Agreement : uint8_t {
  kEqual,    // bit for bit
  kAgrees,   // within the tolerance
  kUnknown,  // a value was not kept, and the bits differ
  kDiffers
};

struct ComparedValue {
  Agreement agreement = Agreement::kEqual;
  bool has_other_shape = false;  // the numbers of elements differ, so nothing was compared
  Difference difference;
};

class ValueComparer {
 public:
  // `check_stop` throws to end the comparison.
  ValueComparer(const RecordedRun &a, const RecordedRun &b, const Tolerances &tolerances,
                std::function<void()> check_stop)
      : a_(a), b_(b), tolerances_(tolerances), check_stop_(std::move(check_stop)) {}

  const RecordedRun &a() const { return a_; }
  const RecordedRun &b() const { return b_; }
  const ComparedValue &compare(uint32_t a, uint32_t b);
  bool agrees(uint32_t a, uint32_t b) { return compare(a, b).agreement <= Agreement::kAgrees; }

  // The pairs of values that a call of A and one of B have written.
  std::vector<std::pair<uint32_t, uint32_t>> outputs(const RecordedCall &a, const RecordedCall &b) const;
  Agreement compare_outputs(const RecordedCall &a, const RecordedCall &b);  // returns the worst agreement
  double distance(const RecordedCall &a, const RecordedCall &b);  // the largest distance between numbers of the outputs
  // Whether all arguments are equal before the call. False if the calls have different numbers of tensors.
  bool inputs_agree(const RecordedCall &a, const RecordedCall &b);
  bool inputs_agree_in_any_order(const RecordedCall &a, const RecordedCall &b);

 private:
  ComparedValue compare_contents(const Contents &a, const Contents &b) const;
  void compare_layouts(const Contents &a, std::string_view a_bytes, const Contents &b, std::string_view b_bytes,
                       Difference &best) const;

  const RecordedRun &a_, &b_;
  const Tolerances &tolerances_;
  const std::function<void()> check_stop_;
  std::unordered_map<uint64_t, ComparedValue> known_;
};

}  // namespace opd
