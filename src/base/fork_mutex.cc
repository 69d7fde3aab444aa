#include "base/fork_mutex.h"

#include <sched.h>
#include <time.h>

#include <cassert>

#include "base/static_guard.h"

#ifdef OPD_RACE_DETECTOR
extern "C" void AnnotateRWLockReleased(const char *file, int line, const volatile void *lock, long is_write);
#endif

namespace opd {
namespace {

constexpr auto kRanks = static_cast<size_t>(LockRank::kCount);
constexpr auto kFirstTaken = static_cast<size_t>(LockRank::kLoader);

}  // namespace

// All locks by rank. `guard` protects the lists. It is held briefly, or while a fork holds all locks. So threads may
// make and destroy locks while they hold others.
struct ForkLinks {
  std::mutex guard;
  std::mutex forking;  // one fork at a time
  ForkLink *first[kRanks] = {};

  static ForkLinks &all() {
    static auto *instance = [] {
      pthread_atfork(&before, &after_in_parent, &after_in_child);
      return new ForkLinks;  // never destroyed: locks may be used while the process exits
    }();
    return *instance;
  }

  static bool take(ForkLink &link) {
    if (!link.taken_by_fork_) link.taken_by_fork_ = link.actions_.try_take(link.lock_);
    return link.taken_by_fork_;
  }
  static void give_back(ForkLink &link) {
    if (link.taken_by_fork_) link.actions_.give_back(link.lock_);
    link.taken_by_fork_ = false;
  }

  // Takes all locks in order, up to the first one that another thread holds. Returns that lock's rank, or kRanks if all
  // locks are taken.
  size_t take_up_to_first_held() {
    for (size_t rank = kFirstTaken; rank < kRanks; ++rank)
      for (ForkLink *link = first[rank]; link; link = link->next_)
        if (!take(*link)) return rank;
    return kRanks;
  }

  // Gives back the locks of rank `begin` and higher. A thread that holds a lock of rank `begin` - 1 may wait for these,
  // but never for a lower one. So the lower ones stay taken.
  void give_back_from(size_t begin) {
    for (size_t rank = begin; rank < kRanks; ++rank)
      for (ForkLink *link = first[rank]; link; link = link->next_) give_back(*link);
  }

  static void before() {
    // 5 s. After that, the fork continues without the missing locks, because it must not wait forever.
    constexpr int kMostMoments = 50'000;
    constexpr timespec kMoment{0, 100'000};
    all().forking.lock();
    for (int turn = 0;; ++turn) {
      all().guard.lock();
      const size_t held = all().take_up_to_first_held();
      if (held == kRanks || turn == kMostMoments) return;  // keeps `guard`, so that no lock is made or destroyed
      all().give_back_from(held + 1);
      all().guard.unlock();
      if (turn < 16) sched_yield();
      else nanosleep(&kMoment, nullptr);
    }
  }

  static void after_in_parent() {
    all().give_back_from(kFirstTaken);
    all().guard.unlock();
    all().forking.unlock();
  }

  static void after_in_child() {
    for (ForkLink *head : all().first)
      for (ForkLink *link = head; link; link = link->next_) {
        link->actions_.make_free(link->lock_, link->taken_by_fork_);
        link->taken_by_fork_ = false;
      }
    all().guard.unlock();
    all().forking.unlock();
  }

  void add(ForkLink &link) {
    std::scoped_lock lock(guard);
    ForkLink *&head = first[static_cast<size_t>(link.rank_)];
    link.next_ = head;
    link.place_ = &head;
    if (head) head->place_ = &link.next_;
    head = &link;
  }
  void remove(ForkLink &link) {
    std::scoped_lock lock(guard);
    *link.place_ = link.next_;
    if (link.next_) link.next_->place_ = link.place_;
  }
};

ForkLink::ForkLink(LockRank rank, void *lock, const Actions &actions) : rank_(rank), lock_(lock), actions_(actions) {
  ForkLinks::all().add(*this);
}
ForkLink::~ForkLink() { ForkLinks::all().remove(*this); }

#ifndef NDEBUG
// The numbers of locks of each rank that the calling thread holds.
static constinit thread_local uint8_t held_here[kRanks] __attribute__((tls_model("initial-exec"))) = {};

void ForkLink::check_order() const {
  for (auto rank = static_cast<size_t>(rank_); rank < kRanks; ++rank)
    assert(!held_here[rank] && "the thread holds a lock of this rank or of a higher one: see LockRank");
}
void ForkLink::note_held() const { ++held_here[static_cast<size_t>(rank_)]; }
void ForkLink::note_free() const { --held_here[static_cast<size_t>(rank_)]; }
#endif

void tell_race_detector_of_release([[maybe_unused]] void *lock) {
#ifdef OPD_RACE_DETECTOR
  AnnotateRWLockReleased(__FILE__, __LINE__, lock, 1);
#endif
}

bool RecursiveForkMutex::try_take() { return is_held_here() || mutex_.try_lock(); }

void RecursiveForkMutex::give_back() {
  if (!is_held_here()) mutex_.unlock();
}

void RecursiveForkMutex::make_free(bool was_taken) {
  if (is_held_here()) return;  // the holder forked, and continues in the child
  if (was_taken) return mutex_.unlock();
  new (&mutex_) std::mutex;
  holder_.store(pthread_t{}, std::memory_order_relaxed);
  depth_ = 0;
}

// ---- the dynamic loader

namespace {

constinit thread_local int loader_calls_here __attribute__((tls_model("initial-exec"))) = 0;

// A lock that counts as held while any thread other than the forking one is inside a call of the dynamic loader.
class LoaderCalls {
 public:
  void begin() {
    link_.check_order();
    std::scoped_lock lock(mutex_);
    ++under_way_, ++loader_calls_here;
  }
  void end() {
    std::scoped_lock lock(mutex_);
    --under_way_, --loader_calls_here;
  }

 private:
  friend ForkLink;
  bool try_take() {
    if (!mutex_.try_lock()) return false;
    if (under_way_ == loader_calls_here) return true;
    mutex_.unlock();
    return false;
  }
  void give_back() { mutex_.unlock(); }
  void make_free(bool was_taken) {
    under_way_ = loader_calls_here;
    if (was_taken) mutex_.unlock();
    else new (&mutex_) std::mutex;
  }

  std::mutex mutex_;
  int under_way_ = 0;
  ForkLink link_{LockRank::kLoader, this};
};

LoaderCalls &loader_calls() {
  static auto *calls = new LoaderCalls;
  return *calls;
}

}  // namespace

LoaderCall::LoaderCall() { loader_calls().begin(); }
LoaderCall::~LoaderCall() { loader_calls().end(); }

RecursiveForkMutex &initializer_mutex() {
  static auto *mutex = new RecursiveForkMutex(LockRank::kInitializer);
  return *mutex;
}

// Made at load, because a destructor that uses them must not run out of memory.
[[maybe_unused]] static const void *const locks_made_at_load[] = {&loader_calls(), &initializer_mutex()};

}  // namespace opd
