// Ranges for a collector of Intel's ITT API, which the environment names when this program starts. CMakeLists.txt runs
// it with each kind of collector, with those that lack something, and with one that is missing.
#include <dlfcn.h>

#include <thread>

#include "support/opdyno_test.h"

using namespace opdyno_test;
using opdyno::Profiler;
using opdyno::Range;

namespace {

enum class Kind { kTable, kExports, kUseless, kMissing };

Kind kind() {
  const std::string name = std::getenv("ITT_KIND");
  return name == "table"     ? Kind::kTable
         : name == "exports" ? Kind::kExports
         : name == "missing" ? Kind::kMissing
                             : Kind::kUseless;
}

bool can_collect() { return kind() == Kind::kTable || kind() == Kind::kExports; }

void *function(const char *name) {
  void *const library = dlopen(std::getenv("INTEL_LIBITTNOTIFY64"), RTLD_NOW | RTLD_NOLOAD);
  return library ? dlsym(library, name) : nullptr;
}

std::vector<std::string> collected() {
  auto *const take = reinterpret_cast<const char *(*)()>(function("collected"));
  std::istringstream text(take ? take() : "");
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);)
    if (!line.starts_with("string ") && !line.starts_with("domain ")) lines.push_back(line);
  return lines;
}

using Lines = std::vector<std::string>;

TEST(ACollector, IsLoadedByTheFirstRangeIfItIsThere) {
  EXPECT_EQ(function("collected"), nullptr) << "it is loaded when it is needed";
  opd_range_push("first");
  EXPECT_EQ(function("collected") != nullptr, kind() != Kind::kMissing);
  EXPECT_EQ(opd_range_pop(), 0);
  EXPECT_EQ(opd_itt_is_available(), can_collect());
  EXPECT_EQ(opdyno::itt_is_available(), can_collect());
  EXPECT_EQ(opd_range_is_recorded(), can_collect()) << "else ranges cost no more than without the variable";
  EXPECT_EQ(collected(), can_collect() ? (Lines{"begin first", "end"}) : Lines());
}

class ARange : public testing::Test {
 protected:
  void SetUp() override {
    if (!can_collect()) GTEST_SKIP() << "there is no collector";
    ASSERT_TRUE(opdyno::itt_is_available());
    collected();
  }
};

TEST_F(ARange, IsATaskWhetherItIsRecordedOrNot) {
  const uint32_t name = opdyno::range_name("named");
  const Lines wanted{"begin pushed", "begin named", "end", "begin pushed", "end", "end"};
  const Profiler profiler;
  for (const bool is_recorded : {false, true, false}) {
    if (is_recorded) profiler.start();
    {
      const Range outer("pushed");
      { const Range inner(name); }
      const Range again("pushed");
    }
    EXPECT_EQ(is_recorded ? profiler.stop().report(OPD_TRACE_EVENTS).count() : 3u, 3u);
    EXPECT_EQ(collected(), wanted) << is_recorded;
  }
}

TEST_F(ARange, MayBeDeepAndHaveAnyName) {
  Lines wanted;
  for (int i = 0; i < 300; ++i) {
    const std::string name = "ü \" " + std::to_string(i % 7);
    EXPECT_EQ(opd_range_push(name.c_str()), i);
    wanted.push_back("begin " + name);
  }
  for (int i = 300; i-- > 0;) EXPECT_EQ(opd_range_pop(), i);
  EXPECT_EQ(opd_range_pop(), -1);
  wanted.resize(600, "end");
  EXPECT_EQ(collected(), wanted);
}

TEST_F(ARange, IsNotEndedOnAnotherThreadOrTwice) {
  const uint64_t range = opd_range_begin(opdyno::range_name("here"));
  std::thread([&] { opd_range_end(range); }).join();
  EXPECT_EQ(collected(), Lines{"begin here"}) << "tasks of a tool end on their own thread: at its next range";
  opd_range_end(range);
  opd_range_end(range);
  EXPECT_EQ(collected(), Lines{"end"});
}

TEST_F(ARange, HasMarksAsAMarkerOrATaskWithoutALength) {
  opdyno::mark("moment");
  EXPECT_EQ(collected(), kind() == Kind::kTable ? (Lines{"begin moment", "end"}) : Lines{"mark moment"});
}

TEST_F(ARange, IsLeftOutWhileTheToolDoesNotCollect) {
  { const Range range("before"); }
  collected();
  auto *const collect = reinterpret_cast<void (*)(int)>(function("collect"));
  collect(0);
  {
    const Range range("not collected");
    opdyno::mark("nor this");
  }
  EXPECT_FALSE(opdyno::itt_is_available());
  EXPECT_EQ(collected(), Lines{});
  collect(1);
  { const Range range("after"); }
  EXPECT_EQ(collected(), (Lines{"begin after", "end"}));
}

TEST_F(ARange, ComesFromManyThreads) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([] {
      for (int i = 0; i < 100; ++i) const Range range(("many " + std::to_string(i % 10)).c_str());
    });
  for (std::thread &thread : threads) thread.join();
  const Lines lines = collected();
  EXPECT_EQ(lines.size(), 800u);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "end"), 400);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "begin many 3"), 40);
}

}  // namespace
