// Collects a device's tensor memory during a call.
#include "device/memory/device_memory.h"
#include "profiler/collector.h"

namespace opd {
namespace {

class MemoryCollector final : public Collector {
 public:
  static int32_t type() { return Collector::type(); }
  MemoryCollector() : Collector("memory") {}

  void init(std::span<const DLDevice>) override {}

  void *start(DLDevice device) override { return std::make_unique<State>(DeviceMemory::of(device)).release(); }

  void stop(void *given, MetricList &out) override {
    const std::unique_ptr<State> state(static_cast<State *>(given));
    const DeviceMemory::Flow end = state->memory.flow();
    const auto give = [&](std::string_view name, uint64_t bytes) {
      out.set(name, Metric{metric_kind_of(OPD_METRIC_BYTES), bytes});
    };
    give("Allocated (bytes)", end.allocated - state->begin.allocated);
    give("Freed (bytes)", end.freed - state->begin.freed);
    give("Peak (bytes)", state->window.close());
  }

  std::string shared() override { return "of the whole device"; }

 private:
  struct State {
    explicit State(DeviceMemory &of) : memory(of), window(of), begin(of.flow()) {}
    DeviceMemory &memory;
    DeviceMemory::PeakWindow window;
    DeviceMemory::Flow begin;
  };
};

}  // namespace

Ref<Collector> make_memory_collector() { return make_object<MemoryCollector>(); }

}  // namespace opd
