// The meaning of a report's columns: the kinds of their cells, how cells of several calls are joined, and which rows
// are not calls. Files have only the names of columns. So a name is mapped to these fields once, when its column is
// made. Readers of a report use the fields, never the names.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "value/metric.h"

namespace opd {

// The first columns of calls in TVM's reports.
inline constexpr std::string_view kTvmColumns[] = {"Name",   "Duration (us)", "Percent",
                                                   "Device", "Count",         "Argument Shapes"};

std::string_view kind_name(MetricKind kind);  // name in TVM's JSON; "" for kinds without a name

// How the cells of several calls are joined.
enum class Join : uint8_t {
  kByKind,  // adds counts, bytes, durations and percentages, averages ratios and hertz, keeps text if all agree
  kSame,    // keeps the value if all agree, such as the begin of a call or its run
  kMin,
  kMax,
  kRatio,  // the ratio of two columns' sums
};

struct ColumnMeaning {
  Join join = Join::kByKind;
  bool includes_inner = true;  // a call's cell includes its nested calls
  bool is_shown = true;        // shown in tables
  bool is_minor = false;       // shown in a summary only if there is room
  bool is_of_devices = false;  // rows of kDeviceWorkKind also have cells; if such rows exist, only they are summed
  // For kRatio: scale * sum(over) / sum(under). If the report has no column `over`, a call's part of that sum is
  // computed from its ratio and its cell of `under`.
  std::string_view over = {}, under = {};
  double scale = 1;
};
ColumnMeaning meaning_of_column(std::string_view name);

// Columns of this library, in addition to TVM's.
inline constexpr std::string_view kRowKindColumn = "Row Kind", kDepthColumn = "Depth", kSelfColumn = "Self (us)",
                                  kRecursiveColumn = "Recursive Calls", kErrorColumn = "Error",
                                  kMedianColumn = "Median (us)", kMinColumn = "Min (us)", kMaxColumn = "Max (us)",
                                  kPeakShareColumn = "Percent of Peak", kDeviceColumn = "Device Duration (us)",
                                  kSelfDeviceColumn = "Self Device Duration (us)", kKindColumn = "Kind";
// Value in kKindColumn: device work, which is also included in the row of the call that submitted it.
inline constexpr std::string_view kDeviceWorkKind = "device";

// Entries of the configuration that readers must see before the numbers, and a collector's note. If an entry ends with
// a colon, a collector's name follows.
inline constexpr std::string_view kCollectorErrorEntry = "Collector error: ", kDroppedEntry = "Dropped calls",
                                  kNoteEntry = "Note", kCollectorNoteEntry = "Collector note: ";

// Kinds of rows. All except kCall are computed by a profile.
enum class RowKind : uint8_t {
  kCall,
  kDispatch,  // the remainder of the total
  kProfiler,  // the time of recording
  kBuiltins,  // sum of all builtins
};
std::string_view row_kind_name(RowKind kind);  // text in kRowKindColumn; "" for calls
RowKind row_kind_of(std::string_view name);    // kCall for unknown names
// The row's name in a text table, which has no column for the kind.
std::string_view computed_row_title(RowKind kind);

}  // namespace opd
