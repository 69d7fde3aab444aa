// The meaning of a report's columns: kinds of cells, how cells of several calls join, which rows are not calls. Files
// contain only names of columns, so a name is translated to these fields once, when its column is made. Readers of a
// report use the fields, never the names.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "value/metric.h"

namespace opd {

// TVM's reports begin with these columns of calls.
inline constexpr std::string_view kTvmColumns[] = {"Name",   "Duration (us)", "Percent",
                                                   "Device", "Count",         "Argument Shapes"};

std::string_view kind_name(MetricKind kind);  // as TVM's JSON calls it; "" for kinds without a name

// How the cells of several calls become one.
enum class Join : uint8_t {
  kByKind,  // counts, bytes, durations and percentages are added, ratios and hertz averaged, text is kept if all agree
  kSame,    // kept if all agree, such as the begin of a call or its run
  kMin,
  kMax,
  kRatio,  // the ratio of two columns' sums
};

struct ColumnMeaning {
  Join join = Join::kByKind;
  bool includes_inner = true;  // a call's cell includes the calls within it
  bool is_shown = true;        // in tables
  bool is_minor = false;       // shown in a summary only if there is room
  bool is_of_devices = false;  // also cells of rows of kDeviceWorkKind: those rows alone are summed, if there are any
  // For kRatio: scale * sum(over) / sum(under). If the report has no column `over`, a call's part of that sum is
  // computed from its ratio and its cell of `under`.
  std::string_view over = {}, under = {};
  double scale = 1;
};
ColumnMeaning meaning_of_column(std::string_view name);

// Columns of this library, beside TVM's.
inline constexpr std::string_view kRowKindColumn = "Row Kind", kDepthColumn = "Depth", kSelfColumn = "Self (us)",
                                  kRecursiveColumn = "Recursive Calls", kErrorColumn = "Error",
                                  kMedianColumn = "Median (us)", kMinColumn = "Min (us)", kMaxColumn = "Max (us)",
                                  kPeakShareColumn = "Percent of Peak", kDeviceColumn = "Device Duration (us)",
                                  kSelfDeviceColumn = "Self Device Duration (us)", kKindColumn = "Kind";
// In kKindColumn: work of a device, which is also in the row of the call that gave it to the device.
inline constexpr std::string_view kDeviceWorkKind = "device";

// Entries of the configuration that a reader must see before the numbers, and a collector's note. A collector's name
// follows those that end with a colon.
inline constexpr std::string_view kCollectorErrorEntry = "Collector error: ", kDroppedEntry = "Dropped calls",
                                  kNoteEntry = "Note", kCollectorNoteEntry = "Collector note: ";

// Rows that are not calls, but computed by a profile.
enum class RowKind : uint8_t {
  kCall,
  kDispatch,  // the rest of the total
  kProfiler,  // the time of recording
  kBuiltins,  // all builtins together
};
std::string_view row_kind_name(RowKind kind);  // in kRowKindColumn; "" for calls
RowKind row_kind_of(std::string_view name);    // kCall for unknown names
// A text table has no column for the kind, so the row's name stands for it.
std::string_view computed_row_title(RowKind kind);

}  // namespace opd
