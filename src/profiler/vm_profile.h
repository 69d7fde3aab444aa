// Profiles VMs: makes a recording of a VM's runs, and a report and a trace from it.
#pragma once
#include <functional>

#include "profiler/collector.h"
#include "trace/record/recording.h"
#include "trace_views/trace_report.h"
#include "vm/vm.h"

namespace opd {

struct VmProfileOptions {
  int32_t warmup = 1, repeat = 1;  // for profile_runs()
  uint64_t max_calls = 0;          // per thread
  uint64_t sample_interval = 1;    // for start_profile(): records one of this many runs
  bool all_calls = false;          // also records calls without a tensor
  std::vector<Ref<Collector>> collectors;
  bool folds_builtins = false, details = false;  // as in RunReportOptions
  std::string file;  // also leaves the recording in this file, in the format of trace/file/event_file.h; "": no file
  int32_t turn = 0;
  double budget_s = 0;  // above 0: calls are repeated until the medians are settled, for at most this long
};

struct VmProfile {
  Ref<Report> report;
  Ref<Trace> trace;
};

// `call` makes one run of the VM, on this thread. It is called options.repeat times, or more often: see budget_s.
VmProfile profile_runs(Vm &vm, const VmProfileOptions &options, const std::function<void()> &call);

// Profiles a program function, a saved function, or (without arguments) one whose inputs were set.
VmProfile profile_named(Vm &vm, std::string_view name, Args args, const CallSettings &settings,
                        const VmProfileOptions &options);

// Records the runs of all threads until stop_profile(), which waits for those under way. start_profile() throws
// OPD_FAILED_PRECONDITION if the VM is being profiled, stop_profile() if it is not. Thread-safe.
void start_profile(Vm &vm, const VmProfileOptions &options);
VmProfile stop_profile(Vm &vm);

// Profiles of a program on another machine. That machine makes them.
class ProfilesThere {
 public:
  virtual VmProfile profile_named(std::string_view name, Args args, const CallSettings &settings,
                                  const VmProfileOptions &options, bool wants_trace) const = 0;
  virtual void start_profile(const VmProfileOptions &options) const = 0;
  virtual VmProfile stop_profile(bool wants_trace) const = 0;

 protected:
  ~ProfilesThere() = default;
};

// Profiles where the program is. If `wants_trace` is false, a program on another machine returns no trace.
VmProfile profile_named(AnyVm &vm, std::string_view name, Args args, const CallSettings &settings,
                        const VmProfileOptions &options, bool wants_trace);
void start_profile(AnyVm &vm, const VmProfileOptions &options);
VmProfile stop_profile(AnyVm &vm, bool wants_trace);

}  // namespace opd
