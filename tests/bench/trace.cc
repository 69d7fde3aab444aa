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

const bench::AddRow stop("profiler_stop", "ms", [] {
  return [chain = bench::Chain()] {
    const Profiler profiler = recorded(chain);
    return bench::nanoseconds([&] { profiler.stop(); }) / 1e6;
  };
});

}  // namespace
