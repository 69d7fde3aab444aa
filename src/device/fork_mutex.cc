#include "device/fork_mutex.h"

#include <pthread.h>

namespace opd {

struct ForkMutexes {
  std::mutex guard;
  ForkMutex *first = nullptr;  // by rising rank

  static ForkMutexes &all() {
    static auto *instance = [] {
      pthread_atfork(&before, &after, &after);
      return new ForkMutexes;
    }();
    return *instance;
  }
  static void before() {
    all().guard.lock();
    for (ForkMutex *m = all().first; m; m = m->next_) m->lock();
  }
  static void after() {
    for (ForkMutex *m = all().first; m; m = m->next_) m->unlock();
    all().guard.unlock();
  }
  void add(ForkMutex &mutex) {
    std::scoped_lock lock(guard);
    ForkMutex **place = &first;
    while (*place && (*place)->rank_ <= mutex.rank_) place = &(*place)->next_;
    mutex.next_ = *place;
    *place = &mutex;
  }
  void remove(ForkMutex &mutex) {
    std::scoped_lock lock(guard);
    ForkMutex **place = &first;
    while (*place != &mutex) place = &(*place)->next_;
    *place = mutex.next_;
  }
};

ForkMutex::ForkMutex(int rank) : rank_(rank) { ForkMutexes::all().add(*this); }
ForkMutex::~ForkMutex() { ForkMutexes::all().remove(*this); }

}  // namespace opd
