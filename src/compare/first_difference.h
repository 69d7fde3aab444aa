// Finds the first difference between two runs, and the call that causes it.
#pragma once
#include <string>

#include "compare/call_matching.h"

namespace opd {

struct FirstDifference {
  bool is_found = false;
  int32_t a = CallMatching::kNone, b = CallMatching::kNone;  // the matched calls; kNone: a result that no call wrote
  uint32_t a_value = kNoValue, b_value = kNoValue;
  std::string where;  // "softmax1", "result 0"
  std::string how;    // "max abs 3.1e-3 (tolerance 1e-5)"
  // The calls of which one is the cause, in their order. Their inputs agree, as far as they can be compared.
  std::vector<size_t> a_causes, b_causes;
  std::string cause;  // "caused by matmul3 whose inputs agree", "its input 1 differs already: a constant"

  std::string sentence() const;
};

FirstDifference find_first_difference(ValueComparer &comparer, const CallMatching &matching);

std::string shown_number(double number);  // "3.1e-3", "0.25"

}  // namespace opd
