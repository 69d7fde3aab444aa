// What the columns of a report mean: kinds of cells, how the cells of several calls join, which rows are no calls.
// Files name columns and nothing more, so names become these fields once, where a column is made. Readers of a report
// look at the fields, never at names.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace opd {

enum class MetricKind : uint8_t {
  kNone,      // no such metric in this row
  kCount,     // int64
  kDuration,  // µs
  kPercent,   // 0 to 100
  kRatio,
  kString,
  kBytes,  // int64
  kHertz,
  kRaw,  // JSON text of a kind that this version does not know, kept so that it survives a round trip
};

// The columns of a call that TVM's reports begin with.
inline constexpr std::string_view kTvmColumns[] = {"Name",   "Duration (us)", "Percent",
                                                   "Device", "Count",         "Argument Shapes"};

// TVM knows neither bytes nor hertz, and aborts on what it does not know: its forms hold them as count and ratio, and
// the end of their names tells what they are. These two add that end where it lacks, and read it.
std::string name_with_unit(std::string_view name, MetricKind kind);
MetricKind kind_with_unit(std::string_view name, MetricKind kind);
std::string_view kind_name(MetricKind kind);  // as TVM's JSON calls it; "" for kinds without a name

// How the cells of several calls become one.
enum class Join : uint8_t {
  kByKind,  // counts, bytes, durations and percentages are added, ratios and hertz averaged, text is kept if all agree
  kSame,    // kept if all agree: when a call began, in which run
  kMin,
  kMax,
  kRatio,  // the ratio of two columns' sums
};

struct ColumnMeaning {
  Join join = Join::kByKind;
  bool includes_inner = true;  // a call's cell holds what the calls within it took
  bool is_shown = true;        // in tables
  bool is_minor = false;       // shown in a summary only where room is left
  // Of kRatio: scale * sum(over) / sum(under). Where the report has no column `over`, a call's share of its sum follows
  // from its ratio and its cell of `under`.
  std::string_view over = {}, under = {};
  double scale = 1;
};
ColumnMeaning meaning_of_column(std::string_view name);

// Columns that this library writes beside TVM's.
inline constexpr std::string_view kRowKindColumn = "Row Kind", kDepthColumn = "Depth", kSelfColumn = "Self (us)",
                                  kErrorColumn = "Error", kMedianColumn = "Median (us)", kMinColumn = "Min (us)",
                                  kMaxColumn = "Max (us)", kPeakShareColumn = "Percent of Peak";

// Entries of the configuration that a reader must know before the numbers; the first is followed by the collector's
// name.
inline constexpr std::string_view kCollectorErrorEntry = "Collector error: ", kDroppedEntry = "Dropped calls",
                                  kNoteEntry = "Note";

// Rows that are no calls, but what a profile computes beside them.
enum class RowKind : uint8_t {
  kCall,
  kDispatch,  // the rest of the total
  kProfiler,  // what recording took
  kBuiltins,  // all builtins together
};
std::string_view row_kind_name(RowKind kind);  // in kRowKindColumn; "" for calls
RowKind row_kind_of(std::string_view name);    // kCall for a name that is not known
// A text table has no column for the kind: there the name of the row is all that is left of it.
std::string_view computed_row_title(RowKind kind);

}  // namespace opd
