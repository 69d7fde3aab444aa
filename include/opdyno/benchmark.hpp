/** @file benchmark.hpp  Benchmarks, which measure the duration of calls. */
#ifndef OPDYNO_BENCHMARK_HPP_
#define OPDYNO_BENCHMARK_HPP_

#include <opdyno/benchmark.h>

#include <opdyno/function.hpp>
#include <opdyno/report.hpp>

namespace opdyno {

/** The results of a measurement. */
class Benchmark : public Handle<opd_benchmark> {
 public:
  using Handle::Handle;
  /** Makes a benchmark from times that were measured elsewhere. */
  static Benchmark of(const std::vector<double> &seconds) {
    return made<Benchmark>(opd_benchmark_create, seconds.data(), count_of(seconds.size()));
  }
  /** Seconds per call, in the order of measurement. */
  std::vector<double> seconds() const {
    int32_t count = 0;
    const double *first = opd_benchmark_seconds(get(), &count);
    return {first, first + count};
  }
  double percentile(double percent) const { return opd_benchmark_percentile(get(), percent); }
  opd_benchmark_stats stats() const {
    auto stats = sized<opd_benchmark_stats>();
    check(opd_benchmark_get_stats(get(), &stats));
    return stats;
  }
  std::string to_text() const { return text_of(opd_benchmark_to_text, get()); }
  static Report diff(const Benchmark &before, const Benchmark &after, const opd_diff_options *options = nullptr) {
    return made<Report>(opd_benchmark_diff, before.get(), after.get(), options);
  }
};

class Evaluator : public Handle<opd_evaluator> {
 public:
  using Handle::Handle;
  Evaluator() = default;
  explicit Evaluator(const Function &function, const opd_evaluator_options *options = nullptr) {
    check(opd_evaluator_create(function.get(), options, out()));
  }
  Benchmark call(const Views &args) const {
    return made<Benchmark>(opd_evaluator_call, get(), args.data(), count_of(args.size()));
  }
  template <class... Args>
  Benchmark operator()(const Args &...args) const {
    Benchmark times;
    Function::with_views([&](const opd_value *views, int32_t count,
                             opd_value *) { check(opd_evaluator_call(get(), views, count, times.out())); },
                         args...);
    return times;
  }
};

}  // namespace opdyno
#endif
