#include "device/cpu/worker_watch.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/thread_state.h"
#include "device/cpu/thread_pool.h"
#include "device/fork_mutex.h"

namespace opd {
namespace {

struct Watches {
  struct Entry {
    uint32_t number;
    WorkerWatch *watch;
  };
  ForkMutex guard{4};
  std::vector<Entry> entries;

  static Watches &get() {
    static auto *watches = new Watches;  // never destroyed: workers sleep while the process exits
    return *watches;
  }
};

// From the start: a child that is forked while another thread makes it would wait for that thread, which it lacks.
[[maybe_unused]] const Watches &made_at_load = Watches::get();

}  // namespace

constinit std::atomic<uint32_t> newest_watch{0};

void add_worker_watch(WorkerWatch &watch) {
  Watches &watches = Watches::get();
  std::scoped_lock lock(watches.guard);
  const uint32_t number = newest_watch.load(std::memory_order_relaxed) + 1;
  watches.entries.push_back({number, &watch});
  newest_watch.store(number, std::memory_order_release);
}

void remove_worker_watch(WorkerWatch &watch) noexcept {
  Watches &watches = Watches::get();
  std::scoped_lock lock(watches.guard);
  std::erase_if(watches.entries, [&](const auto &entry) { return entry.watch == &watch; });
}

uint32_t join_watches(uint32_t seen) noexcept {
  Watches &watches = Watches::get();
  std::scoped_lock lock(watches.guard);
  for (const auto &entry : watches.entries)
    if (static_cast<int32_t>(entry.number - seen) > 0) entry.watch->joined();
  return newest_watch.load(std::memory_order_relaxed);
}

void begin_watching_tasks(TaskWatch &watch) noexcept {
  watch.outer = static_cast<TaskWatch *>(thread_state().task_watch);
  thread_state().task_watch = &watch;
}

void end_watching_tasks(TaskWatch &watch) noexcept {
  auto *last = static_cast<TaskWatch *>(thread_state().task_watch);
  if (last == &watch) return void(thread_state().task_watch = watch.outer);
  while (last && last->outer != &watch) last = last->outer;
  if (last) last->outer = watch.outer;
}

void gather_workers() {
  const auto nothing = [](int, ParallelGroup *, void *) { return 0; };
  if (parallel_launch(nothing, nullptr, 0)) (void)take_raised();
}

}  // namespace opd
