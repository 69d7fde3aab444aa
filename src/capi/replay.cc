// Implements include/opdyno/replay.h.
#include "replay/replay.h"

#include "capi/handles.h"
#include "capi/library.h"
#include "replay/call_capture.h"

using namespace opd;

namespace {

bool flag_of(int32_t given, const char *name) {
  require(given == 0 || given == 1, "option ", name, " must be 0 or 1, but is ", given);
  return given != 0;
}

CaptureOptions options_of(const opd_record_options *given) {
  const opd_record_options how = read_options(given, opd_record_options_init);
  return {flag_of(how.with_program, "with_program"), flag_of(how.with_outputs, "with_outputs"),
          flag_of(how.with_operators, "with_operators"), flag_of(how.with_paths, "with_paths")};
}

ReplayOptions options_of(const opd_replay_options &how) {
  require(how.timeout_ns >= 0, "option timeout_ns must not be negative, but is ", how.timeout_ns);
  ReplayOptions options;
  options.runs = flag_of(how.run, "run");
  options.module = Ref<Module>::share(unwrap<Module>(how.module));
  options.instrument = Ref<Function>::share(unwrap<Function>(how.instrument));
  if (how.minimise) options.minimise = how.minimise;
  if (how.rtol) options.tolerances.set_rtol(how.rtol);
  if (how.atol) options.tolerances.set_atol(how.atol);
  options.timeout_ns = how.timeout_ns;
  options.cancel = how.cancel ? unwrap<CancelToken>(how.cancel) : nullptr;
  if (how.device.device_type != 0) options.device = how.device;
  require(options.runs || options.minimise.empty(), "option minimise needs the call to run");
  return options;
}

}  // namespace

opd_error *opd_vm_record_next_call(opd_vm *vm, const char *path, const opd_record_options *options) {
  return guard([&] {
    OPD_REQUIRE(vm);
    Vm *const here = unwrap<AnyVm>(vm)->here();
    if (!here) fail(OPD_UNSUPPORTED, "the VM is one of a session; only calls of this process can be recorded");
    if (path) capture_next_call(*here, path, options_of(options));
    else end_capture_next_call(*here);
  });
}

opd_error *opd_replay(const char *path, const opd_replay_options *options, opd_module **out_module,
                      opd_report **out_report, opd_report **out_profile) {
  return guard([&] {
    OPD_REQUIRE(path, out_report);
    prepare_library();
    const opd_replay_options how = read_options(options, opd_replay_options_init);
    require(how.repeat >= 0, "option repeat must be at least 0, but is ", how.repeat);
    VmProfileOptions measured;
    measured.repeat = how.repeat;
    measured.max_calls = uint64_t{1} << 20;
    Replay replay(path, options_of(how));
    Ref<Report> report = replay.to_report();
    Ref<Report> profile = out_profile && how.repeat ? replay.profile(measured) : nullptr;
    *out_report = wrap<opd_report>(std::move(report));
    if (out_module) *out_module = wrap<opd_module>(replay.module());
    if (out_profile) *out_profile = profile ? wrap<opd_report>(std::move(profile)) : nullptr;
  });
}
