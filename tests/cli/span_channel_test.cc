// Spans between a session's process and the server. The other side may be a program of a client.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "cli/serve/session.h"

namespace opd::cli {
namespace {

const std::string kContext = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333";  // and a digit, "-01"

struct SpanChannelTest : testing::Test {
  // As the server has it: zeros.
  const std::unique_ptr<char[]> memory = std::make_unique<char[]>(sizeof(SpanChannel) + alignof(SpanChannel));
  SpanChannel &channel = *new (aligned()) SpanChannel;
  uint64_t taken = 0;

  void *aligned() const {
    void *at = memory.get();
    size_t size = sizeof(SpanChannel) + alignof(SpanChannel);
    return std::align(alignof(SpanChannel), sizeof(SpanChannel), at, size);
  }
  void note(const std::string &name, char number, int64_t end_ns, const char *error = nullptr, char flag = '1') const {
    const std::string context = kContext + number + "-0" + flag;
    const char *const label = "opdyno.kind", *const kind = "call";
    opd_telemetry_value span;
    opd_telemetry_value_init(&span);
    span.name = name.c_str(), span.traceparent = context.c_str(), span.parent_span = "00f067aa0ba902b7";
    span.label_names = &label, span.label_values = &kind, span.num_label_names = 1;
    span.begin_ns = 5, span.end_ns = end_ns, span.error = error, span.span_kind = 2;
    channel.note(span);
  }
  std::vector<std::string> take() {
    std::vector<std::string> names;
    channel.take(taken, [&](const SharedSpan &span) { names.emplace_back(span.name.data()); });
    return names;
  }
  std::vector<std::string> open() const {
    std::vector<std::string> names;
    channel.take_open([&](const SharedSpan &span) { names.emplace_back(span.name.data()); });
    return names;
  }
};

using SpanNames = std::vector<std::string>;

TEST_F(SpanChannelTest, SpansArriveOnceAndWhole) {
  note("a", '1', 0);
  EXPECT_EQ(take(), SpanNames{}) << "it has not ended";
  note("a", '1', 7, "no luck");
  std::vector<SharedSpan> spans;
  channel.take(taken, [&](const SharedSpan &span) { spans.push_back(span); });
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].traceparent.data(), kContext + "1-01");
  EXPECT_STREQ(spans[0].parent.data(), "00f067aa0ba902b7");
  EXPECT_STREQ(spans[0].kind.data(), "call");
  EXPECT_STREQ(spans[0].error.data(), "no luck");
  EXPECT_TRUE(spans[0].has_failed);
  EXPECT_EQ(spans[0].begin_ns, 5);
  EXPECT_EQ(spans[0].end_ns, 7);
  EXPECT_EQ(spans[0].span_kind, 2);
  EXPECT_EQ(take(), SpanNames{});
}

TEST_F(SpanChannelTest, SpansWithoutRoomAreCounted) {
  for (size_t i = 0; i < SpanChannel::room + 3; ++i) note("s" + std::to_string(i), '1', 6);
  EXPECT_EQ(channel.num_dropped(), 3u);
  SpanNames names = take();
  ASSERT_EQ(names.size(), SpanChannel::room);
  EXPECT_EQ(names.front(), "s0");
  EXPECT_EQ(names.back(), "s" + std::to_string(SpanChannel::room - 1));
  note("again", '1', 6);
  EXPECT_EQ(take(), SpanNames{"again"});
  EXPECT_EQ(channel.num_dropped(), 3u);
}

TEST_F(SpanChannelTest, UnsampledSpansTakeNoRoom) {
  note("a", '1', 6, nullptr, '0');
  note("b", '1', 6, nullptr, 'a');
  note("c", '1', 6, nullptr, 'b');
  EXPECT_EQ(take(), SpanNames{"c"});
}

TEST_F(SpanChannelTest, ListsSpansThatAreOpenAtTheEnd) {
  note("session", '1', 0);
  note("session again", '1', 0);
  note("call", '2', 0);
  note("third", '3', 0);
  EXPECT_EQ(open(), (SpanNames{"call", "session again"}));
  note("call", '2', 6);
  EXPECT_EQ(open(), SpanNames{"session again"});
  note("next call", '4', 0);
  EXPECT_EQ(open(), (SpanNames{"next call", "session again"}));
}

TEST_F(SpanChannelTest, LongTextsAreCut) {
  note(std::string(1000, 'n'), '1', 6, std::string(1000, 'e').c_str());
  std::vector<SharedSpan> spans;
  channel.take(taken, [&](const SharedSpan &span) { spans.push_back(span); });
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].name.data(), std::string(127, 'n'));
  EXPECT_EQ(spans[0].error.data(), std::string(255, 'e'));
}

TEST_F(SpanChannelTest, CorruptContentsAreReadWithinBounds) {
  std::memset(static_cast<void *>(&channel), 0xFF, sizeof channel);
  size_t count = 0;
  const auto look = [&](const SharedSpan &span) {
    ++count;
    EXPECT_EQ(strnlen(span.name.data(), span.name.size()), span.name.size() - 1);
    EXPECT_EQ(strnlen(span.error.data(), span.error.size()), span.error.size() - 1);
    EXPECT_EQ(strnlen(span.traceparent.data(), span.traceparent.size()), span.traceparent.size() - 1);
    EXPECT_EQ(strnlen(span.parent.data(), span.parent.size()), span.parent.size() - 1);
    EXPECT_EQ(strnlen(span.kind.data(), span.kind.size()), span.kind.size() - 1);
  };
  channel.take(taken, look);
  EXPECT_EQ(count, SpanChannel::room);
  channel.take_open(look);
  EXPECT_EQ(count, SpanChannel::room + 2);
}

}  // namespace
}  // namespace opd::cli
