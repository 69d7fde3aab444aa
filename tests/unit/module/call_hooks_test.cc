// More kernels than a process has trampolines for, which no test library has.
#include "module/image/call_hooks.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>

namespace opd {
namespace {

int kernel(void *, const View *, int32_t, View *) { return 0; }

struct HookedKernels {
  explicit HookedKernels(size_t kernels) : places(kernels, reinterpret_cast<void *>(&kernel)) {
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
  const HookedKernels most(kMostHookedKernels - 2);
  most.hooks->add();
  {
    const HookedKernels rest(2 + kTooMany);
    EXPECT_EQ(rest.hooks->num_hidden(), 0U);  // not hooked yet
    rest.hooks->add();
    EXPECT_EQ(rest.hooks->num_hidden(), kTooMany);
    EXPECT_EQ(rest.num_changed(), 2U);
    EXPECT_EQ(reinterpret_cast<SafeCall>(rest.places[0])(nullptr, nullptr, 0, nullptr), 0);
    rest.hooks->remove();
    EXPECT_EQ(rest.num_changed(), 0U);
  }
  const HookedKernels next(2);  // gets the trampolines of the library that ended
  next.hooks->add(), next.hooks->add();
  next.hooks->remove();
  EXPECT_EQ(next.num_changed(), 2U);
  EXPECT_EQ(next.hooks->num_hidden(), 0U);
  EXPECT_EQ(most.num_changed(), kMostHookedKernels - 2);
}

// The kernel tells by an error code whether it could write to an address.
bool is_writable(void *address) {
  const int zeros = ::open("/dev/zero", O_RDONLY | O_CLOEXEC);
  char before;
  std::memcpy(&before, address, 1);
  const bool written = ::read(zeros, address, 1) == 1;
  if (written) std::memcpy(address, &before, 1);
  ::close(zeros);
  return written;
}

// The loader makes the pages of slots read-only where all are bound at load.
TEST(CallHooks, LeaveTheSlotsOfReadOnlyPagesReadOnly) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  char *const pages =
      static_cast<char *>(::mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  std::vector<void **> places;
  std::vector<CallHooks::Slot> slots;
  for (const size_t at : {size_t{0}, size_t{8}, page - 8, page, 2 * page - 8}) {  // of the first two pages
    places.push_back(reinterpret_cast<void **>(pages + at));
    *places.back() = reinterpret_cast<void *>(&kernel);
    slots.push_back({places.back(), "kernel", true});
  }
  ASSERT_EQ(::mprotect(pages, 2 * page, PROT_READ), 0);
  const auto num_changed = [&] {
    size_t changed = 0;
    for (void **place : places) changed += *place != reinterpret_cast<void *>(&kernel);
    return changed;
  };
  const auto expect_rights = [&] {
    EXPECT_FALSE(is_writable(pages));
    EXPECT_FALSE(is_writable(pages + page));
    EXPECT_TRUE(is_writable(pages + 2 * page));
  };
  {
    CallHooks hooks(slots);
    expect_rights();
    hooks.add();
    EXPECT_EQ(num_changed(), 5u);
    EXPECT_EQ(hooks.num_hidden(), 0u);
    expect_rights();
    EXPECT_EQ(reinterpret_cast<SafeCall>(*places[4])(nullptr, nullptr, 0, nullptr), 0);
    hooks.remove();
    EXPECT_EQ(num_changed(), 0u);
    EXPECT_EQ(hooks.num_hidden(), 0u);
    expect_rights();
  }
  ::munmap(pages, 3 * page);
}

// A system may forbid it: here the page is of a file that was opened for reading.
TEST(CallHooks, CountTheSlotsThatTheSystemLeavesReadOnly) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const int writer = ::memfd_create("slots", MFD_CLOEXEC);
  void *const address = reinterpret_cast<void *>(&kernel);
  ASSERT_EQ(::ftruncate(writer, static_cast<off_t>(page)), 0);
  ASSERT_EQ(::pwrite(writer, &address, sizeof address, 0), static_cast<ssize_t>(sizeof address));
  const int reader = ::open(("/proc/self/fd/" + std::to_string(writer)).c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  void *const shared = ::mmap(nullptr, page, PROT_READ, MAP_SHARED, reader, 0);
  ASSERT_NE(shared, MAP_FAILED);
  void *own = address;
  {
    CallHooks hooks({{static_cast<void **>(shared), "kernel", true}, {&own, "kernel", false}});
    hooks.add();
    EXPECT_EQ(hooks.num_hidden(), 1u);
    EXPECT_EQ(*static_cast<void **>(shared), address);
    EXPECT_NE(own, address);
    hooks.remove();
    EXPECT_EQ(own, address);
  }
  ::munmap(shared, page);
  ::close(reader), ::close(writer);
}

HookedCall seen;
int seen_args = 0;
int hook(const HookedCall &call, void *self, const View *args, int32_t num_args, View *result) {
  seen = call, seen_args += num_args;
  return call.code(self, args, num_args, result) + 5;
}
int three(void *self, const View *, int32_t num_args, View *) { return self ? 3 + num_args : 0; }

TEST(CallHooks, PassEachCallToTheHookWithItsKernel) {
  void *slots[] = {reinterpret_cast<void *>(&kernel), reinterpret_cast<void *>(&three)};
  CallHooks hooks({{&slots[0], "first", false}, {&slots[1], "second", false}});
  hooks.add();
  int self = 0;
  const View args[2] = {};
  View result{};
  const auto call_slot = [&](size_t i) { return reinterpret_cast<SafeCall>(slots[i])(&self, args, 2, &result); };
  EXPECT_EQ(call_slot(1), 5) << "without a hook the kernel is called";
  set_call_hook(hook);
  EXPECT_EQ(call_slot(1), 10);
  EXPECT_EQ(seen.code, &three);
  EXPECT_EQ(seen.name, name_id("second"));
  EXPECT_EQ(call_slot(0), 5);
  EXPECT_EQ(seen.code, &kernel);
  EXPECT_EQ(seen.name, name_id("first"));
  EXPECT_EQ(seen_args, 4);
  set_call_hook(nullptr);
  hooks.remove();
}

}  // namespace
}  // namespace opd
