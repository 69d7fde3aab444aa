// Records the calls of two runs, compares their values, matches their calls, and finds the first difference.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "compare/difference.h"
#include "compare/value_store.h"
#include "vm/vm.h"

namespace opd {

// ---- call_recorder.cc
//
// Records the calls of one run with the values that they read and write, which is the data flow.
//
// The VM's instrument shows each call before and after it. Kernels get their outputs as arguments, and no flag marks
// these. So an argument counts as written if its memory had no contents yet, or if its contents changed. The memory
// plan of a program reuses memory. So values are identified by the contents of an address at the moment of the call,
// not by the address.

inline constexpr uint32_t kNoValue = UINT32_MAX;

// The origin of a value that no recorded call wrote.
struct Origin {
  enum Kind : uint8_t { kCall, kParameter, kConstant, kUnseen } kind = kCall;
  int64_t index = 0;  // number of the call, the parameter or the constant
};

struct RecordedValue {
  Contents contents;
  Origin origin;
};

// One tensor of a call: an argument, an item of a tuple among them, or a part of the result.
struct CallTensor {
  std::string type;            // "float32[2, 16]"
  bool is_real = false;        // its elements are floating point numbers
  uint32_t before = kNoValue;  // kNoValue if its memory had no contents
  uint32_t after = kNoValue;
  bool is_written = false;
  bool is_result = false;
};

struct RecordedCall {
  std::string name;
  std::vector<CallTensor> slots;
  uint32_t occurrence = 0;  // number among the calls of the name, from 0 on
};

struct RecordedRun {
  std::vector<RecordedValue> values;
  std::vector<RecordedCall> calls;
  std::map<std::string, uint32_t> num_calls;  // key: name
  Value result;
  std::vector<CallTensor> results;  // the tensors of the result, in order; only `after` is set
  Ref<Error> failure;               // the error that ended the run; null if it returned
  std::string note;                 // about calls that are not shown; "" if none
  uint64_t num_dropped = 0;         // number of calls beyond the limit

  const Contents &contents(uint32_t value) const { return values[value].contents; }
  const Origin &origin(uint32_t value) const { return values[value].origin; }
  std::string label(size_t call) const;  // "matmul", or "matmul (call 2 of 4)"
};

inline constexpr size_t kMostRecordedCalls = 1'000'000;

// Calls the function with `args`, and records the calls that it makes. The program may write the tensors of `args`.
RecordedRun record_calls(Vm &vm, ValueStore &store, std::string_view function, Args args, const CallSettings &settings);

// ---- value_comparer.cc
//
// Compares values of two runs, each pair once. If two shapes have the same sizes in another order, one value may be the
// other one transposed, as in programs of other layouts (NCHW, NHWC). Then the most alike transposition counts.

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

// ---- call_matching.cc
//
// Matches the calls of one run with those of the other.
//
// 1. Calls with the same name and shapes are aligned in order, as `diff` aligns lines. The remaining ones are matched
//    in order, also out of sequence: reordered operators. This is repeated without the digits at the ends of names,
//    because releases of TVM number kernels differently. It is repeated again with the sizes of each shape in any
//    order, because a build may have another layout. Integers are never matched with floating point numbers: those of a
//    quantised build are on another scale.
// 2. If both the inputs and the outputs of matched calls differ, they are matched again among calls of the same name
//    and shapes: by equal outputs, then by equal inputs.
// 3. Other calls are matched by equal outputs, the most alike first: renamed operators, and the last of several
//    operators that are fused on the other side.
// 4. TVM names a fused kernel by its parts. A call is matched with one that ends with the same parts, if both are
//    between the same matched calls: fused_matmul_add with add. Casts and layout changes do not count as parts.
// 5. Calls that compute the same input of matched calls, or the same result, are matched: fused or renamed operators
//    whose outputs differ.
enum class MatchedBy : uint8_t { kNothing, kName, kOrder, kValue, kDataFlow };
std::string_view match_name(MatchedBy how);

struct CallMatching {
  static constexpr int32_t kNone = -1;
  // Index: call of A or B; value: the partner, or kNone.
  std::vector<int32_t> of_a, of_b;
  std::vector<MatchedBy> how;  // index: call of B
};
CallMatching match_calls(ValueComparer &comparer);

// The first difference between two runs, and the call that causes it.
struct FirstDifference {
  bool is_found = false;
  int32_t a = CallMatching::kNone, b = CallMatching::kNone;  // the matched calls; kNone: a result that no call wrote
  uint32_t a_value = kNoValue, b_value = kNoValue;
  std::string where;  // "softmax1", "result 0"
  std::string how;    // "max abs 3.1e-3 (tolerance 1e-5)"
  // The calls that may be the cause, in their order. Their inputs agree, as far as they can be compared.
  std::vector<size_t> a_causes, b_causes;
  std::string cause;  // "caused by matmul3 whose inputs agree", "its input 1 differs already: a constant"

  std::string sentence() const {
    return concat("first difference at ", where, ": ", how, cause.empty() ? "" : ", ", cause);
  }
};

FirstDifference find_first_difference(ValueComparer &comparer, const CallMatching &matching);

std::string shown_number(double number);  // "3.1e-3", "0.25"

}  // namespace opd
