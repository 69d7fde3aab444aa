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
#pragma once
#include "compare/value_comparer.h"

namespace opd {

enum class MatchedBy : uint8_t { kNothing, kName, kOrder, kValue, kDataFlow };
std::string_view match_name(MatchedBy how);

class CallMatching {
 public:
  explicit CallMatching(ValueComparer &comparer);

  static constexpr int32_t kNone = -1;
  // Index: call of A or B; value: the partner, or kNone.
  const std::vector<int32_t> &of_a() const { return of_a_; }
  const std::vector<int32_t> &of_b() const { return of_b_; }
  MatchedBy how(size_t b) const { return how_[b]; }

 private:
  using Keys = std::vector<uint32_t>;
  enum class Form : uint8_t { kExact, kNumbered, kTransposed };  // forms of keys, from strict to loose

  void match(size_t a, size_t b, MatchedBy how);
  void make_keys(Form form);
  void align();
  void align_by_edits(size_t a_begin, size_t a_end, size_t b_begin, size_t b_end);
  void match_in_order(MatchedBy how);
  void repair();
  void repair_group(std::vector<size_t> as, std::vector<size_t> bs);
  void match_by_value();
  std::optional<size_t> most_alike(const std::vector<size_t> &candidates, size_t expected, const RecordedCall &call);
  void match_by_parts();
  void match_by_data_flow();
  bool match_producers(uint32_t a_value, uint32_t b_value);

  ValueComparer &comparer_;
  const RecordedRun &a_, &b_;
  Keys a_keys_, b_keys_;
  std::vector<int32_t> of_a_, of_b_;
  std::vector<MatchedBy> how_;  // index: call of B
};

}  // namespace opd
