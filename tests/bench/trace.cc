// Traces of a million calls: what is made of them, and the end of the recording.
#include <unistd.h>

#include <filesystem>
#include <opdyno/opdyno.hpp>

#include "chain.h"
#include "harness.h"

namespace {

using opdyno::Profiler;
using opdyno::Trace;

// Calls the chain until a million calls are recorded.
Profiler recorded(const bench::Chain &chain) {
  Profiler profiler;
  profiler.start();
  const int runs = bench::settings().quick ? 1 : 1'000'000 / chain.kernels;
  for (int i = 0; i < runs; ++i) chain.vm.call("main", chain.x);
  return profiler;
}

template <class F>
void add(const char *name, F once) {
  bench::AddRow(name, "ms", [=] {
    const Trace trace = recorded(bench::Chain()).stop();
    return bench::timed(1e6, [=](int64_t n) {
      for (int64_t i = 0; i < n; ++i) once(trace);
    });
  });
}

template <opd_trace_format format>
void write(const Trace &trace) {
  opd_buffer *bytes = nullptr;
  opdyno::check(opd_trace_write(trace.get(), format, nullptr, &bytes));
  opd_buffer_release(bytes);
}

void save_gzip(const Trace &trace) {
  const auto path = std::filesystem::temp_directory_path() / ("opdyno_bench_" + std::to_string(getpid()) + ".json.gz");
  trace.save(path.c_str(), OPD_TRACE_CHROME);
  std::filesystem::remove(path);
}

const bool added = [] {
  add("trace_chrome", write<OPD_TRACE_CHROME>);
  add("trace_chrome_gz", save_gzip);
  add("trace_perfetto", write<OPD_TRACE_PERFETTO>);
  add("trace_speedscope", write<OPD_TRACE_SPEEDSCOPE>);
  add("trace_pprof", write<OPD_TRACE_PPROF>);
  add("trace_html", write<OPD_TRACE_HTML>);
  add("trace_table", write<OPD_TRACE_TABLE>);
  add("trace_events", [](const Trace &trace) { trace.report(OPD_TRACE_EVENTS); });
  return true;
}();

// A million operators, of which each gets a block of memory and gives back the one of the 100th before it.
Trace with_memory() {
  auto options = opdyno::defaults(opd_profiler_options_init);
  options.profile_memory = 1;
  options.max_events = uint64_t{1} << 32;
  const Profiler profiler(&options);
  std::vector<opdyno::Tensor> kept(100);
  const uint32_t name = opdyno::range_name("operator");
  profiler.start();
  for (size_t i = 0; i < (bench::settings().quick ? 1000 : 1'000'000); ++i) {
    const opdyno::Range range(name);
    kept[i % kept.size()] = opdyno::Tensor({static_cast<int64_t>(64 + i % 1000)}, "uint8");
  }
  return profiler.stop();
}
template <opd_trace_format format>
bench::Sampler memory_timeline() {
  const Trace trace = with_memory();
  return bench::timed(1e6, [=](int64_t n) {
    for (int64_t i = 0; i < n; ++i) write<format>(trace);
  });
}
const bench::AddRow timeline("trace_memory_timeline", "ms", memory_timeline<OPD_TRACE_MEMORY_TIMELINE>);
const bench::AddRow raw_timeline("trace_memory_timeline_raw", "ms", memory_timeline<OPD_TRACE_MEMORY_TIMELINE_RAW>);
const bench::AddRow page("trace_memory_timeline_html", "ms", memory_timeline<OPD_TRACE_MEMORY_TIMELINE_HTML>);

// A tensor that comes and goes.
template <bool is_recorded>
bench::Sampler memory_block() {
  return [] {
    auto options = opdyno::defaults(opd_profiler_options_init);
    options.profile_memory = 1;
    const Profiler profiler(&options);
    if (is_recorded) profiler.start();
    constexpr int kBlocks = 10'000;
    const double ns = bench::nanoseconds([] {
      for (int i = 0; i < kBlocks; ++i) opdyno::Tensor({64}, "uint8");
    });
    if (is_recorded) profiler.stop();
    return ns / kBlocks;
  };
}
const bench::AddRow block("memory_block", "ns", memory_block<false>);
const bench::AddRow recorded_block("memory_block_recorded", "ns", memory_block<true>);

const bench::AddRow stop("profiler_stop", "ms", [] {
  return [chain = bench::Chain()] {
    const Profiler profiler = recorded(chain);
    return bench::nanoseconds([&] { profiler.stop(); }) / 1e6;
  };
});

}  // namespace
