// Names and their numbers.
#include "trace/model/names.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <thread>
#include <vector>

namespace opd {
namespace {

TEST(Names, HaveOneNumberEach) {
  const NameId add = name_id("names.add"), empty = name_id(""), zero = name_id(std::string_view("a\0b", 3));
  EXPECT_EQ(name_id(std::string("names.") + "add"), add);
  EXPECT_EQ((std::set{add, empty, zero, name_id("a")}.size()), 4u);
  EXPECT_EQ(name_text(add), "names.add");
  EXPECT_EQ(name_text(empty), "");
  EXPECT_EQ(name_text(zero), std::string_view("a\0b", 3));
}

TEST(Names, TextsStayWhereTheyAreWhileOthersAreMade) {
  const std::string *first = &name_text(name_id("names.first"));
  for (int i = 0; i < 5000; ++i) {
    const std::string name = "names." + std::to_string(i);
    ASSERT_EQ(name_text(name_id(name)), name);
  }
  EXPECT_EQ(&name_text(name_id("names.first")), first);
}

TEST(Names, WithoutATextAreShownAsAQuestionMark) {
  EXPECT_EQ(name_text(kNoName), "?");
  EXPECT_EQ(name_text(1 << 19), "?") << "not made yet";
}

// In a process of its own, whose names are then all taken.
TEST(Names, BeyondTheLimitShareOneNumber) {
  const pid_t child = ::fork();
  if (child == 0) {
    const NameId known = name_id("names.known");
    for (NameId i = 0; i + 2 < kMostNames; ++i) name_id("names.many." + std::to_string(i));
    const NameId one = name_id("names.one"), other = name_id("names.other");
    const bool holds = one == other && one == kMostNames - 1 && name_text(one) == "(further names)" &&
                       name_id("names.known") == known && name_text(known) == "names.known" &&
                       name_text(kMostNames - 2) != "?";
    ::_exit(holds ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Names, AreTheSameForAllThreads) {
  std::vector<std::vector<NameId>> ids(4);
  std::vector<std::thread> threads;
  for (auto &mine : ids)
    threads.emplace_back([&] {
      for (int i = 0; i < 3000; ++i) {
        const std::string name = "names.shared." + std::to_string(i);
        mine.push_back(name_id(name));
        ASSERT_EQ(name_text(mine.back()), name);
      }
    });
  for (auto &thread : threads) thread.join();
  for (const auto &other : ids) EXPECT_EQ(other, ids[0]);
}

}  // namespace
}  // namespace opd
