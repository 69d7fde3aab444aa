#include "base/asymmetric_fence.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/static_guard.h"

namespace opd {
namespace {

bool membarrier(int command) { return ::syscall(SYS_membarrier, command, 0, 0) == 0; }

bool registers() {
#ifdef OPD_RACE_DETECTOR
  return false;  // the system does not have the call
#else
  return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
#endif
}

}  // namespace

std::atomic<bool> fence_is_asymmetric{registers()};

void fence_all_threads() noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!fence_is_asymmetric.load() || membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) return;
  // A forked child may have to register again.
  if (registers() && membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) return;
  // Since the registration, the process has forbidden this system call. From now on the frequent side uses fences.
  // Earlier stores leave a processor's buffer within nanoseconds.
  fence_is_asymmetric.store(false);
  constexpr useconds_t kLongEnough = 1000;
  ::usleep(kLongEnough);
}

}  // namespace opd
