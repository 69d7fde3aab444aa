// Implements include/opdyno/compare.h.
#include "capi/handles.h"
#include "compare/comparison.h"

using namespace opd;

namespace {

CompareOptions options_of(const opd_compare_options *given) {
  const opd_compare_options how = read_options(given, opd_compare_options_init);
  require(how.repeat >= 0, "option repeat must be at least 0, but is ", how.repeat);
  require(how.timeout_ns >= 0, "option timeout_ns must not be negative, but is ", how.timeout_ns);
  require(how.equal_nan == 0 || how.equal_nan == 1, "option equal_nan must be 0 or 1, but is ", how.equal_nan);
  CompareOptions options;
  if (how.rtol) options.tolerances.set_rtol(how.rtol);
  if (how.atol) options.tolerances.set_atol(how.atol);
  options.tolerances.equal_nan = how.equal_nan != 0;
  options.keep_bytes = how.keep_bytes;
  if (how.save_directory) options.save_directory = how.save_directory;
  options.repeat = how.repeat;
  options.timeout_ns = how.timeout_ns;
  if (how.b_args) options.b_args = Ref<Array>::share(unwrap<Array>(how.b_args));
  options.cancel = how.cancel ? unwrap<CancelToken>(how.cancel) : nullptr;
  return options;
}

Vm &vm_here(opd_vm *vm, const char *side) {
  Vm *const here = unwrap<AnyVm>(vm)->here();
  if (!here) fail(OPD_UNSUPPORTED, side, " is a VM of a session; only programs of this process can be compared");
  return *here;
}

}  // namespace

opd_error *opd_compare(opd_vm *a, opd_vm *b, const char *function, const opd_value *args, int32_t num_args,
                       const opd_compare_options *options, opd_report **out_report, opd_report **out_times) {
  return guard([&] {
    OPD_REQUIRE(a, b, function, out_report);
    const Comparison comparison(vm_here(a, "a"), vm_here(b, "b"), function, args_of(args, num_args),
                                options_of(options));
    Ref<Report> report = comparison.to_report();
    comparison.save();
    Ref<Report> times = out_times ? comparison.measure_times() : nullptr;
    *out_report = wrap<opd_report>(std::move(report));
    if (out_times) *out_times = times ? wrap<opd_report>(std::move(times)) : nullptr;
  });
}
