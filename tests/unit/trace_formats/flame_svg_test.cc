// The flame graph as a picture: where its boxes lie, and that it is XML whatever names contain.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>

#include "support/trace_builder.h"
#include "trace_formats/trace_formats.h"

namespace opd {
namespace {

std::string svg(TraceBuilder &built) {
  StringSink sink;
  write_flame_svg(*make_object<Trace>(built.parts({{0, 0}, 1})), sink);  // ticks are nanoseconds
  return sink.take();
}

// "title x y width" of each box; a title is on one line here.
std::vector<std::string> boxes(const std::string &picture) {
  const std::regex box("<title>([^<]*)</title><rect x=\"([^\"]*)\" y=\"([^\"]*)\" width=\"([^\"]*)\"");
  std::vector<std::string> found;
  for (std::sregex_iterator at(picture.begin(), picture.end(), box), end; at != end; ++at) {
    std::string title = (*at)[1];
    std::replace(title.begin(), title.end(), '\n', ' ');
    found.push_back(title + " | " + (*at)[2].str() + " " + (*at)[3].str() + " " + (*at)[4].str());
  }
  std::ranges::sort(found);
  return found;
}

TEST(FlameSvg, HasABoxForEachStackAsWideAsItsTime) {
  TraceBuilder built;
  built.range(1'000, 2'000, "inner").range(0, 5'000, "outer").range(6'000, 7'000, "inner").range(6'000, 7'000, "outer");
  built.range(8'000, 10'000, "alone").range(11'000, 11'000, "nothing");
  // 8 µs in all are 1200 wide: outer has 6 of them, and inner 2 of these; alone has 2.
  EXPECT_EQ(boxes(svg(built)),
            (std::vector<std::string>{"all 8.00 µs (100.00 %), alone 0.00 µs | 0.0 56.0 1200.00",
                                      "alone 2.00 µs (25.00 %), alone 2.00 µs, 1 span | 900.0 74.0 300.00",
                                      "inner 2.00 µs (25.00 %), alone 2.00 µs, 2 spans | 0.0 92.0 300.00",
                                      "outer 6.00 µs (75.00 %), alone 4.00 µs, 2 spans | 0.0 74.0 900.00"}));
}

// Three rows of 18 below a head of 56, and 8 below them.
TEST(FlameSvg, IsAsHighAsItsRows) {
  TraceBuilder built;
  built.range(1'000, 2'000, "inner").range(0, 5'000, "outer");
  EXPECT_NE(svg(built).find("<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" viewBox=\"0 0 1200.0 118.0\" "
                            "width=\"1200.0\" height=\"118.0\">\n<style>"),
            std::string::npos)
      << svg(built);
}

// A character is 6.7 wide, and a box keeps 6 free: 26.2 have room for three characters, 26 for none.
TEST(FlameSvg, HasNamesWhereTheyFit) {
  TraceBuilder built;
  built.range(0, 262, "wide")
      .range(1'000, 1'260, "slim")
      .range(2'000, 13'478, "rest");  // of 12 000: a tenth of a unit each
  const std::string picture = svg(built);
  EXPECT_NE(picture.find(">w…e</text>"), std::string::npos) << picture;
  EXPECT_EQ(picture.find("…m</text>"), std::string::npos) << picture;
  EXPECT_NE(picture.find("<text x=\"3.0\" y=\"69.0\">all</text>"), std::string::npos) << picture;
}

TEST(FlameSvg, DescribesItsContent) {
  TraceBuilder built;
  built.range(0, 5'000, "outer").range(1'000, 2'000, "inner").range(6'000, 7'000, "inner");
  const std::string picture = svg(built);
  EXPECT_NE(picture.find("6.00 µs in 3 stacks; the widest come first, and what is within a box lies below it"),
            std::string::npos)
      << picture;
  EXPECT_NE(picture.find(">Flame graph of "), std::string::npos);
}

// For light and for dark pages. 200 names have all of the 12 colours, and one name has one colour in all its places.
TEST(FlameSvg, HasAColourForEachName) {
  TraceBuilder built;
  for (uint64_t i = 0; i < 200; ++i) {
    const std::string name = "name " + std::to_string(i);
    built.range(10 * i + 1, 10 * i + 4, name.c_str()).range(10 * i, 10 * i + 5, "outer");
    built.range(10 * i + 6, 10 * i + 8, name.c_str());
  }
  const std::string picture = svg(built);
  const std::regex box("<g class=\"(c[0-9]+)\"><title>([^\n<]*)\n");
  std::map<std::string, std::string> colour_of;
  std::set<std::string> colours;
  for (std::sregex_iterator at(picture.begin(), picture.end(), box), end; at != end; ++at) {
    const std::string colour = (*at)[1], name = (*at)[2];
    EXPECT_EQ(colour_of.try_emplace(name, colour).first->second, colour) << name;
    colours.insert(colour);
  }
  EXPECT_EQ(colour_of.size(), 201u);
  EXPECT_EQ(colours.size(), 12u);
  for (const std::string &colour : colours) {
    const size_t light = picture.find("." + colour + " rect{fill:hsl("),
                 dark = picture.find("." + colour + " rect{", light + 1);
    ASSERT_NE(light, std::string::npos) << colour;
    ASSERT_NE(dark, std::string::npos) << colour;
    EXPECT_GT(dark, picture.find("prefers-color-scheme:dark")) << colour;
  }
}

TEST(FlameSvg, EscapesNames) {
  TraceBuilder built;
  built.range(0, 10, "<a href=\"x\">&'\xFF\x01\xEF\xBF\xBF\u0085\u00A0é");
  const std::string picture = svg(built);
  EXPECT_NE(picture.find("<title>&lt;a href=&quot;x&quot;&gt;&amp;&#39;\uFFFD \uFFFD \u00A0é\n"), std::string::npos)
      << picture;
  EXPECT_EQ(picture.find("<a "), std::string::npos);
}

TEST(FlameSvg, HasNoBoxesIfNoTimePassed) {
  TraceBuilder nothing, brief;
  brief.range(5, 5, "brief");
  for (TraceBuilder *built : {&nothing, &brief}) {
    const std::string picture = svg(*built);
    EXPECT_TRUE(boxes(picture).empty());
    EXPECT_EQ(picture.find("nan"), std::string::npos);
  }
}

TEST(FlameSvg, HasColoursForLightAndDark) {
  TraceBuilder built;
  built.range(0, 10, "a");
  const std::string picture = svg(built), light = ".c0 rect{fill:hsl(0 70% 80%)}",
                    dark = ".c0 rect{fill:hsl(0 35% 32%)}";
  EXPECT_NE(picture.find("\n" + light), std::string::npos) << picture;
  EXPECT_NE(picture.find("@media(prefers-color-scheme:dark){" + dark), std::string::npos);
}

TEST(FlameSvg, CountsDroppedEvents) {
  TraceBuilder built(1);
  built.range(0, 10, "kept").range(20, 30, "dropped").range(40, 50, "dropped");
  EXPECT_NE(svg(built).find("Dropped events: 2"), std::string::npos);
}

}  // namespace
}  // namespace opd
