// Memory in traces, read from what they write for other tools.
#pragma once
#include <regex>
#include <sstream>

#include "support/recording_files.h"
#include "support/tensors.h"

namespace opdyno_test {

constexpr DLDevice kCpu = {kDLCPU, 0};

inline opdyno::Profiler memory_profiler(uint64_t max_events = 1 << 20) {
  auto options = opdyno::defaults(opd_profiler_options_init);
  options.profile_memory = 1;
  options.max_events = max_events;
  return opdyno::Profiler(&options);
}

inline opd_memory_stats stats() {
  opd_memory_stats now{};
  now.struct_size = sizeof now;
  check(opd_memory_get_stats(kCpu, &now));
  return now;
}

struct Change {
  int64_t thread;
  double us;
  int64_t reserved, allocated, bytes;
  uint64_t address;
};
// The events "[memory]" of a Chrome trace, in their order there: thread by thread, each by time.
inline std::vector<Change> changes(const opdyno::Trace &trace) {
  const std::regex event(
      R"re("ph":"i","cat":"cpu_instant_event","s":"t","name":"\[memory\]","pid":\d+,"tid":(\d+),"ts":(-?[0-9.]+),)re"
      R"re("args":\{"Total Reserved":(-?\d+),"Total Allocated":(-?\d+),"Bytes":(-?\d+),"Device Id":-1,"Device Type":0,)re"
      R"re("Addr":(\d+),)re");
  std::vector<Change> found;
  const std::string json = trace.chrome();
  for (std::sregex_iterator at(json.begin(), json.end(), event), end; at != end; ++at)
    found.push_back({std::stoll((*at)[1]), std::stod((*at)[2]), std::stoll((*at)[3]), std::stoll((*at)[4]),
                     std::stoll((*at)[5]), std::stoull((*at)[6])});
  return found;
}

struct Step {
  int64_t ns, action, bytes, category;
};
enum : int64_t { kPreexisting = 1, kCreate = 2, kIncrementVersion = 3, kDestroy = 4 };
enum : int64_t { kParameter = 0, kCache = 1, kInput = 2, kTemporary = 3, kActivation = 4, kUnknown = 7 };
inline std::vector<Step> raw_timeline(const opdyno::Trace &trace) {
  const std::regex row(R"(\[(-?\d+),(\d),(-?\d+),(\d)\])");
  const std::string json = trace.write(OPD_TRACE_MEMORY_TIMELINE_RAW);
  std::vector<Step> found;
  for (std::sregex_iterator at(json.begin(), json.end(), row), end; at != end; ++at)
    found.push_back({std::stoll((*at)[1]), std::stoll((*at)[2]), std::stoll((*at)[3]), std::stoll((*at)[4])});
  return found;
}

// [times, sizes]: the sums of the rows.
inline std::vector<int64_t> timeline_sums(const opdyno::Trace &trace) {
  const std::string json = trace.write(OPD_TRACE_MEMORY_TIMELINE);
  const std::regex row(R"(\[0((?:,-?\d+){8})\])");
  std::vector<int64_t> sums;
  for (std::sregex_iterator at(json.begin(), json.end(), row), end; at != end; ++at) {
    std::stringstream numbers((*at)[1].str());
    int64_t sum = 0;
    char comma;
    for (int64_t number; numbers >> comma >> number;) sum += number;
    sums.push_back(sum);
  }
  return sums;
}

inline Tensor block(int64_t bytes) { return Tensor({bytes}, "uint8"); }
inline uint64_t address_of(const Tensor &tensor) { return reinterpret_cast<uintptr_t>(tensor.data<uint8_t>()); }

}  // namespace opdyno_test
