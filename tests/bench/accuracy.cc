// Whether a recorded duration is the callee's own: an operator that takes a known microsecond, and what the report
// says.
#include <chrono>
#include <opdyno/opdyno.hpp>

#include "harness.h"

namespace {

using opdyno::check;

constexpr int kCalls = 201;

struct Spin {
  uint64_t ticks = 0;         // to spend
  std::vector<double> spent;  // by the operator's own clock
};

opd_error *spin(void *data, const opd_value *, int32_t, opd_value *) {
  auto *how = static_cast<Spin *>(data);
  const uint64_t begin = bench::read_ticks();
  uint64_t now = begin;
  while (now - begin < how->ticks) now = bench::read_ticks();
  how->spent.push_back(static_cast<double>(now - begin));
  return nullptr;
}

double ticks_per_ns() {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const uint64_t first = bench::read_ticks();
  while (Clock::now() - begin < std::chrono::milliseconds(20)) {}
  const uint64_t last = bench::read_ticks();
  return static_cast<double>(last - first) / std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

const bench::AddRow row("record_1us", "%", [] {
  static Spin how;
  const double rate = ticks_per_ns();
  how.ticks = static_cast<uint64_t>(1000 * rate);
  opdyno::Function function;
  check(opd_function_create(spin, &how, nullptr, function.out()));
  check(opd_function_register("opdyno.bench.spin", function.get(), 1));
  std::string text = ".func main(x) {\n";
  for (int i = 0; i < kCalls; ++i) text += "  call opdyno.bench.spin(%x)\n";
  const opdyno::Vm vm(opdyno::Executable::assemble(text + "  ret %void\n}").to_module());
  const opdyno::Tensor x({4}, "float32");
  return [=] {
    how.spent.clear();
    opdyno::Report report;
    const opd_value arg = opdyno::arg(x);
    opd_profile_options options;
    opd_profile_options_init(&options);
    options.warmup = 0;
    check(opd_vm_profile(vm.get(), "main", &arg, 1, nullptr, &options, report.out(), nullptr));
    std::vector<double> recorded;
    for (int32_t i = 0; i < opd_report_call_count(report.get()); ++i) {
      opdyno::Value duration;
      check(opd_report_get(report.get(), OPD_REPORT_CALLS, i, "Duration (us)", duration.out(), nullptr));
      recorded.push_back(duration.view().u.float64 * 1000);
    }
    return 100 * bench::median(recorded) * rate / bench::median(how.spent);
  };
});

}  // namespace
