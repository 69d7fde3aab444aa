// The picture of what changed: which boxes it has, what their titles and colours say.
#include <gtest/gtest.h>

#include <map>
#include <regex>

#include "analysis/formats/trace_formats.h"
#include "support/trace_builder.h"

namespace opd {
namespace {

struct Times {
  uint64_t slow, same, other;
};
// Parts of the run "main", whose ranges take these times in ns, a few more in some parts.
Ref<Trace> trace_of(const Times &times, const char *other, uint64_t parts = 12) {
  TraceBuilder built;
  for (uint64_t i = 0; i < parts; ++i) {
    uint64_t at = i * 1'000'000;
    const auto add = [&](uint64_t length, const char *name, uint64_t factor) {
      built.range(at, at + length + (i * factor) % 5, name);
      at += length + 10;
    };
    const uint64_t begin = at;
    add(times.slow, "slow", 3), add(times.same, "same", 2), add(times.other, other, 1);
    built.run(i + 1, begin, at, name_id("main"));
  }
  TraceParts made = built.parts({{0, 0}, 1});
  made.processes[0].name = other;
  return make_object<Trace>(std::move(made));
}

std::string picture(const Ref<Trace> &before, const Ref<Trace> &after) {
  StringSink sink;
  write_flame_diff_svg(*before, *after, sink);
  return sink.take();
}

struct Box {
  std::string style, title;
  double width;
};
std::map<std::string, Box> boxes(const std::string &svg) {
  const std::regex box(
      "<g class=\"([^\"]*)\"><title>([^\n]*)\n([^<]*)</title><rect x=\"[^\"]*\" y=\"[^\"]*\" width=\"([^\"]*)\"");
  std::map<std::string, Box> found;
  for (std::sregex_iterator at(svg.begin(), svg.end(), box), end; at != end; ++at)
    found[(*at)[2]] = {(*at)[1], (*at)[3], std::stod((*at)[4])};
  return found;
}
bool has(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

TEST(FlameDiff, ColoursWhatChangedItself) {
  const std::string svg = picture(trace_of({20'000, 50'000, 10'000}, "old"), trace_of({30'000, 50'000, 10'000}, "new"));
  const auto found = boxes(svg);
  ASSERT_EQ(found.size(), 6u) << svg;
  EXPECT_EQ(found.at("slow").style, "s2") << "10 µs of 25 are 40 %";
  EXPECT_TRUE(has(found.at("slow").title, "before 20.00 µs, after 30.00 µs (+50.0 %)")) << found.at("slow").title;
  EXPECT_TRUE(has(found.at("slow").title, ", regression, by +")) << found.at("slow").title;
  EXPECT_EQ(found.at("same").style, "z");
  EXPECT_TRUE(has(found.at("same").title, ", same, by ")) << found.at("same").title;
  EXPECT_EQ(found.at("main").style, "z") << "it changed by what is within it";
  EXPECT_EQ(found.at("new").style, "s3 o");
  EXPECT_EQ(found.at("new").title.find("before 0.00 µs, after 10.00 µs\n"), 0u) << found.at("new").title;
  EXPECT_TRUE(has(found.at("new").title, ", only after"));
  EXPECT_EQ(found.at("old").style, "f3 o");
  EXPECT_TRUE(has(found.at("old").title, "(−100.0 %)") && has(found.at("old").title, ", only before"));
  EXPECT_NEAR(found.at("slow").width / found.at("same").width, 0.5, 0.01) << "the means are 25 and 50 µs";
  EXPECT_NEAR(found.at("old").width, found.at("new").width, 0.1);
  EXPECT_TRUE(has(svg, "What changed, from old to new<"));
  EXPECT_TRUE(has(svg, "Times of a part, of 12 before and 12 after: before 80.0")) << svg;
}

TEST(FlameDiff, IsBlueForWhatBecameFaster) {
  const auto found = boxes(picture(trace_of({30'000, 50'000, 10}, "x"), trace_of({20'000, 50'000, 10}, "x")));
  EXPECT_EQ(found.at("slow").style, "f2");
  EXPECT_TRUE(has(found.at("slow").title, ", improvement, by −")) << found.at("slow").title;
}

TEST(FlameDiff, IsOnlyALineWhereTheChangeMayBeChance) {
  const auto found = boxes(picture(trace_of({20'000, 50'000, 10}, "x", 1), trace_of({30'000, 50'000, 10}, "x", 1)));
  EXPECT_EQ(found.at("slow").style, "s2 p") << "one part on each side proves nothing";
  EXPECT_TRUE(has(found.at("slow").title, ", undecided")) << found.at("slow").title;
}

TEST(FlameDiff, ComparesPartsOfDifferentNumbers) {
  const auto found = boxes(picture(trace_of({20'000, 50'000, 10}, "x", 24), trace_of({20'000, 50'000, 10}, "x", 12)));
  EXPECT_EQ(found.at("slow").style, "z") << "half as many parts, but each takes as long";
}

TEST(FlameDiff, OfNothingIsEmpty) {
  TraceBuilder nothing;
  const Ref<Trace> empty = make_object<Trace>(nothing.parts({{0, 0}, 1}));
  const std::string svg = picture(empty, empty);
  EXPECT_TRUE(boxes(svg).empty());
  EXPECT_FALSE(has(svg, "nan"));
  EXPECT_EQ(boxes(picture(empty, trace_of({100, 100, 100}, "x"))).at("slow").style, "s3 o");
}

TEST(FlameDiff, StatesItsScaleInLightAndDark) {
  const std::string svg = picture(trace_of({10, 10, 10}, "<a&"), trace_of({10, 10, 10}, "<a&"));
  for (const char *text : {">−50 %<", ">−1 %<", ">same<", ">+1 %<", ">+50 %<", "may be chance", "only in one"})
    EXPECT_TRUE(has(svg, text)) << text;
  for (const char *rule :
       {".s3{fill:hsl(5 85% 66%)}", ".f3{fill:hsl(215 85% 66%)}", "scheme:dark){.z{fill:#343b44}.s0{"})
    EXPECT_TRUE(has(svg, rule)) << rule << svg;
  EXPECT_TRUE(has(svg, "<title>&lt;a&amp;\n"));
}

}  // namespace
}  // namespace opd
