#include "profiler/vm_profile.h"

#include <map>
#include <mutex>

#include "base/clock.h"
#include "base/thread_state.h"
#include "device/cpu/processor_wait.h"
#include "device/cpu/thread_pool.h"
#include "profiler/collector_run.h"
#include "report/report_rows.h"
#include "vm/run.h"

namespace opd {
namespace {

std::vector<DLDevice> devices_of(const Vm &vm) {
  std::vector<DLDevice> devices;
  for (const VmDevice &each : vm.devices()) devices.push_back(each.device);
  return devices;
}

std::unique_ptr<CallObservers> observers_of(const Vm &vm, const VmProfileOptions &options, bool is_session,
                                            bool has_waits = false) {
  const bool collects = !options.collectors.empty();
  if (!collects && !has_waits) return nullptr;
  return std::make_unique<CollectorSet>(options.collectors, collects ? devices_of(vm) : std::vector<DLDevice>(),
                                        is_session, has_waits);
}

RecordingOptions recording_options(const Vm &vm, const VmProfileOptions &options) {
  RecordingOptions recording;
  recording.source = &vm;
  recording.max_calls = options.max_calls;
  recording.all_calls = options.all_calls;
  recording.device_work = vm.is_asynchronous();
  return recording;
}

RunReportOptions report_options(const Vm &vm, const VmProfileOptions &options) {
  RunReportOptions how;
  how.devices = devices_of(vm);
  how.num_threads = thread_count();
  how.folds_builtins = options.folds_builtins;
  how.details = options.details;
  how.turn = options.turn;
  return how;
}

// Call it while the VM's kernels are hooked, because the note lists those without hooks.
VmProfile profile_of(const Vm &vm, RunReportOptions how, Recording &recording) {
  Ref<Trace> trace = recording.stop();
  recording.require_written();
  how.note = vm.recording_note();
  Ref<Report> report = report_of_run(*trace, how);
  return {std::move(report), std::move(trace)};
}

// Makes the measured calls of a profile.
class MeasuredCalls {
 public:
  MeasuredCalls(const VmProfileOptions &options, const Recording &recording, const std::function<void()> &call)
      : options_(options), recording_(recording), call_(call) {}

  void make(RunReportOptions &how) {
    how.by_run = true;
    for (int32_t i = 0; i < options_.repeat; ++i) make_one(how);
    // A check reads all events, so the number of calls doubles between two checks.
    while (how_long() < kLeastNs && num_calls_ < kManyCalls && fits()) make_one(how);
    for (size_t check = std::max(num_calls_, kLeastCalls); fits(); make_one(how)) {
      if (num_calls_ < check) continue;
      if (is_settled(how)) return;
      check = 2 * num_calls_;
    }
  }

 private:
  static constexpr size_t kLeastCalls = 10, kManyCalls = 200;  // before the first check
  static constexpr uint64_t kLeastNs = 50'000'000;

  uint64_t how_long() const { return monotonic_ns() - begin_ns_; }
  // Whether one more call is within the budget and the limit of records.
  bool fits() const {
    const double next = static_cast<double>(num_calls_ + 1) / static_cast<double>(num_calls_);
    return static_cast<double>(how_long()) * next < options_.budget_s * 1e9 &&
           static_cast<double>(Recording::num_events_of_thread() - first_event_) * next <
               static_cast<double>(options_.max_calls);
  }
  void make_one(RunReportOptions &how) {
    (void)wait_.read();
    call_();
    ++num_calls_;
    const ProcessorWait::Times times = wait_.read();
    if (!wait_.is_known()) return;
    how.waits.push_back({static_cast<double>(times.waited_ns) / 1000, static_cast<double>(times.ran_ns) / 1000});
  }
  bool is_settled(const RunReportOptions &how) const {
    const Ref<Report> report = report_of_run(*recording_.so_far(), how);
    const ReportRows rows(*report, false, true, false);
    return rows.run_medians() && rows.run_medians()->is_settled;
  }

  const VmProfileOptions &options_;
  const Recording &recording_;
  const std::function<void()> &call_;
  const uint64_t begin_ns_ = monotonic_ns(), first_event_ = Recording::num_events_of_thread();
  ProcessorWait wait_;
  size_t num_calls_ = 0;
};

// Makes the warm-up calls. Returns whether calls of operators are long. If they are short, some runs end before another
// program gets the processor. If they are long, every run may wait, so waits are measured per call.
//
// After an idle time, a processor may be slow for tens of milliseconds: its clock rises, or the host of a virtual machine
// moves it. So a measurement that is to settle begins after that.
bool warm_up(Recording &recording, const VmProfileOptions &options, const std::function<void()> &call) {
  constexpr double kLeastS = 0.05, kMostOfBudget = 0.25;
  constexpr uint64_t kLongNs = 10'000;
  const double least_ns = std::min(kLeastS, options.budget_s * kMostOfBudget) * 1e9;
  const uint64_t start = monotonic_ns();
  uint64_t last_ns = 0;
  for (int32_t i = 0; i < options.warmup || (i > 0 && static_cast<double>(monotonic_ns() - start) < least_ns); ++i) {
    recording.restart(0, nullptr);
    const uint64_t begin = monotonic_ns();
    call();
    last_ns = monotonic_ns() - begin;
  }
  return last_ns / std::max<uint64_t>(recording.num_pending(), 1) >= kLongNs;
}

// The started profiles. If a VM is destroyed, its recording ends, but the entry stays until the next start.
struct Started {
  struct Profile {
    Ref<Recording> recording;
    VmProfileOptions options;
  };
  ForkMutex guard{LockRank::kProfiles};
  std::map<const Vm *, Profile> profiles;
  static Started &get() {
    static auto *started = new Started;  // never destroyed: threads may run while the process exits
    return *started;
  }

