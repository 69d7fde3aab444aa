#include "base/log.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <vector>

#include "base/fork_mutex.h"

namespace opd {
namespace {

struct Sink {
  Sink(opd_log_fn c, void *u, opd_deleter d) : callback(c), user_data(u), deleter(d) {}
  opd_log_fn callback;
  void *user_data;
  opd_deleter deleter;
  ~Sink() {
    if (deleter) deleter(user_data);
  }
};

struct Log {
  ForkMutex guard{LockRank::kLog};
  std::shared_ptr<Sink> sink;
  std::vector<std::string> at_load;  // warnings for the first callback
  static constexpr size_t kMostTold = 64;
  std::vector<std::string> told;     // the first warnings about variables; each is told once
  std::atomic<bool> is_used{false};  // tell_kept_warnings() was called

  static Log &get() {
    static auto *log = new Log;  // never destroyed: threads may log while the process exits
    return *log;
  }
};
// Returns false if there is no callback.
bool try_log(opd_log_level level, const std::string &message) noexcept {
  std::unique_lock lock(Log::get().guard);
  const std::shared_ptr<Sink> sink = Log::get().sink;  // kept while its callback runs
  lock.unlock();
  if (sink) sink->callback(sink->user_data, level, message.c_str());
  return sink != nullptr;
}

void log_or_print(const std::string &message) noexcept {
  if (!try_log(OPD_LOG_WARNING, message)) std::fprintf(stderr, "opdyno: warning: %s\n", message.c_str());
}

// Made at load, because log_message() must not run out of memory.
[[maybe_unused]] const Log &log_made_at_load = Log::get();

}  // namespace

void set_log_callback(opd_log_fn callback, void *user_data, opd_deleter deleter) {
  auto next = callback ? std::make_shared<Sink>(callback, user_data, deleter) : nullptr;
  if (!callback && deleter) deleter(user_data);
  std::unique_lock lock(Log::get().guard);
  Log::get().sink.swap(next);
  std::vector<std::string> warnings;
  if (callback) warnings.swap(Log::get().at_load);
  lock.unlock();  // the old sink's deleter runs outside the lock
  for (const std::string &warning : warnings) log_message(OPD_LOG_WARNING, warning);
}

void log_message(opd_log_level level, const std::string &message) noexcept { try_log(level, message); }

void log_variable_warning(std::string message) noexcept try {
  {
    Log &log = Log::get();
    const std::scoped_lock lock(log.guard);
    if (std::ranges::find(log.told, message) != log.told.end()) return;
    if (log.told.size() < Log::kMostTold) log.told.push_back(message);
    if (!log.sink && !log.is_used) return log.at_load.push_back(std::move(message));
  }
  log_or_print(message);
} catch (const std::bad_alloc &) {}  // the warning is lost

void tell_kept_warnings() noexcept {
  Log &log = Log::get();
  if (log.is_used.load(std::memory_order_relaxed) || log.is_used.exchange(true)) return;
  std::vector<std::string> warnings;
  {
    const std::scoped_lock lock(log.guard);
    warnings.swap(log.at_load);
  }
  for (const std::string &warning : warnings) log_or_print(warning);
}

namespace {

// A program that makes no module and no VM still hears the warnings, when it ends.
[[maybe_unused]] const int kAtExit = std::atexit([] { tell_kept_warnings(); });

}  // namespace

}  // namespace opd
