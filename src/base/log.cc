#include "base/log.h"

#include <memory>
#include <mutex>

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

ForkMutex &guard_sink() {
  static auto *guard = new ForkMutex(LockRank::kLog);
  return *guard;
}
std::shared_ptr<Sink> &sink_slot() {
  static auto *slot = new std::shared_ptr<Sink>;  // never destroyed: threads may log while the process exits
  return *slot;
}

}  // namespace

void set_log_callback(opd_log_fn callback, void *user_data, opd_deleter deleter) {
  auto next = callback ? std::make_shared<Sink>(callback, user_data, deleter) : nullptr;
  if (!callback && deleter) deleter(user_data);
  std::unique_lock lock(guard_sink());
  sink_slot().swap(next);
  lock.unlock();  // the old sink's deleter runs outside the lock
}

void log_message(opd_log_level level, const std::string &message) noexcept {
  std::unique_lock lock(guard_sink());
  const std::shared_ptr<Sink> sink = sink_slot();  // kept while its callback runs
  lock.unlock();
  if (sink) sink->callback(sink->user_data, level, message.c_str());
}

}  // namespace opd
