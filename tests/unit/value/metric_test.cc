// Units in the names of metrics, which TVM does not know.
#include "value/metric.h"

#include <gtest/gtest.h>

namespace opd {
namespace {

TEST(NamesOfMetrics, HaveAUnitThatMarksTheirKind) {
  EXPECT_EQ(name_with_unit("Peak", MetricKind::kBytes), "Peak (bytes)");
  EXPECT_EQ(name_with_unit("Peak (bytes)", MetricKind::kBytes), "Peak (bytes)");
  EXPECT_EQ(name_with_unit("Clock", MetricKind::kHertz), "Clock (Hz)");
  EXPECT_EQ(name_with_unit("Clock (Hz)", MetricKind::kHertz), "Clock (Hz)");
  EXPECT_EQ(name_with_unit("Clock (Hz)", MetricKind::kBytes), "Clock (Hz) (bytes)");
  for (const MetricKind other : {MetricKind::kNone, MetricKind::kCount, MetricKind::kDuration, MetricKind::kPercent,
                                 MetricKind::kRatio, MetricKind::kString, MetricKind::kRaw}) {
    EXPECT_EQ(name_with_unit("x", other), "x");
    EXPECT_EQ(kind_with_unit("x (bytes)", other), other == MetricKind::kCount ? MetricKind::kBytes : other);
    EXPECT_EQ(kind_with_unit("x (Hz)", other), other == MetricKind::kRatio ? MetricKind::kHertz : other);
    EXPECT_EQ(kind_with_unit("x", other), other);
  }
  EXPECT_EQ(kind_with_unit("x (bytes) ", MetricKind::kCount), MetricKind::kCount) << "it is no suffix";
}

}  // namespace
}  // namespace opd
