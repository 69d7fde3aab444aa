// Launches, barriers, gangs, errors and fork() of the thread pool.
#include "device/cpu/thread_pool.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/thread_state.h"
#include "device/cpu/worker_set.h"
#include "device/machine.h"
#include "support/log_messages.h"
#include "support/pool_launch.h"

namespace opd {
namespace {

struct ThreadCount {  // sets it for a test
  explicit ThreadCount(int32_t count) { set_thread_count(count); }
  ~ThreadCount() { set_thread_count(0); }
};

size_t threads_of_process() {
  size_t lines = 0;
  FILE *status = std::fopen("/proc/self/status", "r");
  for (char line[256]; std::fgets(line, sizeof line, status);)
    if (std::sscanf(line, "Threads: %zu", &lines) == 1) break;
  std::fclose(status);
  return lines;
}

// Keeps the pool's first worker from running: a signal handler holds it, as a busy machine would. Workers block the
// signals of programs, but not those of faults.
std::atomic<bool> is_held{false}, is_released{false};
void hold_thread(int) {
  is_held = true;
  const timespec pause{0, 100'000};
  while (!is_released) nanosleep(&pause, nullptr);
}
pid_t first_worker() {
  for (const auto &thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream name(thread.path() / "comm");
    std::string line;
    if (std::getline(name, line) && line == "opd-worker 0") return std::stoi(thread.path().filename());
  }
  return 0;
}

// Must come first: it looks at the process before any launch.
TEST(AThreadPool, StartsNoThreadForALaunchOfOneTask) {
  ThreadCount one(1);
  const size_t before = threads_of_process();
  EXPECT_EQ(launch(0, [](int, ParallelGroup *group) { return group->num_task == 1 ? 0 : -1; }), 0);
  EXPECT_EQ(launch(1, [](int, ParallelGroup *) { return 0; }), 0);
  EXPECT_EQ(threads_of_process(), before);
}

// Faults are a worker's own: with their signals blocked, the process would end without the program's handler.
TEST(AThreadPool, LeavesSignalsToThreadsOfTheProgram) {
  ThreadCount three(3);
  std::mutex guard;
  size_t workers = 0, blocked = 0, faults = 0;
  launch(3, [&](int id, ParallelGroup *group) {
    parallel_barrier(id, group);
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    std::scoped_lock lock(guard);
    if (id == 0) {
      EXPECT_EQ(sigismember(&mask, SIGINT), 0);
      return 0;
    }
    ++workers;
    blocked += sigismember(&mask, SIGINT) == 1 && sigismember(&mask, SIGUSR1) == 1;
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) faults += sigismember(&mask, fault) == 0;
    return 0;
  });
  EXPECT_EQ(workers, 2u);
  EXPECT_EQ(blocked, workers);
  EXPECT_EQ(faults, 4 * workers);
}

#if defined(__GLIBC__)
TEST(AThreadPool, FreesTheWorkersOfAGangThatCannotStart) {
  const auto nothing = [](int, ParallelGroup *) { return 0; };
  ASSERT_EQ(launch(4, nothing), 0);
  pthread_attr_t usual, huge;
  ASSERT_EQ(pthread_getattr_default_np(&usual), 0);
  ASSERT_EQ(pthread_getattr_default_np(&huge), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&huge, size_t{1} << 47), 0);  // no address space has room for such a stack
  ASSERT_EQ(pthread_setattr_default_np(&huge), 0);
  EXPECT_EQ(launch(1000, nothing), -1);
  const Ref<Error> error = take_raised();
  EXPECT_EQ(error->code, OPD_OUT_OF_MEMORY);
  EXPECT_EQ(launch(4, nothing), 0) << "the three workers must be free again";
  ASSERT_EQ(pthread_setattr_default_np(&usual), 0);
}
#endif

TEST(AThreadPool, RunsEveryIdOnceAndPassesTheirNumber) {
  ThreadCount four(4);
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> sum{0}, count{0}, told{0};
    ASSERT_EQ(
        launch(0, [&](int id, ParallelGroup *group) { return sum += 1 << id, ++count, told = group->num_task, 0; }), 0);
    ASSERT_GE(told, 1);
    ASSERT_LE(told, 4);
    ASSERT_EQ(count, told);
    ASSERT_EQ(sum, (1 << told) - 1);
  }
}

