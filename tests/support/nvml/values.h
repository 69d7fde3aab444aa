// What the test's NVML tells. The functions of its library are in libnvml.cc.
#pragma once
#include <atomic>
#include <cstdint>

struct NvmlValues {
  static constexpr unsigned kGpus = 2;
  static constexpr uint32_t kNotSupported = UINT32_MAX;
  struct Gpu {
    std::atomic<uint32_t> power_mw, degrees, sm_mhz, memory_mhz, percent, memory_percent;
    std::atomic<uint64_t> energy_mj;
  };
  Gpu gpus[kGpus] = {{71'500, 41, 1'410, 1'593, 12, 3, 1'000}, {250'250, 67, 1'980, 2'619, 98, 45, 9'000}};
  std::atomic<int> failure{0};   // what every reading gives, if not 0
  std::atomic<int> readings{0};  // so far
};
