// The picture of what changed: which boxes it has, what their titles and colours say.
#include <gtest/gtest.h>

#include <map>
#include <regex>

#include "support/trace_builder.h"
#include "trace_formats/trace_formats.h"

namespace opd {
namespace {

struct Times {
  uint64_t slow, same, other;
};
// Parts of the run "main", whose ranges take these times in ns, a few more in some parts.
Ref<Trace> timed_trace(const Times &times, const char *other, uint64_t parts = 12) {
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
std::map<std::string, Box> diff_boxes(const std::string &svg) {
  const std::regex box(
      "<g class=\"([^\"]*)\"><title>([^\n]*)\n([^<]*)</title><rect x=\"[^\"]*\" y=\"[^\"]*\" width=\"([^\"]*)\"");
  std::map<std::string, Box> found;
  for (std::sregex_iterator at(svg.begin(), svg.end(), box), end; at != end; ++at)
    found[(*at)[2]] = {(*at)[1], (*at)[3], std::stod((*at)[4])};
  return found;
}
bool has(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

TEST(FlameDiff, ColoursBoxesByTheirOwnChange) {
  const std::string svg =
      picture(timed_trace({20'000, 50'000, 10'000}, "old"), timed_trace({30'000, 50'000, 10'000}, "new"));
  const auto found = diff_boxes(svg);
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

TEST(FlameDiff, IsBlueForFasterBoxes) {
  const auto found =
      diff_boxes(picture(timed_trace({30'000, 50'000, 10}, "x"), timed_trace({20'000, 50'000, 10}, "x")));
  EXPECT_EQ(found.at("slow").style, "f2");
  EXPECT_TRUE(has(found.at("slow").title, ", improvement, by −")) << found.at("slow").title;
}

TEST(FlameDiff, IsOnlyALineWhereTheChangeMayBeChance) {
  const auto found =
      diff_boxes(picture(timed_trace({20'000, 50'000, 10}, "x", 1), timed_trace({30'000, 50'000, 10}, "x", 1)));
  EXPECT_EQ(found.at("slow").style, "s2 p") << "one part on each side proves nothing";
  EXPECT_TRUE(has(found.at("slow").title, ", undecided")) << found.at("slow").title;
}

TEST(FlameDiff, ComparesPartsOfDifferentNumbers) {
  const auto found =
      diff_boxes(picture(timed_trace({20'000, 50'000, 10}, "x", 24), timed_trace({20'000, 50'000, 10}, "x", 12)));
  EXPECT_EQ(found.at("slow").style, "z") << "half as many parts, but each takes as long";
}

TEST(FlameDiff, IsEmptyForEmptyTraces) {
  TraceBuilder nothing;
  const Ref<Trace> empty = make_object<Trace>(nothing.parts({{0, 0}, 1}));
  const std::string svg = picture(empty, empty);
  EXPECT_TRUE(diff_boxes(svg).empty());
  EXPECT_FALSE(has(svg, "nan"));
  EXPECT_EQ(diff_boxes(picture(empty, timed_trace({100, 100, 100}, "x"))).at("slow").style, "s3 o");
}

// One part of 100 µs on each side, of which "slow" takes 40 and 60; within it "gone" takes 5 before and "new" 10 after,
// and "near" 19.8 and 20.2. A µs is 12 wide.
TEST(FlameDiff, IsAPictureOfAllPaths) {
  const auto trace = [](uint64_t slow, const char *other, uint64_t length, uint64_t near, const char *name) {
    TraceBuilder built(4);
    built.range(10, 10 + slow, "slow").range(100, 100 + length, other).range(200, 200 + near, "near");
    built.range(0, 1000, "outer").range(2000, 2100, "dropped");
    TraceParts made = built.parts({{0, 0}, 100});
    made.processes[0].name = name;
    return make_object<Trace>(std::move(made));
  };
  EXPECT_EQ(
      picture(trace(400, "gone", 50, 198, "old"), trace(600, "new", 100, 202, "new")),
      R"x(<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 1200.0 176.0" width="1200.0" height="176.0">
<style>
svg{background:#fff;color:#1b1f24}text{font:11px ui-monospace,monospace;fill:currentColor}
.h{font:600 16px system-ui,sans-serif}.s{font:13px system-ui,sans-serif}
rect{stroke:#fff;stroke-width:.5}g:hover rect{stroke:currentColor}.a rect{fill:#d0d7de}
@media(prefers-color-scheme:dark){svg{background:#0f1419;color:#e6edf3}rect{stroke:#0f1419}.a rect{fill:#343b44}}
rect.l{stroke:none}.p rect,rect.p{fill-opacity:.12;stroke-width:1.5}.o rect,rect.o{stroke:currentColor;stroke-width:1;stroke-dasharray:4 2}
.z{fill:#d0d7de}.s0{fill:hsl(5 90% 90%)}.s0.p rect,rect.s0.p{stroke:hsl(5 90% 90%)}.f0{fill:hsl(215 90% 90%)}.f0.p rect,rect.f0.p{stroke:hsl(215 90% 90%)}.s1{fill:hsl(5 90% 83%)}.s1.p rect,rect.s1.p{stroke:hsl(5 90% 83%)}.f1{fill:hsl(215 90% 83%)}.f1.p rect,rect.f1.p{stroke:hsl(215 90% 83%)}.s2{fill:hsl(5 90% 75%)}.s2.p rect,rect.s2.p{stroke:hsl(5 90% 75%)}.f2{fill:hsl(215 90% 75%)}.f2.p rect,rect.f2.p{stroke:hsl(215 90% 75%)}.s3{fill:hsl(5 85% 66%)}.s3.p rect,rect.s3.p{stroke:hsl(5 85% 66%)}.f3{fill:hsl(215 85% 66%)}.f3.p rect,rect.f3.p{stroke:hsl(215 85% 66%)}
@media(prefers-color-scheme:dark){.z{fill:#343b44}.s0{fill:hsl(5 30% 24%)}.s0.p rect,rect.s0.p{stroke:hsl(5 30% 24%)}.f0{fill:hsl(215 30% 24%)}.f0.p rect,rect.f0.p{stroke:hsl(215 30% 24%)}.s1{fill:hsl(5 45% 30%)}.s1.p rect,rect.s1.p{stroke:hsl(5 45% 30%)}.f1{fill:hsl(215 45% 30%)}.f1.p rect,rect.f1.p{stroke:hsl(215 45% 30%)}.s2{fill:hsl(5 60% 36%)}.s2.p rect,rect.s2.p{stroke:hsl(5 60% 36%)}.f2{fill:hsl(215 60% 36%)}.f2.p rect,rect.f2.p{stroke:hsl(215 60% 36%)}.s3{fill:hsl(5 75% 42%)}.s3.p rect,rect.s3.p{stroke:hsl(5 75% 42%)}.f3{fill:hsl(215 75% 42%)}.f3.p rect,rect.f3.p{stroke:hsl(215 75% 42%)}}
</style>
<text class="h" x="8" y="24">What changed, from old to new</text>
<text class="s" x="8" y="44">Times of a part, of 1 before and 1 after: before 100.00 µs, after 100.00 µs (+0.0 %). A box is as wide as the mean of both. Dropped events: 2</text>
<rect class="l f3" x="8.0" y="60.0" width="60.0" height="17.0"/><text x="12.0" y="73.0">−50 %</text>
<rect class="l f2" x="70.0" y="60.0" width="60.0" height="17.0"/><text x="74.0" y="73.0">−20 %</text>
<rect class="l f1" x="132.0" y="60.0" width="60.0" height="17.0"/><text x="136.0" y="73.0">−5 %</text>
<rect class="l f0" x="194.0" y="60.0" width="60.0" height="17.0"/><text x="198.0" y="73.0">−1 %</text>
<rect class="l z" x="256.0" y="60.0" width="60.0" height="17.0"/><text x="260.0" y="73.0">same</text>
<rect class="l s0" x="318.0" y="60.0" width="60.0" height="17.0"/><text x="322.0" y="73.0">+1 %</text>
<rect class="l s1" x="380.0" y="60.0" width="60.0" height="17.0"/><text x="384.0" y="73.0">+5 %</text>
<rect class="l s2" x="442.0" y="60.0" width="60.0" height="17.0"/><text x="446.0" y="73.0">+20 %</text>
<rect class="l s3" x="504.0" y="60.0" width="60.0" height="17.0"/><text x="508.0" y="73.0">+50 %</text>
<text class="s" x="572.0" y="73.0">or more of the box: change of its time alone</text>
<rect class="s3 p" x="896.0" y="60.0" width="108.0" height="17.0"/><text x="900.0" y="73.0">may be chance</text>
<rect class="z o" x="1006.0" y="60.0" width="94.0" height="17.0"/><text x="1010.0" y="73.0">only in one</text>
<g class="a"><title>all
before 100.00 µs, after 100.00 µs (+0.0 %)</title><rect x="0.0" y="96.0" width="1200.00" height="17.0"/><text x="3.0" y="109.0">all</text></g>
<g class="f2 p"><title>outer
before 100.00 µs, after 100.00 µs (+0.0 %)
alone: before 60.00 µs, after 40.00 µs (−33.3 %), undecided</title><rect x="0.0" y="114.0" width="1200.00" height="17.0"/><text x="3.0" y="127.0">outer</text></g>
<g class="s2 p"><title>slow
before 40.00 µs, after 60.00 µs (+50.0 %)
alone: before 15.20 µs, after 29.80 µs (+96.1 %), undecided</title><rect x="0.0" y="132.0" width="600.00" height="17.0"/><text x="3.0" y="145.0">slow</text></g>
<g class="f3 o"><title>gone
before 5.00 µs, after 0.00 µs (−100.0 %)
alone: before 5.00 µs, after 0.00 µs (−100.0 %), only before</title><rect x="300.0" y="150.0" width="30.00" height="17.0"/><text x="303.0" y="163.0">g…e</text></g>
<g class="s3 o"><title>new
before 0.00 µs, after 10.00 µs
alone: before 0.00 µs, after 10.00 µs, only after</title><rect x="240.0" y="150.0" width="60.00" height="17.0"/><text x="243.0" y="163.0">new</text></g>
<g class="s0 p"><title>near
before 19.80 µs, after 20.20 µs (+2.0 %)
alone: before 19.80 µs, after 20.20 µs (+2.0 %), undecided</title><rect x="0.0" y="150.0" width="240.00" height="17.0"/><text x="3.0" y="163.0">near</text></g>
</svg>
)x");
}

TEST(FlameDiff, StatesItsScaleInLightAndDark) {
  const std::string svg = picture(timed_trace({10, 10, 10}, "<a&"), timed_trace({10, 10, 10}, "<a&"));
  for (const char *text : {">−50 %<", ">−1 %<", ">same<", ">+1 %<", ">+50 %<", "may be chance", "only in one"})
    EXPECT_TRUE(has(svg, text)) << text;
  for (const char *rule :
       {".s3{fill:hsl(5 85% 66%)}", ".f3{fill:hsl(215 85% 66%)}", "scheme:dark){.z{fill:#343b44}.s0{"})
    EXPECT_TRUE(has(svg, rule)) << rule << svg;
  EXPECT_TRUE(has(svg, "<title>&lt;a&amp;\n"));
}

}  // namespace
}  // namespace opd