TEST(AThreadPool, UsesAllIdleWorkersWhenNobodyElseLaunches) {
  ThreadCount three(3);
  std::atomic<int> told{0};
  ASSERT_EQ(launch(0, [&](int, ParallelGroup *group) { return told = group->num_task, 0; }), 0);
  EXPECT_EQ(told, 3);
}

TEST(AThreadPool, KeepsTaskZeroOnTheCaller) {
  ThreadCount two(2);
  std::thread::id runner;
  launch(0, [&](int id, ParallelGroup *) { return id == 0 ? runner = std::this_thread::get_id(), 0 : 0; });
  EXPECT_EQ(runner, std::this_thread::get_id());
}

TEST(AThreadPool, RunsTasksOnTheCallerIfTheWorkersGetNoProcessor) {
  ThreadCount two(2);
  launch(2, [](int id, ParallelGroup *group) { return parallel_barrier(id, group); });  // the worker exists
  struct sigaction hold {
  }, before{};
  hold.sa_handler = hold_thread;
  sigaction(SIGFPE, &hold, &before);
  const pid_t worker = first_worker();
  ASSERT_NE(worker, 0);
  ASSERT_EQ(syscall(SYS_tgkill, getpid(), worker, SIGFPE), 0);
  while (!is_held) std::this_thread::yield();
  std::atomic<bool> is_over{false};
  std::thread guard([&] {  // so that a pool which waits for the worker fails the test, and does not hang it
    for (int i = 0; i < 1000 && !is_over; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    is_released = true;
  });
  std::multiset<std::pair<int, std::thread::id>> ran;  // without a lock: only the calling thread may run a task
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(launch(0,
                     [&](int id, ParallelGroup *group) {
                       EXPECT_EQ(group->num_task, 2);
                       ran.emplace(id, std::this_thread::get_id());
                       return 0;
                     }),
              0);
  EXPECT_FALSE(is_released) << "the launches waited for the worker";
  const auto caller = std::this_thread::get_id();
  EXPECT_EQ(ran.count({0, caller}), 3U);
  EXPECT_EQ(ran.count({1, caller}), 3U);
  is_over = true;
  guard.join();
  sigaction(SIGFPE, &before, nullptr);
  launch(2, [](int id, ParallelGroup *group) { return parallel_barrier(id, group); });  // the worker takes part again
}

TEST(AThreadPool, RunsANestedLaunchSerially) {
  ThreadCount three(3);
  std::atomic<int> inner{0};
  std::atomic<bool> alone{true};
  ASSERT_EQ(launch(0,
                   [&](int, ParallelGroup *) {
                     const auto self = std::this_thread::get_id();
                     return launch(0, [&](int, ParallelGroup *group) {
                       alone = alone && group->num_task == 1 && std::this_thread::get_id() == self;
                       return ++inner, 0;
                     });
                   }),
            0);
  EXPECT_EQ(inner, 3);
  EXPECT_TRUE(alone);
  EXPECT_EQ(thread_state().parallel_depth, 0);
}

TEST(AThreadPool, RunsAnExplicitCountAsAGangThatMeetsAtBarriers) {
  ThreadCount two(2);
  for (const int tasks : {2, 3, 9, 40}) {
    std::vector<std::atomic<int>> phase(static_cast<size_t>(tasks));
    std::atomic<int> behind{0};
    ASSERT_EQ(launch(tasks,
                     [&](int id, ParallelGroup *group) {
                       for (int step = 1; step <= 5; ++step) {
                         phase[static_cast<size_t>(id)] = step;
                         if (parallel_barrier(id, group)) return -1;
                         for (auto &other : phase) behind += other < step;  // everybody has reached this step
                       }
                       return group->num_task == tasks ? 0 : -1;
                     }),
              0);
    EXPECT_EQ(behind, 0);
  }
}

TEST(AThreadPool, LetsGangsOfSeveralCallersMeetTheirBarriers) {
  ThreadCount two(2);
  std::atomic<int> failures{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      for (int round = 0; round < 20; ++round)
        failures += launch(4, [](int id, ParallelGroup *group) {
                      return parallel_barrier(id, group) | parallel_barrier(id, group);
                    }) != 0;
    });
  for (auto &caller : callers) caller.join();
  EXPECT_EQ(failures, 0);
}

