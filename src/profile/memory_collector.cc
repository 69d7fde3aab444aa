// A device's tensor memory during a call.
#include "device/device_memory.h"
#include "profile/collector.h"

namespace opd {
namespace {

class MemoryCollector final : public Collector {
 public:
  static int32_t type() { return Collector::type(); }
  MemoryCollector() : Collector("memory") {}

  void init(std::span<const DLDevice>) override {}

  // The peak is the device's own: set to what is in use now, and raised again at the end to what it was before.
  void *start(DLDevice device) override {
    auto state = std::make_unique<State>();
    state->memory = &DeviceMemory::of(device);
    state->begin = state->memory->flow();
    state->outer_peak = state->memory->exchange_peak(state->begin.live());
    return state.release();
  }

  void stop(void *given, MetricRows &out) override {
    const std::unique_ptr<State> state(static_cast<State *>(given));
    const DeviceMemory::Flow end = state->memory->flow();
    const uint64_t before = state->begin.live(), peak = state->memory->peak();
    state->memory->raise_peak(state->outer_peak);
    const auto give = [&](std::string_view name, uint64_t bytes) {
      out.set(name, Metric{metric_kind_of(OPD_METRIC_BYTES), bytes});
    };
    give("Allocated (bytes)", end.allocated - state->begin.allocated);
    give("Freed (bytes)", end.freed - state->begin.freed);
    give("Peak (bytes)", peak > before ? peak - before : 0);
  }

 private:
  struct State {
    DeviceMemory *memory;
    DeviceMemory::Flow begin;
    uint64_t outer_peak;
  };
};

}  // namespace

Ref<Collector> make_memory_collector() { return make_object<MemoryCollector>(); }

}  // namespace opd
