// Stacks, of a program that the library is linked into.
#include "base/stack_walk.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace opd {
namespace {

void *object_of_address(uint64_t address) {
  Dl_info info{};
  return dladdr(reinterpret_cast<void *>(address), &info) ? info.dli_fbase : nullptr;
}

// Only the frames of a library of its own are left out; here they are the program's.
TEST(StackWalks, BeginInAProgramThatHoldsTheLibrary) {
  uint64_t addresses[64] = {};
  const size_t count = walk_stack(addresses, 64, UINTPTR_MAX);
  ASSERT_GT(count, 3u);
  void *const program = object_of_address(reinterpret_cast<uint64_t>(&object_of_address));
  ASSERT_NE(program, nullptr);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(object_of_address(addresses[i]), program) << i;
  EXPECT_EQ(walk_stack(addresses, 2, UINTPTR_MAX), 2u);
  EXPECT_EQ(walk_stack(addresses, 64, 0), 0u) << "no frame lies below the limit";
}

}  // namespace
}  // namespace opd
