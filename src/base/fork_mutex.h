// The locks of the library. fork() leaves each of them usable in the child, and all are taken in one order. Cost: the
// same as std::mutex or std::shared_mutex. Builds without NDEBUG also check the order.
#pragma once
#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <type_traits>

namespace opd {

// A thread that holds a lock may take only locks of a higher rank. So no two threads wait for each other. fork() takes
// the locks in this order, too, so it never waits for a thread that waits for it.
enum class LockRank : uint8_t {
  // These locks are held while foreign code or a compiler runs. fork() neither waits for them nor takes them: the child
  // reinitialises them and starts the work again. So the guarded data must always be consistent: one flag or one
  // pointer.
  kInitializer,
  kSource,
  kPapi,
  kDeviceKernel,
  kDeviceStaging,
  kDeviceQueue,
  kInPlace,
  // These locks are held for a few instructions or system calls. fork() takes them, so that the guarded data are
  // consistent in the child.
  kLoader,  // comes first: constructors of a library being loaded may take any other lock
  kSystemLibrary,
  kImports,
  kOperatorNames,
  kModule,
  kLookedUp,
  kParams,
  kKnownVms,
  kVm,
  kVmState,
  kControl,  // held while recordings of clients start and end
  kTelemetrySessions,
  kTelemetry,  // held while events are read
  kTelemetrySockets,
  kSnapshots,
  kProfiles,
  kDumps,
  kKvCache,  // held while tensors are made, which recordings note
  kDeviceWork,
  kRecorder,
  kAlarmSignals,
  kTrack,
  kOpenSpans,
  kEventFiles,
  kEventFile,
  kThreadBlock,
  kChunks,
  kWorkerObservers,
  kCollectorSet,
  kCounterCollector,
  kPapiCounters,
  kPapiTables,
  kTensorCache,
  kHostFunctions,
  kCancel,
  kRunHooks,
  kCallHooks,
  kClosure,
  kStacks,
  kHostSymbols,
  kNames,
  kTypes,
  kRegistry,
  kKeptModules,
  kModuleKinds,
  kSymbols,
  kCompilers,
  kLibraryCache,
  kDeviceTables,
  kDevices,
  kPool,
  kMemorySource,
  kWorkers,
  kPeakWindows,
  kRemote,
  kLog,
  kCount
};

// Registers a lock in the list of all locks. It is the last member of each lock, so that fork() sees only complete
// locks. Locks may be made and destroyed at any time, even by threads that hold others.
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
  // A thread that breaks the order deadlocks only rarely. These checks make it fail every time.
  void check_order() const;
  void note_held() const;
  void note_free() const;
#endif

 private:
  friend struct ForkLinks;
  struct Actions {
    bool (*try_take)(void *lock);                   // called by the forking thread
    void (*give_back)(void *lock);                  // called in the parent, by the same thread
    void (*make_free)(void *lock, bool was_taken);  // called in the child, which has no other threads
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
  ForkLink *next_ = nullptr, **place_ = nullptr;  // next in the list of this rank; the pointer that points here
};

// Reports to ThreadSanitizer that a lock was released without unlock(). ThreadSanitizer has its own record of lock
// holders.
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
    // A std::shared_mutex stores the kernel's thread ID of its holder. This ID differs in the child, so unlock() would
    // not work.
    if (was_taken && std::is_same_v<M, std::mutex>) return mutex_.unlock();
    if (was_taken) tell_race_detector_of_release(&mutex_);
    new (&mutex_) M;
  }

  M mutex_;
  ForkLink link_;
};
using ForkMutex = ForkMutexOf<std::mutex>;
using ForkSharedMutex = ForkMutexOf<std::shared_mutex>;

// A recursive lock: its holder may lock it again.
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
  // Relaxed, because a thread can find its own ID here only if it stored the ID itself.
  bool is_held_here() const { return holder_.load(std::memory_order_relaxed) == pthread_self(); }

 private:
  friend ForkLink;
  bool try_take();
  void give_back();
  void make_free(bool was_taken);

  std::mutex mutex_;
  std::atomic<pthread_t> holder_{};
  int depth_ = 0;  // number of locks by the holder beyond the first
  ForkLink link_;
};

// Put one around every call of the dynamic loader. fork() waits until no other thread is inside the loader, because the
// child could not use a loader that a lost thread has locked. Loader calls do not exclude each other: the loader runs
// foreign constructors under its own lock, and these may call this library.
class LoaderCall {
 public:
  LoaderCall();
  ~LoaderCall();
  LoaderCall(const LoaderCall &) = delete;
};

// The lock around initialisers of libraries. They all share one lock, because an initialiser may use another library.
// With one lock per library, two threads could wait for each other.
RecursiveForkMutex &initializer_mutex();

}  // namespace opd
