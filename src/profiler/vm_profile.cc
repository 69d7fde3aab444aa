#include "profiler/vm_profile.h"

#include <map>
#include <mutex>

#include "base/thread_state.h"
#include "device/cpu/thread_pool.h"
#include "profiler/collector_run.h"
#include "vm/run.h"

namespace opd {
namespace {

std::vector<DLDevice> devices_of(const Vm &vm) {
  std::vector<DLDevice> devices;
  for (const VmDevice &each : vm.devices()) devices.push_back(each.device);
  return devices;
}

std::unique_ptr<CallObservers> observers_of(const Vm &vm, const VmProfileOptions &options, bool is_session) {
  if (options.collectors.empty()) return nullptr;
  return std::make_unique<CollectorSet>(options.collectors, devices_of(vm), is_session);
}

RecordingOptions recording_options(const Vm &vm, const VmProfileOptions &options) {
  RecordingOptions recording;
  recording.source = &vm;
  recording.max_calls = options.max_calls;
  recording.all_calls = options.all_calls;
  recording.device_work = vm.is_asynchronous();
  return recording;
}

// Call it while the VM's kernels are hooked, because the note lists those without hooks.
VmProfile profile_of(const Vm &vm, const VmProfileOptions &options, Ref<Trace> trace) {
  RunReportOptions how;
  how.devices = devices_of(vm);
  how.num_threads = thread_count();
  how.note = vm.recording_note();
  how.folds_builtins = options.folds_builtins;
  how.details = options.details;
  how.turn = options.turn;
  Ref<Report> report = report_of_run(*trace, how);
  return {std::move(report), std::move(trace)};
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
  if (!options.file.empty()) {
    // Events in a file cannot be dropped again, so the warm-up calls have a recording in memory. They are recorded, so
    // that the recording code is warm, too.
    const Ref<Recording> forgotten = Recording::start(how);
    for (int32_t i = 0; i < options.warmup; ++i) call();
    forgotten->stop();
    how.file = options.file;
    const Ref<Recording> recording = Recording::start(how, observers_of(vm, options, false));
    recording->open_thread();
    for (int32_t i = 0; i < options.repeat; ++i) call();
    return profile_of(vm, options, recording->stop());
  }
  const Ref<Recording> recording = Recording::start(how);
  for (int32_t i = 0; i < options.warmup; ++i) {
    recording->restart(0, nullptr);
    call();
  }
  recording->restart(static_cast<uint64_t>(options.repeat), observers_of(vm, options, false));
  for (int32_t i = 0; i < options.repeat; ++i) call();
  return profile_of(vm, options, recording->stop());
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
  return profile_of(vm, profile.options, profile.recording->stop());
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
