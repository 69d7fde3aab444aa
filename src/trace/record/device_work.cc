#include "trace/record/device_work.h"

#include <pthread.h>

#include <algorithm>
#include <mutex>
#include <semaphore>
#include <thread>
#include <utility>
#include <vector>

#include "base/signals.h"
#include "trace/record/device_activity.h"
#include "trace/record/recorder.h"

namespace opd {

std::atomic<ActivitySource *> detail::running_activity{nullptr};

namespace {

// The longest time that work waits in the queue. Waking the thread for each launch would cost the launching thread
// microseconds, so it is woken only if there was no work for this long.
constexpr std::chrono::milliseconds kInterval{10};
constexpr size_t kMostPending = size_t{1} << 20;
constexpr size_t kManyPending = kMostPending / 64;  // from this many on, the thread is woken

struct Pending {
  LaunchedWork launched;
  WorkLauncher by;
  std::unique_ptr<PendingWork> work;  // null: signals when all work before it is done
};

class Queue {
 public:
  static Queue &get() {
    static auto *queue = new Queue;  // never destroyed: the thread sleeps while the process exits
    return *queue;
  }

  void add(Pending pending) {
    bool wakes;
    {
      const std::scoped_lock lock(guard_);
      start_thread();
      if (!runs_ || pending_.size() >= kMostPending) return void(++lost_);
      pending_.push_back(std::move(pending));
      ++added_;
      wakes = sleeps_ || pending_.size() == kManyPending;
      sleeps_ = false;
    }
    if (wakes) wake_->release();
  }
  void lose() {
    const std::scoped_lock lock(guard_);
    ++lost_;
  }

  // `most`: the longest wait; zero: waits until the work has ended.
  void finish(std::chrono::milliseconds most) {
    uint64_t wanted, lost = 0;
    {
      const std::scoped_lock lock(guard_);
      if (generation_ != fork_generation()) return;
      if (!runs_) lost = std::exchange(lost_, 0);  // no thread could be started
      if (runs_) pending_.emplace_back();          // an item without work makes the thread count lost work, too
      wanted = runs_ ? ++added_ : 0;
    }
    if (lost) count_lost_work(lost);
    if (!wanted) return;
    wake_->release();
    if (most.count() == 0) {
      for (uint64_t done = done_.load(); done < wanted; done = done_.load()) done_.wait(done);
      return;
    }
    constexpr std::chrono::microseconds kStep{200};
    for (const auto end = std::chrono::steady_clock::now() + most;
         done_.load() < wanted && std::chrono::steady_clock::now() < end;)
      std::this_thread::sleep_for(kStep);
  }

 private:
  // Called under the guard. A forked child does not have the thread, and the submitted work is its parent's.
  void start_thread() {
    if (generation_ != fork_generation()) {
      for (Pending &each : pending_) (void)each.work.release();
      pending_.clear();
      (void)wake_.release();  // the parent's thread may have held it
      wake_ = std::make_unique<std::counting_semaphore<>>(0);
      added_ = lost_ = 0, done_ = 0, runs_ = false;
      generation_ = fork_generation();
    }
    if (runs_) return;
    const auto body = [](void *queue) -> void * { static_cast<Queue *>(queue)->run(); };
    pthread_t thread;
    runs_ = start_library_thread("opdyno-device", body, this, thread);
    if (runs_) pthread_detach(thread);
  }

  [[noreturn]] void run() noexcept {
    for (bool was_idle = false;;) {
      std::vector<Pending> taken;
      uint64_t lost;
      {
        const std::scoped_lock lock(guard_);
        taken.swap(pending_);
        lost = std::exchange(lost_, 0);
        sleeps_ = taken.empty() && was_idle;
      }
      if (lost) count_lost_work(lost);
      told_.clear();
      for (Pending &each : taken) {
        WorkTimes times;
        if (each.work) {
          if (each.work->finish(each.launched.launch, times)) add_events(each, times);
          else count_lost_work(1);
        }
        each.work.reset();
        done_.fetch_add(1);
        done_.notify_all();
      }
      const bool is_idle = taken.empty();
      if (is_idle && was_idle) wake_->acquire();
      else if (is_idle) (void)wake_->try_acquire_for(kInterval);
      was_idle = is_idle;
    }
  }

  // The clock's event comes first, so that a trace with the work also has the clock that converted its times. One event
  // is enough for all work that is read together, unless the error has grown. All running recordings get the event,
  // whenever they began, because work of each of them may follow.
  void add_events(const Pending &pending, const WorkTimes &times) noexcept {
    const LaunchedWork &launched = pending.launched;
    const auto is_same = [&](const Told &told) { return same(told.device, launched.device); };
    const auto told = std::ranges::find_if(told_, is_same);
    if (told == told_.end() || told->error_ns < times.clock.error_ns) {
      add_clock_event(launched.device, ticks_of(tick_clock()), times.clock);
      try {
        if (told == told_.end()) told_.push_back({launched.device, times.clock.error_ns});
        else told->error_ns = times.clock.error_ns;
      } catch (const std::bad_alloc &) {}  // the clock is reported again later
    }
    add_work_event(launched, pending.by, times.work);
  }

  struct Told {
    DLDevice device;
    uint64_t error_ns;
  };
  std::vector<Told> told_;  // clocks of devices; used by the thread only

  ForkMutex guard_{LockRank::kDeviceWork};
  std::vector<Pending> pending_;
  uint64_t added_ = 0, lost_ = 0;
  bool runs_ = false, sleeps_ = false;
  uint32_t generation_ = fork_generation();
  std::atomic<uint64_t> done_{0};
  std::unique_ptr<std::counting_semaphore<>> wake_ = std::make_unique<std::counting_semaphore<>>(0);
};

}  // namespace

void add_device_work(const LaunchedWork &launched, std::unique_ptr<PendingWork> work) noexcept try {
  Queue::get().add({launched, launcher_of_work(), std::move(work)});
} catch (const std::bad_alloc &) { Queue::get().lose(); }

void finish_device_work(std::chrono::milliseconds most) noexcept try {
  Queue::get().finish(most);
} catch (const std::bad_alloc &) {}

}  // namespace opd
