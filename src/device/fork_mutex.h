// A mutex that fork() does not leave locked in the child: forking takes all of them first, and both sides let go.
#pragma once
#include <mutex>

namespace opd {

// A thread that holds one may take only those of a higher rank, as fork() does, and must not make or destroy any.
class ForkMutex {
 public:
  explicit ForkMutex(int rank);
  ~ForkMutex();
  ForkMutex(const ForkMutex &) = delete;
  ForkMutex &operator=(const ForkMutex &) = delete;

  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  friend struct ForkMutexes;
  std::mutex mutex_;
  const int rank_;
  ForkMutex *next_ = nullptr;
};

}  // namespace opd