TEST(AThreadPool, GivesANestedGangThreadsOfItsOwn) {
  ThreadCount two(2);
  std::atomic<int> inner{0};
  ASSERT_EQ(launch(3,
                   [&](int, ParallelGroup *) {
                     return launch(3,
                                   [&](int id, ParallelGroup *group) { return ++inner, parallel_barrier(id, group); });
                   }),
            0);
  EXPECT_EQ(inner, 9);
}

TEST(AThreadPool, CallsAnObserverForNestedTasks) {
  struct Count final : TaskObserver {
    std::atomic<int> begun{0}, ended{0};
    void *begin_task() noexcept override { return ++begun, this; }
    void end_task(void *state) noexcept override { ended += state == this; }
  } count;
  ThreadCount two(2);
  begin_observing_tasks(count);
  const auto nothing = [](int, ParallelGroup *) { return 0; };
  EXPECT_EQ(launch(2, [&](int, ParallelGroup *) { return launch(2, nothing); }), 0);
  end_observing_tasks(count);
  EXPECT_EQ(count.begun, 3) << "a worker's task, and one within each of both tasks; the caller's own are not told of";
  EXPECT_EQ(count.ended, 3);
  EXPECT_EQ(launch(2, nothing), 0);
  EXPECT_EQ(count.begun, 3);
}

// In whatever order the observers end.
TEST(AThreadPool, CallsEachObserverUntilItEnds) {
  struct Count final : TaskObserver {
    std::atomic<int> begun{0};
    void *begin_task() noexcept override { return ++begun, nullptr; }
    void end_task(void *) noexcept override {}
  } outer, middle, inner;
  const auto expect_told = [&](int of_outer, int of_middle, int of_inner) {
    EXPECT_EQ(launch(2, [](int, ParallelGroup *) { return 0; }), 0);
    EXPECT_EQ(outer.begun.exchange(0), of_outer);
    EXPECT_EQ(middle.begun.exchange(0), of_middle);
    EXPECT_EQ(inner.begun.exchange(0), of_inner);
  };
  for (TaskObserver *each : {&outer, &middle, &inner}) begin_observing_tasks(*each);
  expect_told(1, 1, 1);
  end_observing_tasks(outer);
  expect_told(0, 1, 1);
  end_observing_tasks(outer);  // which is none any more
  expect_told(0, 1, 1);
  end_observing_tasks(inner);
  expect_told(0, 1, 0);
  begin_observing_tasks(inner);
  begin_observing_tasks(outer);
  end_observing_tasks(inner);
  expect_told(1, 1, 0);
  end_observing_tasks(outer);
  end_observing_tasks(middle);
  expect_told(0, 0, 0);
  EXPECT_EQ(thread_state().task_observer, nullptr);
}

TEST(AThreadPool, SharesItsWorkersAmongCallers) {
  ThreadCount three(3);
  std::atomic<int> at_once{0}, most{0}, bad{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      for (int round = 0; round < 100; ++round) {
        std::atomic<int> ran{0}, told{0};
        launch(0, [&](int, ParallelGroup *group) {
          const int now = ++at_once;
          for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {}
          told = group->num_task;
          ++ran;
          --at_once;
          return 0;
        });
        bad += ran != told;
      }
    });
  for (auto &caller : callers) caller.join();
  EXPECT_EQ(bad, 0);
  EXPECT_LE(most, 4 + 2);  // four callers and the two workers that a count of three means
}