  Ref<Recording> find(const Vm &vm) {
    std::scoped_lock lock(guard);
    const auto found = profiles.find(&vm);
    return found != profiles.end() && found->second.recording->is_running() ? found->second.recording : nullptr;
  }
  bool add(const Vm &vm, Profile &profile) {  // false: the VM has one already
    Profile old;                              // destroyed after the lock is released
    std::scoped_lock lock(guard);
    Profile &place = profiles[&vm];
    if (place.recording && place.recording->is_running()) return false;
    old = std::exchange(place, std::move(profile));
    return true;
  }
  Profile take(const Vm &vm) {
    std::scoped_lock lock(guard);
    const auto found = profiles.find(&vm);
    if (found == profiles.end() || !found->second.recording->is_running()) return {};
    Profile taken = std::move(found->second);
    profiles.erase(found);
    return taken;
  }
  void forget_ended() {
    std::vector<Profile> ended;  // destroyed after the lock is released
    std::scoped_lock lock(guard);
    for (auto next = profiles.begin(); next != profiles.end();) {
      const auto profile = next++;
      if (profile->second.recording->is_running()) continue;
      ended.push_back(std::move(profile->second));
      profiles.erase(profile);
    }
  }
};

}  // namespace

VmProfile profile_runs(Vm &vm, const VmProfileOptions &options, const std::function<void()> &call) {
  const HookScope hooks(vm.libraries());
  RecordingOptions how = recording_options(vm, options);
  how.thread = thread_number();
  // Warm-up calls are recorded, so that the recording code is warm, too. They are recorded in memory, because events in
  // a file cannot be dropped again.
  Ref<Recording> recording = Recording::start(how);
  const bool has_long = warm_up(*recording, options, call);
  auto observers = observers_of(vm, options, false, has_long);
  if (options.file.empty()) {
    recording->restart(static_cast<uint64_t>(options.repeat), std::move(observers));
  } else {
    recording->stop();
    how.file = options.file;
    recording = Recording::start(how, std::move(observers));
    recording->open_thread();
  }
  RunReportOptions shown = report_options(vm, options);
  MeasuredCalls(options, *recording, call).make(shown);
  return profile_of(vm, std::move(shown), *recording);
}

VmProfile profile_named(Vm &vm, std::string_view name, Args args, const CallSettings &settings,
                        const VmProfileOptions &options) {
  require(options.warmup >= 0 && options.repeat >= 1, "warmup must be at least 0 and repeat at least 1, but are ",
          options.warmup, " and ", options.repeat);
  const Ref<SavedFunction> saved = vm.executable().find(name) ? nullptr : vm.state().saved(name);
  const uint32_t function = saved ? saved->function : vm.function_index(name);
  const bool stateful = !saved && args.empty() && vm.has_input(name);
  return profile_runs(vm, options, [&] {
    if (saved) vm.call_saved(*saved, args, settings);
    else if (stateful) vm.invoke_stateful(name, settings);
    else vm.call(function, args, settings);
  });
}

void start_profile(Vm &vm, const VmProfileOptions &options) {
  const auto require_first = [](bool is_first) {
    if (!is_first) fail(OPD_FAILED_PRECONDITION, "the VM is being profiled already; stop that recording first");
  };
  Started &started = Started::get();
  started.forget_ended();
  require_first(!started.find(vm));  // checked first, so that collectors are not prepared in vain
  RecordingOptions how = recording_options(vm, options);
  how.sample_interval = options.sample_interval;
  how.file = options.file;
  Started::Profile profile{Recording::start(how, observers_of(vm, options, true)), options};
  profile.options.collectors.clear();  // the recording keeps them
  require_first(started.add(vm, profile));
  vm.expect_recordings(true);
}

VmProfile stop_profile(Vm &vm) {
  const Run *const run = Run::of_thread();
  const Ref<Recording> current = Started::get().find(vm);
  if ((run && run->vm == &vm) || (current && current->is_of_this_thread()))
    fail(OPD_FAILED_PRECONDITION, "profiling cannot be stopped from inside of a call: it would wait for that call");
  const Started::Profile profile = Started::get().take(vm);
  if (!profile.recording) fail(OPD_FAILED_PRECONDITION, "the VM is not being profiled; start a recording first");
  const HookScope hooks(vm.libraries());
  vm.expect_recordings(false);
  return profile_of(vm, report_options(vm, profile.options), *profile.recording);
}

VmProfile profile_named(AnyVm &vm, std::string_view name, Args args, const CallSettings &settings,
                        const VmProfileOptions &options, bool wants_trace) {
  if (const auto *const there = vm.there()) return there->profile_named(name, args, settings, options, wants_trace);
  return profile_named(*vm.here(), name, args, settings, options);
}

void start_profile(AnyVm &vm, const VmProfileOptions &options) {
  if (const auto *const there = vm.there()) return there->start_profile(options);
  start_profile(*vm.here(), options);
}

VmProfile stop_profile(AnyVm &vm, bool wants_trace) {
  const auto *const there = vm.there();
  return there ? there->stop_profile(wants_trace) : stop_profile(*vm.here());
}

}  // namespace opd
