// Measures a packed function like TVM's time_evaluator: repeats of many calls each, with nothing else in the measured
// time.
#pragma once
#include <functional>

#include "measure/benchmark.h"
#include "value/function.h"

namespace opd {

struct EvaluatorOptions {
  DLDevice device{kDLCPU, 0};
  int64_t number = 10, repeat = 1, min_repeat_ms = 0, limit_zero_time_iterations = 100;
  int64_t cooldown_interval_ms = 0, repeats_to_cooldown = 1, cache_flush_bytes = 0;
  Ref<Function> preprocess;  // null: none
  int64_t warmup = 1, steady_ms = 0, concurrency = 1;
  std::function<Ref<Benchmark>(Args)> there;  // measures on another machine; empty: measures here
};

class LoadThreads;

class TimeEvaluator final : public Object {
 public:
  static int32_t type() { return registered_type<"opdyno.Evaluator">(); }
  TimeEvaluator(Ref<Function> function, EvaluatorOptions plan);  // throws for invalid numbers

  Ref<Benchmark> call(Args args);
  template <class Visit>
  void visit_kept(const Visit &visit) const {
    visit(function_.get());
    if (plan_.preprocess) visit(plan_.preprocess.get());
  }

 private:
  void warm_up(LoadThreads &callers, Benchmark::Course &course) const;
  double measure(LoadThreads &callers, std::vector<double> &seconds);

  Ref<Function> function_;
  EvaluatorOptions plan_;  // `number` grows over time
  std::vector<char> flush_from_, flush_to_;
};

}  // namespace opd