TEST(AThreadPool, GathersTheErrorsOfTasks) {
  const int rc = launch(4, [](int id, ParallelGroup *) {
    if (id % 2 == 0) return 0;
    set_raised(make_error(OPD_OUT_OF_RANGE, concat("bad row ", id)));
    return -1;
  });
  EXPECT_EQ(rc, -1);
  const auto error = take_raised();
  EXPECT_EQ(error->code, OPD_OUT_OF_RANGE);
  EXPECT_EQ(error->message, "Task 1: bad row 1; Task 3: bad row 3");
  ASSERT_NE(error->cause, nullptr);
  EXPECT_EQ(static_cast<Error *>(error->cause)->message, "bad row 1");
}

TEST(AThreadPool, CountsFailedTasksBeyondEight) {
  EXPECT_EQ(
      launch(12, [](int id, ParallelGroup *) { return set_raised(make_error(OPD_INTERNAL, concat("no ", id))), -1; }),
      -1);
  const std::string message = take_raised()->message;
  EXPECT_TRUE(message.starts_with("Task 0: no 0; Task 1: no 1; ")) << message;
  EXPECT_TRUE(message.ends_with("Task 7: no 7; and 4 more tasks failed")) << message;
}

TEST(AThreadPool, GathersErrorsOfTasksThatWereCancelledIfThereAreNoOthers) {
  const auto fail_with = [](opd_code code, int id) { return set_raised(make_error(code, concat("no ", id))), -1; };
  EXPECT_EQ(launch(3, [&](int id, ParallelGroup *) { return fail_with(OPD_CANCELLED, id); }), -1);
  auto error = take_raised();
  EXPECT_EQ(error->code, OPD_CANCELLED);
  EXPECT_EQ(error->message, "Task 0: no 0; Task 1: no 1; Task 2: no 2");
  EXPECT_EQ(launch(5, [&](int id, ParallelGroup *) { return fail_with(id % 2 ? OPD_NOT_FOUND : OPD_CANCELLED, id); }),
            -1);
  error = take_raised();
  EXPECT_EQ(error->code, OPD_NOT_FOUND);
  EXPECT_EQ(error->message, "Task 1: no 1; Task 3: no 3");
  EXPECT_EQ(static_cast<Error *>(error->cause)->message, "no 1");
  EXPECT_EQ(launch(12, [&](int id, ParallelGroup *) { return fail_with(id < 10 ? OPD_CANCELLED : OPD_NOT_FOUND, id); }),
            -1);
  EXPECT_EQ(take_raised()->message, "Task 10: no 10; Task 11: no 11") << "they are counted anew";
}

TEST(AThreadPool, LeavesTheErrorOfASingleTaskAsItIs) {
  EXPECT_EQ(launch(1, [](int, ParallelGroup *) { return set_raised(make_error(OPD_NOT_FOUND, "gone")), -1; }), -1);
  EXPECT_EQ(take_raised()->message, "gone");
}

TEST(AThreadPool, TurnsAnExceptionOfATaskIntoItsError) {
  EXPECT_EQ(launch(2, [](int id, ParallelGroup *) -> int { return id == 1 ? throw std::runtime_error("thrown") : 0; }),
            -1);
  EXPECT_EQ(take_raised()->message, "Task 1: thrown");
}

TEST(AThreadPool, DoesNotLetABarrierWaitForATaskThatFailed) {
  EXPECT_EQ(launch(3,
                   [](int id, ParallelGroup *group) {
                     if (id != 1) return parallel_barrier(id, group);
                     set_raised(make_error(OPD_CALL_FAILED, "broken"));
                     return -1;
                   }),
            -1);
  EXPECT_EQ(take_raised()->message, "Task 1: broken");  // the others only stopped because of it
}

