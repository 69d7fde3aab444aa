#include "device/cpu/processor_wait.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/thread_state.h"
#include "device/cpu/worker_set.h"

namespace opd {
namespace {

// The second of the three numbers in a file schedstat: time in the processor's queue. 0 if the thread has ended.
uint64_t read_waited_ns(int file) {
  char bytes[96];
  const ssize_t size = pread(file, bytes, sizeof bytes, 0);
  const std::string_view text(bytes, static_cast<size_t>(std::max<ssize_t>(size, 0)));
  uint64_t waited = 0;
  if (const size_t space = text.find(' '); space != text.npos)
    std::from_chars(text.data() + space + 1, text.data() + text.size(), waited);
  return waited;
}

}  // namespace

ProcessorWait::ProcessorWait() {
  threads_.reserve(1 + kMostWorkers);  // so adding a thread cannot fail
  add("/proc/thread-self/schedstat");
  if (!is_known()) return;
  ++thread_state().wait_meters;
  (void)read();
}

ProcessorWait::~ProcessorWait() {
  if (is_known()) --thread_state().wait_meters;
  for (const Thread &thread : threads_) close(thread.file);
}

void ProcessorWait::add(const char *path) noexcept {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file >= 0) threads_.push_back({file, read_waited_ns(file)});
}

// On a busy machine, a worker may run for the first time long after its first task.
void ProcessorWait::add_new_workers() noexcept {
  for (int32_t i = 0; i < kMostWorkers; ++i) {
    const int32_t id = WorkerSet::get().thread_id(i);
    if (!id || is_added_[static_cast<size_t>(i)]) continue;
    is_added_.set(static_cast<size_t>(i));
    char path[64];
    std::snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", id);
    add(path);
  }
}

ProcessorWait::Times ProcessorWait::read() {
  add_new_workers();
  uint64_t own = 0, of_workers = 0;
  for (size_t i = 0; i < threads_.size(); ++i) {
    const uint64_t waited = std::max(read_waited_ns(threads_[i].file), threads_[i].waited_ns);
    const uint64_t more = waited - std::exchange(threads_[i].waited_ns, waited);
    if (i == 0) own = more;
    else of_workers = std::max(of_workers, more);
  }
  const uint64_t at = monotonic_ns(), time = thread_time_ns();
  const uint64_t lost = thread_state().lost_ns - std::exchange(lost_ns_, thread_state().lost_ns);
  const uint64_t passed = at - std::exchange(at_ns_, at), ran = time - std::exchange(ran_ns_, time);
  const uint64_t slept = passed - std::min(passed, ran + own);
  return {own + std::min(of_workers, slept) + lost, ran - std::min(ran, lost)};
}

}  // namespace opd
