// More kernels than a process has trampolines for, which no test library has.
#include "module/image/call_hooks.h"

#include <gtest/gtest.h>

#include <memory>

namespace opd {
namespace {

int kernel(void *, const View *, int32_t, View *) { return 0; }

struct Library {
  explicit Library(size_t kernels) : places(kernels, reinterpret_cast<void *>(&kernel)) {
    std::vector<CallHooks::Slot> slots;
    for (void *&place : places) slots.push_back({&place, "kernel", false});
    hooks = std::make_unique<CallHooks>(std::move(slots));
  }
  size_t num_changed() const {
    size_t changed = 0;
    for (void *place : places) changed += place != reinterpret_cast<void *>(&kernel);
    return changed;
  }

  std::vector<void *> places;
  std::unique_ptr<CallHooks> hooks;
};

TEST(CallHooks, KernelsWithoutATrampolineStayAsTheyAreAndAreCounted) {
  constexpr size_t kTooMany = 7;
  const Library most(kMostHookedKernels - 2);
  most.hooks->add();
  {
    const Library rest(2 + kTooMany);
    EXPECT_EQ(rest.hooks->num_hidden(), 0U);  // not hooked yet
    rest.hooks->add();
    EXPECT_EQ(rest.hooks->num_hidden(), kTooMany);
    EXPECT_EQ(rest.num_changed(), 2U);
    EXPECT_EQ(reinterpret_cast<SafeCall>(rest.places[0])(nullptr, nullptr, 0, nullptr), 0);
    rest.hooks->remove();
    EXPECT_EQ(rest.num_changed(), 0U);
  }
  const Library next(2);  // gets the trampolines of the library that ended
  next.hooks->add(), next.hooks->add();
  next.hooks->remove();
  EXPECT_EQ(next.num_changed(), 2U);
  EXPECT_EQ(next.hooks->num_hidden(), 0U);
  EXPECT_EQ(most.num_changed(), kMostHookedKernels - 2);
}

}  // namespace
}  // namespace opd