TEST(AThreadPool, RefusesTaskCountsOutsideOfTheRange) {
  for (const int32_t count : {-1, 1025, INT32_MAX}) {
    EXPECT_EQ(launch(count, [](int, ParallelGroup *) { return 0; }), -1);
    EXPECT_EQ(take_raised()->code, OPD_OUT_OF_RANGE);
  }
}

TEST(AThreadPool, RefusesThreadCountsOutsideOfItsRange) {
  EXPECT_THROW(set_thread_count(-1), Exception);
  EXPECT_THROW(set_thread_count(1025), Exception);
  set_thread_count(1024);
  EXPECT_EQ(thread_count(), 1024);
  set_thread_count(0);
  EXPECT_GE(thread_count(), 1);
}

TEST(AThreadPool, ReadsItsSizeFromTheEnvironmentInOrder) {
  setenv("OMP_NUM_THREADS", "7,2", 1);
  set_thread_count(0);
  EXPECT_EQ(thread_count(), 7);
  setenv("TVM_NUM_THREADS", "6", 1);
  set_thread_count(0);
  EXPECT_EQ(thread_count(), 6);
  for (const char *none : {"many", "0", "-2", "3x", "4 ", "99999999999"}) {  // the next one counts
    setenv("OPDYNO_NUM_THREADS", none, 1);
    const opdyno_test::LogMessages log;
    set_thread_count(0);
    EXPECT_EQ(thread_count(), 6) << none;
    EXPECT_EQ(log.text(),
              concat("OPDYNO_NUM_THREADS is \"", none, "\", which is not a number of threads; it is ignored\n"));
  }
  setenv("OPDYNO_NUM_THREADS", "", 1);
  {
    const opdyno_test::LogMessages log;
    set_thread_count(0);
    EXPECT_EQ(thread_count(), 6);
    EXPECT_EQ(log.text(), "") << "as if it were not set";
  }
  setenv("OPDYNO_NUM_THREADS", "2000", 1);
  set_thread_count(0);
  EXPECT_EQ(thread_count(), 1024) << "the most";
  setenv("OPDYNO_NUM_THREADS", "5", 1);
  set_thread_count(0);
  EXPECT_EQ(thread_count(), 5);
  for (const char *name : {"OPDYNO_NUM_THREADS", "TVM_NUM_THREADS", "OMP_NUM_THREADS"}) unsetenv(name);
  set_thread_count(0);
}

TEST(AThreadPool, WakesWorkersThatSleep) {
  ThreadCount two(2);
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // longer than they wait actively
    std::atomic<int> ran{0};
    ASSERT_EQ(launch(0, [&](int, ParallelGroup *) { return ++ran, 0; }), 0);
    ASSERT_EQ(ran, 2);
  }
}

TEST(AThreadPool, WaitsForTasksThatTakeLong) {
  ThreadCount two(2);
  std::atomic<bool> done{false};
  launch(0, [&](int id, ParallelGroup *) {
    if (id == 1) std::this_thread::sleep_for(std::chrono::milliseconds(5)), done = true;
    return 0;
  });
  EXPECT_TRUE(done);
}

// A launch of two tasks, after which the worker may use `processors` only. Whether its threads were to spin.
bool spins_and_pins(const cpu_set_t &processors) {
  bool spins = false;
  launch(2, [&](int id, ParallelGroup *group) {
    if (id == 0) spins = group->spins;
    else sched_setaffinity(0, sizeof processors, &processors);
    return 0;
  });
  return spins;
}

