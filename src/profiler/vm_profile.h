// Profiles of VMs: a recording of a VM's runs, and the report and the trace of it.
#pragma once
#include <functional>

#include "profiler/collector.h"
#include "trace/record/recording.h"
#include "trace_views/run_report.h"
#include "vm/vm.h"

namespace opd {

struct VmProfileOptions {
  int32_t warmup = 1, repeat = 1;  // of profile_runs()
  uint64_t max_calls = 0;          // per thread
  uint64_t sample_interval = 1;    // of start_profile(): records one of so many runs
  bool all_calls = false;          // also records calls without a tensor
  std::vector<Ref<Collector>> collectors;
  bool folds_builtins = false, details = false;  // as in RunReportOptions
  std::string file;  // the recording is left there, too, as trace/file/event_file.h writes it; "": nowhere
  int32_t turn = 0;
};

struct VmProfile {
  Ref<Report> report;
  Ref<Trace> trace;
};

// `call` makes one run of the VM, on this thread.
VmProfile profile_runs(Vm &vm, const VmProfileOptions &options, const std::function<void()> &call);

// Profiles a program function, a saved function, or (without arguments) one whose inputs were set.
VmProfile profile_named(Vm &vm, std::string_view name, Args args, const CallSettings &settings,
                        const VmProfileOptions &options);

// Records the runs of all threads until stop_profile(), which waits for those under way. Both throw
// OPD_FAILED_PRECONDITION: if the VM is being profiled already, or is not. Thread-safe.
void start_profile(Vm &vm, const VmProfileOptions &options);
VmProfile stop_profile(Vm &vm);

// The same for a program on another machine, which makes its profiles.
class ProfilesThere {
 public:
  virtual VmProfile profile_named(std::string_view name, Args args, const CallSettings &settings,
                                  const VmProfileOptions &options, bool wants_trace) const = 0;
  virtual void start_profile(const VmProfileOptions &options) const = 0;
  virtual VmProfile stop_profile(bool wants_trace) const = 0;

 protected:
  ~ProfilesThere() = default;
};

// Where the program is. If the trace is not wanted, a program on another machine gives none.
VmProfile profile_named(AnyVm &vm, std::string_view name, Args args, const CallSettings &settings,
                        const VmProfileOptions &options, bool wants_trace);
void start_profile(AnyVm &vm, const VmProfileOptions &options);
VmProfile stop_profile(AnyVm &vm, bool wants_trace);

}  // namespace opd
