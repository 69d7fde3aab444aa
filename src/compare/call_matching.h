// Which call of one run corresponds to which call of the other.
//
// 1. Calls of one name and with tensors of the same shapes are aligned in their order, as `diff` aligns lines. Those
//    left over are matched in order, also out of sequence: reordered operators. Then the same without the digits at the
//    ends of names, since releases of TVM number kernels differently; then with the sizes of each shape in any order,
//    since a build may have another layout. Integers are no counterparts of floating point numbers: those of a
//    quantised build are on another scale.
// 2. Calls that were matched so, but whose inputs and outputs both differ, are matched anew among calls of the same
//    name and shapes: by equal outputs, then by equal inputs.
// 3. Other calls are matched by equal outputs, the most alike first: renamed operators, and the last of several that
// are
//    fused on the other side.
// 4. TVM names a fused kernel by its parts. So a call is matched with one that ends with the same parts, if both stand
//    between calls that are matched with each other: fused_matmul_add with add. Casts and changes of the layout are no
//    parts that count.
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
  // By calls of A and B: the partner, or kNone.
  const std::vector<int32_t> &of_a() const { return of_a_; }
  const std::vector<int32_t> &of_b() const { return of_b_; }
  MatchedBy how(size_t b) const { return how_[b]; }

 private:
  using Keys = std::vector<uint32_t>;
  enum class Form : uint8_t { kExact, kNumbered, kTransposed };  // of keys, each less strict than the one before

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
  std::vector<MatchedBy> how_;  // by calls of B
};

}  // namespace opd
