// A comparison of two programs for people: the sentence and the table of operators, read from its report.
#pragma once
#include <string>

#include "cli/support/face.h"
#include "cli/support/text_table.h"

namespace opd::cli {

class ComparisonView {
 public:
  explicit ComparisonView(const Report &report) : report_(report) {}

  std::string verdict() const { return entry("Verdict"); }
  std::string note() const { return entry("Note"); }
  bool is_equal() const { return number("Equal") > 0; }
  bool has_failure() const { return !entry("Failure of A").empty() || !entry("Failure of B").empty(); }
  // All operators; the text for a terminal fits its width.
  std::string table(TableStyle style) const;

 private:
  std::string entry(const char *name) const;  // an entry of the configuration; "" if there is none
  double number(const char *name) const;

  const Report &report_;
};

}  // namespace opd::cli
