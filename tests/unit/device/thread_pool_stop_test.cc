// Calls that are to end: which parallel regions and tasks still run.
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "base/thread_state.h"
#include "device/cpu/worker_set.h"
#include "support/pool_launch.h"

namespace opd {
namespace {

// Stands for a call of the test's thread that can be ended.
struct StoppableCall {
  CancelFlag flag{CancelReason::kNone};
  StoppableCall() {
    thread_state().stop = &flag;
    set_thread_count(4);
  }
  ~StoppableCall() {
    thread_state().stop = nullptr;
    set_thread_count(0);
  }
};

// A region of two tasks, run one by one as the test likes.
struct Region {
  struct alignas(64) Line {
    char bytes[64] = {};
  } counters[2];
  CancelFlag flag{CancelReason::kNone};
  Body body;
  Launch launch{&run_body, &body, {counters, 2}, 0, 0, nullptr};
  explicit Region(Body b) : body(std::move(b)) { make_stoppable(launch.group, &flag); }
};

TEST(AStoppedCall, BeginsNoParallelRegion) {
  StoppableCall call;
  for (const auto &[reason, code] :
       {std::pair(CancelReason::kCancelled, OPD_CANCELLED), std::pair(CancelReason::kDeadline, OPD_DEADLINE_EXCEEDED)})
    for (const int32_t tasks : {0, 1, 3}) {
      call.flag = reason;
      std::atomic<int> ran{0};
      EXPECT_EQ(launch(tasks, [&](int, ParallelGroup *) { return ++ran, 0; }), -1);
      EXPECT_EQ(take_raised()->code, code);
      EXPECT_EQ(ran, 0);
      call.flag = CancelReason::kNone;
      EXPECT_EQ(launch(tasks, [&](int, ParallelGroup *) { return ++ran, 0; }), 0);
      EXPECT_GE(ran, 1);
    }
}

TEST(AStoppedCall, ReportsTasksThatItDropped) {
  StoppableCall call;
  for (int round = 0; round < 200; ++round) {
    call.flag = CancelReason::kNone;
    std::atomic<int> ran{0}, told{0};
    const int rc = launch(0, [&](int, ParallelGroup *group) {
      call.flag = CancelReason::kCancelled;
      told = group->num_task;
      return ++ran, 0;
    });
    ASSERT_GE(ran, 1);
    if (ran == told) {
      ASSERT_EQ(rc, 0);
      continue;
    }
    ASSERT_EQ(rc, -1);
    ASSERT_EQ(take_raised()->code, OPD_CANCELLED);
  }
}

TEST(AStoppedCall, RunsAllTasksThatMeetAtABarrier) {
  StoppableCall call;
  for (int round = 0; round < 200; ++round) {
    call.flag = CancelReason::kNone;
    std::atomic<int> before{0}, told{0}, incomplete{0};
    ASSERT_EQ(launch(0,
                     [&](int id, ParallelGroup *group) {
                       call.flag = CancelReason::kCancelled;
                       told = group->num_task;
                       ++before;
                       if (parallel_barrier(id, group)) return -1;
                       incomplete += before != group->num_task;
                       return 0;
                     }),
              0);
    ASSERT_EQ(before, told);
    ASSERT_EQ(incomplete, 0);
  }
}

TEST(AStoppedCall, RunsAGangWhole) {
  StoppableCall call;
  std::atomic<int> ran{0};
  EXPECT_EQ(launch(8,
                   [&](int id, ParallelGroup *group) {
                     call.flag = CancelReason::kCancelled;
                     ++ran;
                     return parallel_barrier(id, group);
                   }),
            0);
  EXPECT_EQ(ran, 8);
}

TEST(AStoppedCall, LetsRunningTasksLaunchMoreTasks) {
  StoppableCall call;
  std::atomic<int> inner{0};
  EXPECT_EQ(launch(3,
                   [&](int id, ParallelGroup *group) {
                     call.flag = CancelReason::kCancelled;
                     if (parallel_barrier(id, group)) return -1;
                     return launch(0, [&](int, ParallelGroup *) { return ++inner, 0; });
                   }),
            0);
  EXPECT_EQ(inner, 3);
}

TEST(AStoppedCall, DropsATaskWhenNoneRuns) {
  int ran = 0;
  Region region([&](int, ParallelGroup *) { return ++ran, 0; });
  EXPECT_EQ(run_task(region.launch, 0), nullptr);
  EXPECT_EQ(ran, 1);
  region.flag = CancelReason::kCancelled;
  EXPECT_EQ(run_task(region.launch, 1), nullptr);
  EXPECT_EQ(ran, 1);
}

TEST(AStoppedCall, DropsATaskOnceThoseThatRunHaveEnded) {
  std::thread late;
  std::atomic<int> ran{0};
  Region region([&](int id, ParallelGroup *) {
    ++ran;
    if (id == 1) return 0;
    region.flag = CancelReason::kCancelled;
    late = std::thread([&] { run_task(region.launch, 1); });  // waits for this task, and is dropped
    usleep(50'000);                                           // so that it sleeps, and must be woken
    return 0;
  });
  run_task(region.launch, 0);
  late.join();
  EXPECT_EQ(ran, 1);
}

TEST(AStoppedCall, RunsATaskThatARunningOneMeetsAtABarrier) {
  std::thread late;
  std::atomic<int> ran{0};
  Region region([&](int id, ParallelGroup *group) {
    if (id == 0) {
      region.flag = CancelReason::kCancelled;
      late = std::thread([&] { run_task(region.launch, 1); });
      usleep(50'000);  // so that it sleeps, and must be woken
    }
    ++ran;
    return parallel_barrier(id, group);  // returns only if the other comes
  });
  EXPECT_EQ(run_task(region.launch, 0), nullptr);
  late.join();
  EXPECT_EQ(ran, 2);
}

}  // namespace
}  // namespace opd
