// Measurements that the server runs, so that their times do not include the connection.
#pragma once
#include "measure/time_evaluator.h"
#include "rpc/client/client_session.h"

namespace opd::rpc {

// Positions of the arguments of RPCTimeEvaluator, which TVM's servers have, too. Only opdyno's own evaluator has
// arguments from kTvmsCount on; its `preprocess` may also be a function.
enum EvaluatorArgument : size_t {
  kModule,  // or None: a global function
  kName,
  kDeviceType,
  kDeviceNumber,
  kNumber,
  kRepeat,
  kMinRepeatMs,
  kLimitZeroTime,
  kCooldownMs,
  kRepeatsToCooldown,
  kCacheFlushBytes,
  kPreprocess,  // the name of a function to call before each repeat
  kTvmsCount,
  kWarmup = kTvmsCount,
  kSteadyMs,
  kConcurrency,
  kCount
};

// RPCTimeEvaluator returns a function whose result is the seconds per call, as bytes of doubles. The function from
// opdyno's own evaluator returns the output of write_benchmark().
inline constexpr const char *kTvmsEvaluator = "runtime.RPCTimeEvaluator", *kEvaluator = "opdyno.rpc.evaluator";

std::string write_benchmark(const Benchmark &found);

// Returns a function that measures `function` on its server; empty if `function` runs in this process. Throws if a
// server lacks an option.
std::function<Ref<Benchmark>(Args)> measured_there(Function &function, const EvaluatorOptions &plan);

}  // namespace opd::rpc
