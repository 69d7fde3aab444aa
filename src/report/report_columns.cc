#include "report/report_columns.h"

#include <array>

#include "base/error.h"

namespace opd {

std::string_view kind_name(MetricKind kind) {
  static constexpr std::string_view kNames[] = {"",       "count", "microseconds", "percent", "ratio",
                                                "string", "bytes", "hertz",        ""};
  return kNames[static_cast<size_t>(kind)];
}

namespace {

struct Known {
  std::string_view name;
  ColumnMeaning meaning;
};

constexpr ColumnMeaning joined_as(Join join) { return {.join = join}; }
constexpr ColumnMeaning minor_joined_as(Join join) { return {.join = join, .is_minor = true}; }
constexpr ColumnMeaning kOfCallAlone{.includes_inner = false, .is_minor = true};
constexpr ColumnMeaning ratio(std::string_view over, std::string_view under, double scale) {
  return {
      .join = Join::kRatio, .includes_inner = false, .is_minor = true, .over = over, .under = under, .scale = scale};
}

constexpr Known kKnown[] = {
    {"Count", kOfCallAlone},
    {kSelfColumn, kOfCallAlone},
    {kRecursiveColumn, kOfCallAlone},
    {kDeviceColumn, {.is_of_devices = true}},
    {kSelfDeviceColumn, {.includes_inner = false, .is_minor = true, .is_of_devices = true}},
    {"FLOP", kOfCallAlone},
    {"Tensors (bytes)", kOfCallAlone},
    {"Start (us)", minor_joined_as(Join::kSame)},
    {"Run", minor_joined_as(Join::kSame)},
    {"Thread ID", minor_joined_as(Join::kSame)},
    {"Stream", minor_joined_as(Join::kSame)},
    {"Launch Thread ID", minor_joined_as(Join::kSame)},
    {"Launched In", minor_joined_as(Join::kSame)},
    {kDepthColumn, {.join = Join::kSame, .is_shown = false}},
    {kRowKindColumn, {.join = Join::kSame, .is_shown = false}},
    {kMedianColumn, joined_as(Join::kSame)},
    {kMinColumn, minor_joined_as(Join::kMin)},
    {kMaxColumn, minor_joined_as(Join::kMax)},
    {"Peak (bytes)", joined_as(Join::kMax)},
    {"GFLOP/s", ratio("FLOP", "Duration (us)", 1e-3)},
    {"Arithmetic Intensity (FLOP/byte)", ratio("FLOP", "Tensors (bytes)", 1)},
    {kPeakShareColumn, ratio("", "Duration (us)", 1)},
};

struct KindNames {
  std::string_view name, title;
};
constexpr std::array<KindNames, 4> kRowKinds = {
    {{"", ""}, {"dispatch", "(dispatch)"}, {"profiler", "(profiler)"}, {"builtins", "(builtins)"}}};

}  // namespace

ColumnMeaning meaning_of_column(std::string_view name) {
  for (const Known &known : kKnown)
    if (known.name == name) return known.meaning;
  return {};
}

std::string_view row_kind_name(RowKind kind) { return kRowKinds[static_cast<size_t>(kind)].name; }

RowKind row_kind_of(std::string_view name) {
  for (size_t i = 1; i < kRowKinds.size(); ++i)
    if (kRowKinds[i].name == name) return static_cast<RowKind>(i);
  return RowKind::kCall;
}

std::string_view computed_row_title(RowKind kind) { return kRowKinds[static_cast<size_t>(kind)].title; }

}  // namespace opd
