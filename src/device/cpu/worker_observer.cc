#include "device/cpu/worker_observer.h"

#include <vector>

#include "base/error.h"
#include "base/fork_mutex.h"
#include "base/thread_state.h"
#include "device/cpu/thread_pool.h"

namespace opd {
namespace {

struct ObserverList {
  struct Entry {
    uint32_t number;
    WorkerObserver *observer;
  };
  ForkMutex guard{LockRank::kWorkerObservers};
  std::vector<Entry> entries;

  static ObserverList &get() {
    static auto *observers = new ObserverList;  // never destroyed: workers sleep while the process exits
    return *observers;
  }
};

}  // namespace

constinit std::atomic<uint32_t> newest_observer{0};

void add_worker_observer(WorkerObserver &observer) {
  ObserverList &observers = ObserverList::get();
  std::scoped_lock lock(observers.guard);
  const uint32_t number = newest_observer.load(std::memory_order_relaxed) + 1;
  observers.entries.push_back({number, &observer});
  newest_observer.store(number, std::memory_order_release);
}

void remove_worker_observer(WorkerObserver &observer) noexcept {
  ObserverList &observers = ObserverList::get();
  std::scoped_lock lock(observers.guard);
  std::erase_if(observers.entries, [&](const auto &entry) { return entry.observer == &observer; });
}

uint32_t join_observers(uint32_t seen) noexcept {
  ObserverList &observers = ObserverList::get();
  std::scoped_lock lock(observers.guard);
  for (const auto &entry : observers.entries)
    if (static_cast<int32_t>(entry.number - seen) > 0) entry.observer->joined();
  return newest_observer.load(std::memory_order_relaxed);
}

void begin_observing_tasks(TaskObserver &observer) noexcept {
  observer.outer = static_cast<TaskObserver *>(thread_state().task_observer);
  thread_state().task_observer = &observer;
}

void end_observing_tasks(TaskObserver &observer) noexcept {
  auto *last = static_cast<TaskObserver *>(thread_state().task_observer);
  if (last == &observer) return void(thread_state().task_observer = observer.outer);
  while (last && last->outer != &observer) last = last->outer;
  if (last) last->outer = observer.outer;
}

void gather_workers() {
  const auto nothing = [](int, ParallelGroup *, void *) { return 0; };
  if (parallel_launch(nothing, nullptr, 0)) (void)take_raised();
}

}  // namespace opd
