// What the kinds of devices report of their work, together.
#include <array>
#include <atomic>
#include <mutex>

#include "base/fork_mutex.h"
#include "device/device.h"
#include "trace/device_activity.h"

namespace opd {
namespace {

class AllActivity final : public ActivitySource {
 public:
  void start() override {
    const std::scoped_lock lock(guard_);
    if (num_users_ == 0) start_sources();
    ++num_users_;
  }
  void stop() noexcept override {
    const std::scoped_lock lock(guard_);
    if (--num_users_ == 0) stop_sources();
  }
  // Without the lock, which must not be taken after those that recordings hold here. Who comes here has started the
  // sources, so they do not change.
  void flush(bool waits) noexcept override {
    for (const auto &slot : started_)
      if (ActivitySource *const source = slot.load(std::memory_order_acquire)) source->flush(waits);
  }

 private:
  void start_sources() {
    bool is_any = false;
    std::string reasons;
    for (int32_t type = 0; type < kMaxDeviceKinds; ++type) {
      DeviceBackend *const kind = find_kind(type);
      ActivitySource *const source = kind ? kind->activity() : nullptr;
      if (!source) continue;
      if (const std::string absence = absence_of({static_cast<DLDeviceType>(type), 0}); !absence.empty()) {
        reasons += concat(reasons.empty() ? "" : "; ", device_kind_name(type), ": ", absence);
        continue;
      }
      try {
        source->start();
      } catch (...) {
        stop_sources();
        throw;
      }
      started_[static_cast<size_t>(type)].store(source, std::memory_order_release);
      is_any = true;
    }
    if (!is_any) fail(OPD_UNSUPPORTED, "no device reports its activity: ", reasons);
  }
  void stop_sources() noexcept {
    for (auto &slot : started_)
      if (ActivitySource *const source = slot.exchange(nullptr, std::memory_order_acq_rel)) source->stop();
  }

  ForkMutex guard_{LockRank::kDeviceKernel};  // held while the vendors' code runs
  uint32_t num_users_ = 0;
  std::array<std::atomic<ActivitySource *>, kMaxDeviceKinds> started_{};
};

}  // namespace

ActivitySource &reported_activity() {
  static auto *const activity = new AllActivity;  // never destroyed: recordings may end while the process exits
  return *activity;
}

}  // namespace opd
