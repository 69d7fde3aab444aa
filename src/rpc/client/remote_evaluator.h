// Measurements on the other side: the connection is not in the times.
#pragma once
#include "measure/time_evaluator.h"
#include "rpc/client/remote_objects.h"

namespace opd::rpc {

// The places of RPCTimeEvaluator's arguments, which TVM's servers have, too. The last three are those of opdyno's own
// evaluator, whose `preprocess` may also be a function.
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

// Gives a function whose result is the seconds of a call, as bytes of doubles: RPCTimeEvaluator. That of opdyno's own
// has what write_benchmark() writes.
inline constexpr const char *kTvmsEvaluator = "runtime.RPCTimeEvaluator", *kEvaluator = "opdyno.rpc.evaluator";

std::string write_benchmark(const Benchmark &found);

// A function that measures `function` on its own machine; empty: it runs in this process. Throws if a server lacks an
// option.
std::function<Ref<Benchmark>(Args)> measured_there(Function &function, const EvaluatorOptions &plan);

}  // namespace opd::rpc
