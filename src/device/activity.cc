// A source of activity that joins the sources of all kinds of devices.
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <semaphore>

#include "base/fork_mutex.h"
#include "base/signals.h"
#include "device/device.h"
#include "trace/record/device_activity.h"

namespace opd {
namespace {

constexpr std::chrono::milliseconds kInterval{100};  // time between polls

bool has_devices(int32_t type) {
  constexpr int32_t kMost = 64;
  for (int32_t id = 0; id < kMost; ++id)
    if (find_device({static_cast<DLDeviceType>(type), id})) return true;
  return false;
}

class AllActivity final : public ActivitySource {
 public:
  void start() override {
    const std::scoped_lock lock(guard_);
    if (is_inherited()) forget();
    start_sources();
    if (num_users_++ > 0) return;
    start_reader();
    detail::running_activity.store(this, std::memory_order_release);
  }
  void stop() noexcept override {
    const std::scoped_lock lock(guard_);
    if (--num_users_ > 0) return;
    stop_reader();
    each_started([](ActivitySource &source) { source.stop(); });  // other recordings may still flush them
    for (auto &slot : started_) slot.store(nullptr, std::memory_order_release);
    detail::running_activity.store(nullptr, std::memory_order_release);
  }
  // Takes no lock: recordings hold their own lock here, and this one must be taken before theirs.
  void flush(bool waits) noexcept override {
    if (!is_inherited()) each_started([&](ActivitySource &source) { source.flush(waits); });
  }

 private:
  template <class Use>
  void each_started(const Use &use) noexcept {
    for (const auto &slot : started_)
      if (ActivitySource *const source = slot.load(std::memory_order_acquire)) use(*source);
  }

  // Starts the sources that have not been started yet. Some kinds may have been registered since the last call.
  void start_sources() {
    std::vector<size_t> now;
    std::string reasons;
    for (int32_t type = 0; type < kMaxDeviceKinds; ++type) {
      DeviceBackend *const kind = find_kind(type);
      ActivitySource *const source = kind ? kind->activity() : nullptr;
      auto &slot = started_[static_cast<size_t>(type)];
      if (!source || slot.load()) continue;
      if (!has_devices(type)) {
        reasons += concat(reasons.empty() ? "" : "; ", device_kind_name(type), ": ",
                          absence_of({static_cast<DLDeviceType>(type), 0}));
        continue;
      }
      try {
        now.reserve(now.size() + 1);
        source->start();
      } catch (...) {
        for (const size_t each : now) started_[each].exchange(nullptr)->stop();
        throw;
      }
      slot.store(source, std::memory_order_release);
      now.push_back(static_cast<size_t>(type));
    }
    if (now.empty() && num_users_ == 0) fail(OPD_UNSUPPORTED, "no device reports its activity: ", reasons);
  }

  // If the thread cannot be started, the records are read when recordings end.
  void start_reader() noexcept {
    const auto body = [](void *all) -> void * {
      static_cast<AllActivity *>(all)->read();
      return nullptr;
    };
    has_reader_ = start_library_thread("opdyno-activity", body, this, reader_);
  }
  void stop_reader() noexcept {
    if (!has_reader_) return;
    ends_->release();
    pthread_join(reader_, nullptr);
    has_reader_ = false;
  }
  void read() noexcept {
    while (!ends_->try_acquire_for(kInterval)) each_started([](ActivitySource &source) { source.poll(); });
  }

  // Returns true in a child of fork(). The child lacks the reader thread, and the vendors' libraries do not work there.
  bool is_inherited() const { return generation_.load(std::memory_order_relaxed) != fork_generation(); }
  void forget() {
    (void)ends_.release();  // the parent's thread may have been using it
    ends_ = std::make_unique<std::binary_semaphore>(0);
    for (auto &slot : started_) slot.store(nullptr);
    has_reader_ = false, num_users_ = 0;
    generation_.store(fork_generation(), std::memory_order_relaxed);
  }

  ForkMutex guard_{LockRank::kDeviceKernel};  // held while the vendors' code runs
  uint32_t num_users_ = 0;
  bool has_reader_ = false;
  pthread_t reader_{};
  std::unique_ptr<std::binary_semaphore> ends_ = std::make_unique<std::binary_semaphore>(0);
  std::atomic<uint32_t> generation_ = fork_generation();
  std::array<std::atomic<ActivitySource *>, kMaxDeviceKinds> started_{};
};

}  // namespace

ActivitySource &reported_activity() {
  static auto *const activity = new AllActivity;  // never destroyed: recordings may end while the process exits
  return *activity;
}

}  // namespace opd
