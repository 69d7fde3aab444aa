// A diff for people: a table, open questions, failures. All of it is read from the diff's report.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "cli/support/face.h"
#include "cli/support/failure.h"
#include "cli/support/screen.h"

namespace opd::cli {

// A row of a diff. Missing numbers are NaN.
struct DiffRow {
  std::string name, shapes, device, kind, verdict;
  double before, after, change, low, high;  // times in µs; the others are shares
  double effect, share;                     // effect: on the total; share: of the total
  double runs_before, runs_after, calls_before, calls_after, runs_needed, autocorrelation;
  bool decides, fails;

  bool is_total() const { return kind == "total"; }
  bool is_tested() const { return runs_before > 0 && runs_after > 0; }
  bool is_changed() const { return verdict != "same" && verdict != "undecided"; }
  std::string label() const;  // name, shapes and device, safe for the terminal
  std::string shown;          // the label; on a terminal a shorter text, if it identifies the row
};

class DiffView {
 public:
  DiffView(Report diff, const opd_diff_options &options);  // `options` are those of the diff

  const Report &report() const { return report_; }
  const std::vector<DiffRow> &rows() const { return rows_; }  // the total first, then the largest changes of it
  const DiffRow &total() const { return rows_.front(); }  // a single operator is the total; rows() must not be empty

  std::string table(TableStyle style) const;  // text for a terminal fits its width
  // The part of the diff that fits the terminal's lines. It ends with the total and `sentence`.
  std::string on_screen(std::string_view sentence) const;
  // Lines below the table: operators with another number of calls; operators that may be slower by more than the limit,
  // but are undecided, with the number of runs needed. "" if there are none.
  std::string notes(TableStyle style) const;
  // Why the sides cannot be compared, if one has no runs; else "".
  std::string obstacle() const;
  // Prints the failing rows to standard error, for Exit::mismatch. Exit::usage if there is a limit but nothing to judge:
  // a check that cannot fail must not pass.
  Exit judge(std::string_view command) const;

 private:
  Report report_;
  std::vector<DiffRow> rows_;
  double limit_;  // --fail-above, or else --min-effect
  bool is_judged_;
};

std::string percent_text(double share);  // "+2.10 %"
std::string interval_text(const DiffRow &row);

}  // namespace opd::cli
