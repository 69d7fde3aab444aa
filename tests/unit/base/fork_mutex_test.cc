// Locks and fork(), below what a call of the C API can reach at the right moment.
#include "base/fork_mutex.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>

namespace opd {
namespace {

template <class F>
int status_of_child(F body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(body() ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

TEST(ARecursiveForkMutex, IsTakenAgainByItsHolder) {
  RecursiveForkMutex twice(LockRank::kTypes);
  twice.lock(), twice.lock();
  EXPECT_TRUE(twice.is_held_here());
  std::thread([&] { EXPECT_FALSE(twice.is_held_here()); }).join();
  twice.unlock();
  EXPECT_TRUE(twice.is_held_here());
  twice.unlock();
  EXPECT_FALSE(twice.is_held_here());
  std::thread([&] { twice.lock(), twice.unlock(); }).join();
}

#if !defined(OPDYNO_ADDRESS_SANITIZER) && !defined(OPDYNO_THREAD_SANITIZER)  // whose own locks stay locked in a child
TEST(AForkMutex, IsFreeInTheChildOfAnotherThreadsFork) {
  ForkMutex state(LockRank::kImports), work(LockRank::kSource);
  std::atomic<bool> done{false}, works{false};
  std::thread busy([&] {
    while (!done) {
      const std::scoped_lock lock(state);
      auto made_inside = std::make_unique<ForkMutex>(LockRank::kLog);  // and ended, while the other thread forks
    }
  });
  std::thread worker([&] {
    const std::scoped_lock lock(work);  // for so long that no fork may wait for it
    works = true;
    while (!done) usleep(100);
  });
  while (!works) usleep(100);
  for (int i = 0; i < 200; ++i)
    EXPECT_EQ(status_of_child([&] {
                const std::scoped_lock both(work), lock(state);
                return true;
              }),
              0);
  done = true;
  busy.join(), worker.join();
}

TEST(ForkSharedMutex, IsFreeInTheChildIfReadersHeldIt) {
  ForkSharedMutex shared(LockRank::kRegistry);
  std::atomic<bool> done{false};
  std::thread reader([&] {
    while (!done) { const std::shared_lock lock(shared); }
  });
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(status_of_child([&] {
                { const std::scoped_lock lock(shared); }
                const std::shared_lock lock(shared);
                return true;
              }),
              0);
  done = true;
  reader.join();
}

TEST(ARecursiveForkMutex, StaysHeldByTheForkingThreadOnBothSides) {
  RecursiveForkMutex work(LockRank::kInitializer), state(LockRank::kTypes);
  work.lock(), state.lock(), state.lock();
  EXPECT_EQ(status_of_child([&] {
              const bool held = work.is_held_here() && state.is_held_here();
              state.unlock(), state.unlock(), work.unlock();
              work.lock(), state.lock();  // both can be taken anew
              return held;
            }),
            0);
  EXPECT_TRUE(work.is_held_here());
  EXPECT_TRUE(state.is_held_here());
  state.unlock(), state.unlock(), work.unlock();
}

TEST(ARecursiveForkMutex, IsFreeInTheChildIfAnotherThreadHeldIt) {
  RecursiveForkMutex work(LockRank::kInitializer);  // of a rank that no fork waits for
  std::atomic<bool> holds{false}, done{false};
  std::thread worker([&] {
    work.lock(), work.lock();
    holds = true;
    while (!done) usleep(100);
    work.unlock(), work.unlock();
  });
  while (!holds) usleep(100);
  EXPECT_EQ(status_of_child([&] {
              const bool was_free = !work.is_held_here();
              work.lock();
              const bool is_held = work.is_held_here();
              work.unlock();
              return was_free && is_held && !work.is_held_here();
            }),
            0);
  done = true;
  worker.join();
}

TEST(ALoaderCall, EndsBeforeAnotherThreadForks) {
  std::atomic<int> inside{0}, done{0};
  std::thread loading([&] {
    while (!done) {
      const LoaderCall call, call_of_a_constructor;
      ++inside;
      --inside;
    }
  });
  const LoaderCall own;  // a constructor that forks
  for (int i = 0; i < 200; ++i)
    EXPECT_EQ(status_of_child([&] {
                const LoaderCall call;
                return inside == 0;
              }),
              0);
  done = true;
  loading.join();
}
#endif

#if !defined(NDEBUG) && defined(GTEST_HAS_DEATH_TEST)
TEST(AForkMutexDeathTest, LockingOutOfOrderEndsADebugBuild) {
  ForkMutex outer(LockRank::kImports), inner(LockRank::kLog);
  inner.lock();
  EXPECT_DEATH(outer.lock(), "");
  inner.unlock();
}
#endif

}  // namespace
}  // namespace opd
