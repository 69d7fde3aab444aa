// The spans of a thread that have begun and not ended: 64 that other threads can read, and any number of further ones.
#include "trace/model/open_spans.h"

#include <gtest/gtest.h>

namespace opd {
namespace {

OpenSpan span_of(uint64_t begin, EventKind kind = EventKind::kRange) {
  return {.begin = begin,
          .name = static_cast<NameId>(begin + 1),
          .kind = kind,
          .run = begin + 2,
          .parent_run = begin + 3,
          .stack = static_cast<StackId>(begin + 4)};
}
void push(OpenSpans &spans, uint64_t first, uint64_t last) {
  for (uint64_t begin = first; begin <= last; ++begin) spans.push(span_of(begin));
}
std::vector<uint64_t> open_begins(const OpenSpans &spans) {
  std::vector<uint64_t> found;
  for (const OpenSpan &span : spans.read()) found.push_back(span.begin);
  return found;
}
using Begins = std::vector<uint64_t>;

TEST(OpenSpans, AreFoundByTheirBeginAtAnyDepth) {
  OpenSpans spans;
  push(spans, 1, 130);
  for (uint64_t begin = 1; begin <= 130; ++begin) {
    const uint32_t found = spans.find(begin);
    ASSERT_EQ(found, begin);
    ASSERT_EQ(spans.name(found), begin + 1);
    ASSERT_EQ(spans.stack(found), begin + 4);
  }
  EXPECT_EQ(spans.find(131), 0u);
  EXPECT_EQ(spans.count(), 64u) << "those that others can read";
  EXPECT_EQ(spans.read().size(), 64u);
  const OpenSpan last = spans.at(63);
  EXPECT_EQ(last.begin, 64u);
  EXPECT_EQ(last.name, 65u);
  EXPECT_EQ(last.kind, EventKind::kRange);
  EXPECT_EQ(last.run, 66u);
  EXPECT_EQ(last.parent_run, 67u);
  EXPECT_EQ(last.stack, 68u);
}

TEST(OpenSpans, MayEndBeforeThoseWithinThem) {
  for (const uint64_t count : {5, 64, 65, 70}) {
    OpenSpans spans;
    push(spans, 1, count);
    spans.pop(spans.find(count - 2));
    EXPECT_EQ(spans.find(count - 2), 0u);
    EXPECT_EQ(spans.find(count - 1), count - 1) << "the places of the others stay";
    spans.pop(spans.find(count - 1));
    EXPECT_EQ(spans.find(count), count);
    spans.pop(spans.find(count));
    for (uint64_t begin = count - 2; begin <= count; ++begin) EXPECT_EQ(spans.find(begin), 0u);
    EXPECT_EQ(spans.find(count - 3), count - 3);
    spans.push(span_of(500));
    EXPECT_EQ(spans.find(500), count - 2) << "their places are free";
  }
}

TEST(OpenSpans, EndWithTheirRun) {
  for (const uint64_t count : {10, 80}) {
    OpenSpans spans;
    push(spans, 1, count);
    spans.cut(1000);
    EXPECT_EQ(spans.find(count), count) << "there is none of this begin";
    spans.cut(8);
    EXPECT_EQ(open_begins(spans), (Begins{1, 2, 3, 4, 5, 6, 7}));
    spans.push(span_of(9));
    EXPECT_EQ(spans.find(9), 8u);
  }
}

TEST(OpenSpans, HaveAnInnermostRun) {
  OpenSpans spans;
  EXPECT_EQ(spans.innermost_run(), 0u);
  spans.push(span_of(10));
  EXPECT_EQ(spans.innermost_run(), 0u) << "a range is no run";
  spans.push(span_of(20, EventKind::kRun));
  spans.push(span_of(30, EventKind::kRun));
  spans.push(span_of(40));
  EXPECT_EQ(spans.innermost_run(), 32u);
  spans.pop(spans.find(30));
  EXPECT_EQ(spans.innermost_run(), 22u);
}

TEST(OpenSpans, AreSuspiciousAtEachPowerOfTwoFrom64On) {
  OpenSpans spans;
  std::vector<uint64_t> suspicious;
  for (uint64_t begin = 1; begin <= 600; ++begin) {
    spans.push(span_of(begin));
    if (spans.is_suspicious()) suspicious.push_back(begin);
  }
  EXPECT_EQ(suspicious, (Begins{64, 128, 256, 512}));
}

TEST(OpenSpans, AreForgottenFromTheOutermostOn) {
  OpenSpans spans;
  push(spans, 1, 80);
  spans.push(span_of(81, EventKind::kRun));
  spans.pop(spans.find(75));
  spans.drop_before(63);
  EXPECT_EQ(open_begins(spans), (Begins{63, 64, 65, 66, 67, 68, 69, 70, 71, 72, 73, 74, 76, 77, 78, 79, 80, 81}));
  EXPECT_EQ(spans.find(81), 18u);
}

TEST(OpenSpans, AreForgottenInPartWhenThereAreTooMany) {
  constexpr uint64_t kLimit = 1 << 18, kForgotten = (kLimit - 64) / 2;
  OpenSpans spans;
  push(spans, 1, kLimit);
  EXPECT_TRUE(spans.is_full());
  EXPECT_EQ(spans.num_forgotten_since(1), kForgotten);
  EXPECT_EQ(spans.num_forgotten_since(74), kForgotten - 9) << "the first forgotten one is 65";
  EXPECT_EQ(spans.begin_after_forgotten(), kForgotten + 65);
  spans.push(span_of(kLimit + 1));
  EXPECT_FALSE(spans.is_full());
  EXPECT_EQ(spans.find(kLimit + 1), kLimit - kForgotten + 1);
  EXPECT_EQ(spans.find(kForgotten + 65), 65u);
  EXPECT_EQ(spans.find(kForgotten + 64), 0u);
  EXPECT_EQ(spans.find(64), 64u);
}

TEST(OpenSpans, CanBeTakenByOtherThreads) {
  OpenSpans spans;
  push(spans, 1, 80);
  spans.push(span_of(81, EventKind::kRun));
  for (const uint64_t begin : {3, 64, 65, 80}) {
    const auto taken = spans.take_range(begin);
    ASSERT_TRUE(taken) << begin;
    EXPECT_EQ(taken->name, begin + 1);
    EXPECT_EQ(taken->stack, begin + 4);
    EXPECT_EQ(spans.find(begin), 0u);
    EXPECT_FALSE(spans.take_range(begin)) << "only once";
  }
  EXPECT_FALSE(spans.take_range(81)) << "a run";
  spans.pop(spans.find(81));
  spans.push(span_of(82));
  EXPECT_EQ(spans.find(82), 80u) << "the place of a span that was taken";
}

}  // namespace
}  // namespace opd