// A thread that spins keeps its processor. If the thread that it waits for needs the same processor, both lose time.
TEST(AThreadPool, SpinsOnlyIfItsThreadsHaveAProcessorEach) {
  std::thread([] {
    cpu_set_t all, first, rest;
    ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    if (CPU_COUNT(&all) < 2 || usable_processors() < 2) GTEST_SKIP() << "only one processor may be used here";
    CPU_ZERO(&first);
    rest = all;
    for (size_t cpu = 0; CPU_COUNT(&first) == 0; ++cpu)
      if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &first), CPU_CLR(cpu, &rest);
    ASSERT_EQ(sched_setaffinity(0, sizeof first, &first), 0);
    spins_and_pins(first);
    spins_and_pins(first);  // the worker notes where it runs
    EXPECT_FALSE(spins_and_pins(rest));
    spins_and_pins(rest);
    EXPECT_TRUE(spins_and_pins(all));
    launch(3, [](int id, ParallelGroup *group) {
      parallel_barrier(id, group);  // also passed where nobody spins
      return 0;
    });
  }).join();
}

#ifndef OPDYNO_THREAD_SANITIZER  // which allows no threads in a child of a process with threads
int wait_for(pid_t child) {
  for (int tries = 0; tries < 1000; ++tries, usleep(10'000)) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return -2;  // it hung
}

TEST(AThreadPool, StartsNewWorkersInAForkedChild) {
  ThreadCount three(3);
  std::atomic<bool> stop{false};
  std::thread busy;
#ifndef OPDYNO_ADDRESS_SANITIZER  // a thread that starts, ends or allocates may leave its locks taken in the child
  busy = std::thread([&] {
    while (!stop) launch(0, [](int, ParallelGroup *) { return 0; });
  });
#endif
  for (int round = 0; round < 10; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      std::atomic<int> ran{0};
      const int rc = launch(0, [&](int, ParallelGroup *) { return ++ran, 0; }) |
                     launch(5, [&](int, ParallelGroup *) { return ++ran, 0; });
      _exit(rc == 0 && ran == 3 + 5 ? 0 : 1);
    }
    EXPECT_EQ(wait_for(child), 0);
  }
  stop = true;
  if (busy.joinable()) busy.join();
}

// The forked child has only the launching thread. Once its launch has ended with an error, it launches again.
TEST(AThreadPool, TakesNoWorkerOfItsParentAfterATaskForked) {
  ThreadCount three(3);
  launch(0, [](int, ParallelGroup *) { return 0; });
  std::atomic<int> child_status{-3}, started{0};
  std::atomic<bool> forked{false};
  const int rc = launch(3, [&](int id, ParallelGroup *) {
    ++started;
    while (id != 0 && !forked) std::this_thread::yield();  // or the child would miss nobody
    if (id != 0) return 0;
    while (started < 3) std::this_thread::yield();
    const pid_t child = fork();
    forked = true;
    if (child != 0) child_status = wait_for(child);
    return 0;
  });
  if (child_status == -3) {
    std::atomic<int> ran{0};
    const bool refused = rc == -1 && take_raised()->code == OPD_FAILED_PRECONDITION;
    _exit(refused && launch(3, [&](int, ParallelGroup *) { return ++ran, 0; }) == 0 && ran == 3 ? 0 : 1);
  }
  EXPECT_EQ(rc, 0);
  EXPECT_EQ(child_status, 0);
}

TEST(AThreadPool, DoesNotHangWhenATaskForks) {
  ThreadCount two(2);
  std::atomic<int> child_status{-3};
  const int rc = launch(0, [&](int id, ParallelGroup *group) {
    if (group->num_task != 2) return 0;
    if (id == 1) return usleep(100'000), 0;  // still at work when the other one forks
    const pid_t child = fork();
    if (child != 0) child_status = wait_for(child);
    return child == 0 ? 7 : 0;  // in the child, 7 comes from nowhere: the launch must end with an error by itself
  });
  if (child_status == -3) _exit(rc == -1 && take_raised()->code == OPD_FAILED_PRECONDITION ? 0 : 1);
  EXPECT_EQ(rc, 0);
  EXPECT_EQ(child_status, 0);
}
#endif

}  // namespace
}  // namespace opd
