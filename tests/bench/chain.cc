// A chain of 1000 tiny kernels: each time per kernel, for the VM, the kernel alone, and the VM while it records.
#include "chain.h"

#include <dlfcn.h>

#include <opdyno/opdyno.hpp>

#include "harness.h"

namespace bench {
Chain::Chain(const std::string &name)
    : module(opdyno::Module::load(artifact(name, "chain_100"))), vm(module), x({4}, "float32") {
  for (int i = 0; i < 4; ++i) x.data<float>()[i] = static_cast<float>(i);
  const opdyno::Value result = vm.call("main", x);
  kernels = static_cast<int>(opdyno::Tensor::of(result).data<float>()[0]);  // each adds 1 to an x that begins with 0
}

opdyno::Report Chain::profile(int repeat, opd_collector *collector) const {
  opd_profile_options options;
  opd_profile_options_init(&options);
  options.repeat = repeat;
  options.collectors = &collector;
  options.num_collectors = collector != nullptr;
  const opd_value arg = opdyno::arg(x);
  opdyno::Report report;
  opdyno::check(opd_vm_profile(vm.get(), "main", &arg, 1, nullptr, &options, report.out(), nullptr));
  return report;
}

namespace {
void call(const opdyno::Function &function, const opd_value &arg) {
  opd_value result = opd_none();
  opdyno::check(opd_function_call(function.get(), &arg, 1, &result));
  opd_value_release(&result);
}
}  // namespace

// The report's total covers the runs alone, not the making of the report.
Sampler time_of_records(const Chain &chain, int repeat, int measurements, opd_collector *collector) {
  const opdyno::Function function = chain.vm.function("main");
  auto plain_run = timed(1, [=](int64_t n) {
    for (int64_t i = 0; i < n; ++i) call(function, opdyno::arg(chain.x));
  });
  return [=]() mutable {
    std::vector<double> added;
    for (int i = 0; i < measurements; ++i) {
      const opdyno::Report report = chain.profile(repeat, collector);
      opdyno::Value total;
      opdyno::check(opd_report_get(report.get(), OPD_REPORT_DEVICES, 0, "Duration (us)", total.out(), nullptr));
      const double calls = static_cast<double>(opd_report_call_count(report.get())) / repeat;
      added.push_back((total.view().u.float64 * 1000 / repeat - plain_run()) / calls);
    }
    return median(added);
  };
}

}  // namespace bench

namespace {

using bench::call;
using bench::time_of_records;

bench::Sampler time_of_chain(const bench::Chain &chain) {
  const opdyno::Function function = chain.vm.function("main");
  return bench::timed(chain.kernels, [=](int64_t n) {
    for (int64_t i = 0; i < n; ++i) call(function, opdyno::arg(chain.x));
  });
}
const bench::AddRow plain("chain", "ns", [] { return time_of_chain(bench::Chain()); });
const bench::AddRow compiled("chain_compiled", "ns", [] { return time_of_chain(bench::Chain(bench::kCompiledChain)); });

// The compiled function itself, with its arguments ready: what no runtime can be faster than.
const bench::AddRow bare("chain_bare_kernel", "ns", [] {
  using Kernel = int (*)(void *, const opd_value *, int32_t, opd_value *);
  void *library = dlopen(bench::artifact("chain_1000", "chain_100").c_str(), RTLD_LAZY | RTLD_LOCAL);
  const auto kernel = library ? reinterpret_cast<Kernel>(dlsym(library, "__tvm_ffi_add")) : nullptr;
  if (!kernel) throw std::runtime_error(dlerror());
  const opdyno::Tensor a({4}, "float32"), b({4}, "float32");
  return bench::timed(2, [=](int64_t n) {
    const opd_value there[] = {opdyno::arg(a), opdyno::arg(b)}, back[] = {there[1], there[0]};
    opd_value result = opd_none();
    for (int64_t i = 0; i < n; ++i)  // as in the chain, each reads what the last one wrote
      if (kernel(nullptr, there, 2, &result) || kernel(nullptr, back, 2, &result))
        throw std::runtime_error("the kernel failed");
  });
});

// What recording adds to each recorded call.
const bench::AddRow record("profile_record", "ns",
                           [] { return time_of_records(bench::Chain(), 1, bench::settings().quick ? 1 : 9); });
const bench::AddRow seen("profile_record_compiled", "ns", [] {
  return time_of_records(bench::Chain(bench::kCompiledChain), 1, bench::settings().quick ? 1 : 9);
});
const bench::AddRow many("profile_record_100", "ns",
                         [] { return time_of_records(bench::Chain(), bench::settings().quick ? 2 : 100, 1); });

// All that a profile adds to each recorded call: recording it, its part in the making of the report, and in the
// warm-up.
const bench::AddRow op("profile_operator", "ns", [] {
  const int runs = bench::settings().quick ? 2 : 100;
  const bench::Chain chain;
  auto plain_run = time_of_chain(chain);
  return [=]() mutable {
    size_t rows = 0;
    const double whole = bench::nanoseconds([&] { rows = opd_report_call_count(chain.profile(runs).get()); });
    return whole / static_cast<double>(rows) - plain_run();
  };
});

// What the clock itself costs here: a record holds two readings.
const bench::AddRow stamps("two_time_stamps", "ns", [] {
  return bench::timed(1, [](int64_t n) {
    for (int64_t i = 0; i < n; ++i) bench::read_ticks(), bench::read_ticks();
  });
});

// All of opd_vm_profile() with its defaults: a warm-up, the recorded run, clock calibration and the report.
const bench::AddRow whole("profile_whole", "ms", [] {
  const bench::Chain chain;
  return bench::timed(1e6, [=](int64_t n) {
    for (int64_t i = 0; i < n; ++i) chain.profile(1);
  });
});

// One range of a program, while a profiler records and while none does.
double time_of_ranges(int count) {
  const uint32_t name = opdyno::range_name("bench");
  return bench::nanoseconds([&] {
           for (int i = 0; i < count; ++i) const opdyno::Range range(name);
         }) /
         count;
}
// The first recording makes the memory that the later ones use again: its page faults are not the cost of a range.
const bench::AddRow recorded_range("range_recorded", "ns", [] {
  const auto sample = [profiler = opdyno::Profiler()] {
    profiler.start();
    const double each = time_of_ranges(bench::settings().quick ? 100 : 100'000);
    profiler.stop();
    return each;
  };
  sample();
  return sample;
});
const bench::AddRow idle_range("range_idle", "ns",
                               [] { return [] { return time_of_ranges(bench::settings().quick ? 100 : 100'000); }; });

}  // namespace
