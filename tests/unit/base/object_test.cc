// When objects are destroyed and when their memory is freed: by the last strong and the last weak reference.
#include "base/object.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace opd {
namespace {

// What deleters were asked for, in order: "d" destroy, "f" free, "df" both; with the object's number.
std::string log;

struct Noted : Object {
  explicit Noted(int n = 0) : number(n) { deleter = note; }
  int number;
  Object *next = nullptr;  // released when the object is destroyed

 private:
  static void note(void *self, int flags) {
    auto *noted = static_cast<Noted *>(static_cast<Object *>(self));
    log += std::to_string(noted->number) + (flags & kDestroy ? "d" : "") + (flags & kFree ? "f" : "") + " ";
    if (flags & kDestroy && noted->next) release_nested(std::exchange(noted->next, nullptr));
  }
};

class Objects : public testing::Test {
 protected:
  void SetUp() override { log.clear(); }
};

TEST_F(Objects, EndAtOnceIfTheyHaveOneOwner) {
  Noted object;
  release(&object);
  EXPECT_EQ(log, "0df ");
}

TEST_F(Objects, EndWithTheirLastOwner) {
  Noted object;
  retain(&object), retain(&object);
  release(&object), release(&object);
  EXPECT_EQ(log, "");
  EXPECT_TRUE(object.has_sole_owner());
  release(&object);
  EXPECT_EQ(log, "0df ");
}

// Two owners that let go at the same time both see that there is another one: then the slower one ends the object.
TEST_F(Objects, AreDestroyedOnceIfTwoOwnersReleaseThemTogether) {
  Noted object;
  retain(&object);
  release_shared(&object);
  EXPECT_EQ(log, "");
  release_shared(&object);
  EXPECT_EQ(log, "0df ");
}

TEST_F(Objects, KeepTheirMemoryForWeakReferences) {
  Noted object;
  {
    const WeakRef<Noted> one(&object);
    {
      const WeakRef<Noted> two(&object);
      EXPECT_EQ(one.lock().get(), &object);
      release(&object);
      EXPECT_EQ(log, "0d ") << "destroyed, as no owner is left";
      EXPECT_EQ(one.lock().get(), nullptr);
    }
    EXPECT_EQ(log, "0d ");
  }
  EXPECT_EQ(log, "0d 0f ") << "freed with the last of them";
  log.clear();
  Noted other(1);
  { const WeakRef<Noted> gone(&other); }
  EXPECT_EQ(log, "") << "it still has its owner";
  release(&other);
  EXPECT_EQ(log, "1df ");
}

TEST_F(Objects, WithoutADeleterEndAsNothing) {
  Object object, shared;
  { const WeakRef<Object> weak(&object); }
  release(&object);
  retain(&shared);
  { const WeakRef<Object> weak(&shared); }
  release(&shared), release(&shared);
  {
    Object held;
    const WeakRef<Object> weak(&held);
    release(&held);
    EXPECT_EQ(weak.lock().get(), nullptr);
  }
  EXPECT_EQ(log, "");
}

// Each owns the next one. Beyond a depth of 32 they are put aside, and end one after another, each once.
TEST_F(Objects, EndInOrderAtAnyDepthOfOwnership) {
  constexpr int kCount = 200;
  std::vector<std::unique_ptr<Noted>> all;
  std::string expected;
  for (int i = 0; i < kCount; ++i) {
    all.push_back(std::make_unique<Noted>(i));
    if (i > 0) all[static_cast<size_t>(i) - 1]->next = all.back().get();
    expected += std::to_string(i) + "df ";
  }
  release_nested(all[0].get());
  EXPECT_EQ(log, expected);
}

TEST_F(Objects, StayAtAnyDepthIfTheyHaveAnotherOwner) {
  for (const size_t held : {5, 31, 32, 33, 60}) {
    log.clear();
    std::vector<std::unique_ptr<Noted>> all;
    std::string before, after;
    for (size_t i = 0; i < 100; ++i) {
      all.push_back(std::make_unique<Noted>(static_cast<int>(i)));
      if (i > 0) all[i - 1]->next = all.back().get();
      (i < held ? before : after) += std::to_string(i) + "df ";
    }
    retain(all[held].get());
    release_nested(all[0].get());
    EXPECT_EQ(log, before);
    EXPECT_TRUE(all[held]->has_sole_owner());
    release_nested(all[held].get());
    EXPECT_EQ(log, before + after);
  }
}

}  // namespace
}  // namespace opd
