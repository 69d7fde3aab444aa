// The number of threads that a launch may use.
#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "base/log.h"
#include "device/cpu/worker_set.h"
#include "device/machine.h"

namespace opd {
namespace {

std::atomic<int32_t> chosen{0}, standard{0};  // 0: not known

int32_t count_from_environment() {
  for (const char *name : {"OPDYNO_NUM_THREADS", "TVM_NUM_THREADS", "OMP_NUM_THREADS"}) {
    const char *value = std::getenv(name);
    if (!value || !*value) continue;
    std::string_view text = value;
    text = text.substr(0, text.find(','));  // OpenMP allows a number for each level of nesting
    int32_t count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (error == std::errc() && end == text.data() + text.size() && count > 0) return count;
    log_warning(name, " is \"", value, "\", which is not a number of threads; it is ignored");
  }
  return 0;
}

}  // namespace

int32_t thread_count() {
  if (const int32_t count = chosen.load(std::memory_order_relaxed)) return count;
  if (const int32_t count = standard.load(std::memory_order_relaxed)) return count;
  const int32_t given = count_from_environment();
  const int32_t count = std::min(given ? given : usable_processors(), WorkerSet::kMaxTasks);
  standard.store(count, std::memory_order_relaxed);
  return count;
}

void set_thread_count(int32_t count) {
  if (count < 0 || count > WorkerSet::kMaxTasks)
    fail(OPD_OUT_OF_RANGE, "the number of threads must be 1 to ", WorkerSet::kMaxTasks,
         ", or 0 for the default, but is ", count);
  if (count == 0) standard.store(0, std::memory_order_relaxed);  // the processors may have changed
  chosen.store(count, std::memory_order_relaxed);
}

}  // namespace opd
