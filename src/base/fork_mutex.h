// The locks of the library: fork() leaves each of them usable in the child, and all are taken in one order.
// Cost: that of a std::mutex or std::shared_mutex. Builds without NDEBUG also check the order.
#pragma once
#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <type_traits>

namespace opd {

// A thread that holds a lock may take only locks of a higher rank. So no two threads wait for each other, and fork(),
// which takes the locks in this order, waits for no thread that waits for it.
enum class LockRank : uint8_t {
  // Held while foreign code runs, or a compiler. fork() neither waits for these nor takes them: a child makes them anew
  // and begins the work anew. What they guard must be whole at every moment: one flag or one pointer.
  kInitializer,
  kSource,
  kPapi,
  kInPlace,
  // Held for a few instructions or system calls. fork() takes them, so that what they guard is whole in the child.
  kLoader,  // first: constructors of a library that is being loaded may take any other lock
  kSystemLibrary,
  kImports,
  kOperatorNames,
  kModule,
  kLookedUp,
  kParams,
  kKnownVms,
  kVm,
  kVmState,
  kSession,
  kWorkerObservers,
  kCollectorSet,
  kCounterCollector,
  kPapiCounters,
  kKvCache,
  kTensorCache,
  kHostFunctions,
  kCancel,
  kRunHooks,
  kCallHooks,
  kClosure,
  kTypes,
  kRegistry,
  kKeptModules,
  kModuleKinds,
  kSymbols,
  kCompilers,
  kLibraryCache,
  kDevices,
  kPool,
  kMemorySource,
  kWorkers,
  kPeakWindows,
  kLog,
  kCount
};

// A lock's place among all. It is the last member of the lock, so that fork() finds whole locks only. Locks may be made
// and destroyed at any time, also by threads that hold others.
class ForkLink {
 public:
  template <class Lock>
  ForkLink(LockRank rank, Lock *lock) : ForkLink(rank, lock, kActions<Lock>) {}
  ~ForkLink();
  ForkLink(const ForkLink &) = delete;
  ForkLink &operator=(const ForkLink &) = delete;

#ifdef NDEBUG
  void check_order() const {}
  void note_held() const {}
  void note_free() const {}
#else
  // A thread that breaks the order may wait for ever, once in a million times. Here it fails each time.
  void check_order() const;
  void note_held() const;
  void note_free() const;
#endif

 private:
  friend struct ForkLinks;
  struct Actions {
    bool (*try_take)(void *lock);                   // by the thread that forks
    void (*give_back)(void *lock);                  // in the parent, by the same thread
    void (*make_free)(void *lock, bool was_taken);  // in the child, where the other threads are not
  };
  template <class Lock>
  static constexpr Actions kActions = {
      [](void *lock) { return static_cast<Lock *>(lock)->try_take(); },
      [](void *lock) { static_cast<Lock *>(lock)->give_back(); },
      [](void *lock, bool was_taken) { static_cast<Lock *>(lock)->make_free(was_taken); }};
  ForkLink(LockRank rank, void *lock, const Actions &actions);

  const LockRank rank_;
  bool taken_by_fork_ = false;
  void *const lock_;
  const Actions &actions_;
  ForkLink *next_ = nullptr, **place_ = nullptr;  // among those of the rank; what points here
};

// ThreadSanitizer keeps a record of its own of who holds a lock.
void tell_race_detector_of_release(void *lock);

template <class M>
class ForkMutexOf {
 public:
  explicit ForkMutexOf(LockRank rank) : link_(rank, this) {}
  void lock() {
    link_.check_order();
    mutex_.lock();
    link_.note_held();
  }
  void unlock() {
    link_.note_free();
    mutex_.unlock();
  }
  void lock_shared() {
    link_.check_order();
    mutex_.lock_shared();
    link_.note_held();
  }
  void unlock_shared() {
    link_.note_free();
    mutex_.unlock_shared();
  }

 private:
  friend ForkLink;
  bool try_take() { return mutex_.try_lock(); }
  void give_back() { mutex_.unlock(); }
  void make_free(bool was_taken) {
    // A std::shared_mutex remembers its holder by a thread number of the kernel, which is another one in the child.
    if (was_taken && std::is_same_v<M, std::mutex>) return mutex_.unlock();
    if (was_taken) tell_race_detector_of_release(&mutex_);
    new (&mutex_) M;
  }

  M mutex_;
  ForkLink link_;
};
using ForkMutex = ForkMutexOf<std::mutex>;
using ForkSharedMutex = ForkMutexOf<std::shared_mutex>;

// The same for a thread that may take it again while it holds it.
class RecursiveForkMutex {
 public:
  explicit RecursiveForkMutex(LockRank rank) : link_(rank, this) {}
  void lock() {
    if (is_held_here()) return void(++depth_);
    link_.check_order();
    mutex_.lock();
    link_.note_held();
    holder_.store(pthread_self(), std::memory_order_relaxed);
  }
  void unlock() {
    if (depth_ > 0) return void(--depth_);
    holder_.store(pthread_t{}, std::memory_order_relaxed);
    link_.note_free();
    mutex_.unlock();
  }
  bool is_held_here() const { return holder_.load(std::memory_order_relaxed) == pthread_self(); }

 private:
  friend ForkLink;
  bool try_take();
  void give_back();
  void make_free(bool was_taken);

  std::mutex mutex_;
  std::atomic<pthread_t> holder_{};
  int depth_ = 0;  // of the holder, beyond the first
  ForkLink link_;
};

// Around every call of the dynamic loader: fork() waits until no other thread is within one, since the loader would be
// of no use to the child. Threads do not wait for each other. They must not: the loader calls constructors of foreign
// libraries with a lock of its own, and these may call the library.
class LoaderCall {
 public:
  LoaderCall();
  ~LoaderCall();
  LoaderCall(const LoaderCall &) = delete;
};

// How many fork() calls lie between the start of the process and here: a child's number differs from its parent's.
uint32_t fork_generation() noexcept;

// The lock around initialisers of libraries. One for all: an initialiser may look up what others initialise, so with a
// lock for each, two threads could wait for each other.
RecursiveForkMutex &initializer_mutex();

}  // namespace opd
