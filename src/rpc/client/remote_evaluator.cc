#include "rpc/client/remote_evaluator.h"

#include <numeric>

namespace opd::rpc {
namespace {

// Bits of a word. Older servers set only the first one.
constexpr uint64_t kIsSteady = 1, kIsDeviceTime = 2;

std::vector<double> read_seconds(ByteReader &bytes) {
  std::vector<double> seconds(bytes.remaining() / sizeof(double));
  for (double &one : seconds) {
    one = bytes.read<double>("seconds");
    if (!(one >= 0)) fail(OPD_BAD_FORMAT, "the server measured ", one, " seconds");
  }
  if (seconds.empty()) fail(OPD_BAD_FORMAT, "the server measured nothing");
  return seconds;
}

// TVM's servers send only the seconds.
Ref<Benchmark> read_tvms(ByteReader &bytes, const EvaluatorOptions &plan) {
  std::vector<double> seconds = read_seconds(bytes);
  Benchmark::Course course;
  course.number = plan.number;
  course.warmup_count = plan.warmup;
  const double sum = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  course.calls_per_second = sum > 0 ? static_cast<double>(seconds.size()) / sum : 0;
  return make_object<Benchmark>(std::move(seconds), course);
}

Ref<Benchmark> read_own(ByteReader &bytes) {
  Benchmark::Course course;
  course.number = bytes.read<int64_t>("number");
  course.warmup_count = bytes.read<int64_t>("calls of the warm-up");
  course.concurrency = bytes.read<uint64_t>("concurrency");
  const auto facts = bytes.read<uint64_t>("whether the warm-up was steady");
  course.is_steady = facts & kIsSteady, course.is_device_time = facts & kIsDeviceTime;
  course.calls_per_second = bytes.read<double>("calls per second");
  std::vector<double> seconds = read_seconds(bytes);
  if (course.concurrency == 0 || seconds.size() % course.concurrency)
    bytes.bad("seconds", concat("are ", seconds.size(), " of ", course.concurrency, " threads"));
  return make_object<Benchmark>(std::move(seconds), course);
}

}  // namespace

std::string write_benchmark(const Benchmark &found) {
  ByteWriter bytes;
  bytes.write(found.course.number);
  bytes.write(found.course.warmup_count);
  bytes.write(uint64_t{found.course.concurrency});
  bytes.write((found.course.is_steady ? kIsSteady : 0) | (found.course.is_device_time ? kIsDeviceTime : 0));
  bytes.write(found.course.calls_per_second);
  for (const double one : found.seconds) bytes.write(one);
  return bytes.take();
}

std::function<Ref<Benchmark>(Args)> measured_there(Function &function, const EvaluatorOptions &plan) {
  const Ref<RemoteFunction> there = try_remote(function);
  if (!there) return {};
  const bool is_own = !there->session->version().empty();
  require(is_own || (!plan.preprocess && plan.warmup == 1 && plan.steady_ms == 0 && plan.concurrency == 1),
          "a function of TVM's server is measured without preprocess, with a warmup of 1, a steady_ms of 0 and a "
          "concurrency of 1");
  const Ref<RemoteFunction> before = plan.preprocess ? try_remote(*plan.preprocess) : nullptr;
  require(!plan.preprocess || before, "a function of another machine is measured with a preprocess of that machine");
  DLDevice device = plan.device;
  if (device.device_type >= kDevicesOfSession) device = there->session->there(device);
  const Value module = there->module ? Value(there->module) : Value(), name(there->name);
  const Value preprocess = before ? Value(before) : Value("");
  View args[kCount];
  args[kModule] = module.view(), args[kName] = name.view();
  args[kDeviceType] = opd_int(device.device_type), args[kDeviceNumber] = opd_int(device.device_id);
  args[kNumber] = opd_int(plan.number), args[kRepeat] = opd_int(plan.repeat);
  args[kMinRepeatMs] = opd_int(plan.min_repeat_ms);
  args[kLimitZeroTime] = opd_int(plan.limit_zero_time_iterations);
  args[kCooldownMs] = opd_int(plan.cooldown_interval_ms);
  args[kRepeatsToCooldown] = opd_int(plan.repeats_to_cooldown);
  args[kCacheFlushBytes] = opd_int(plan.cache_flush_bytes);
  args[kPreprocess] = preprocess.view();
  args[kWarmup] = opd_int(plan.warmup), args[kSteadyMs] = opd_int(plan.steady_ms);
  args[kConcurrency] = opd_int(plan.concurrency);
  const char *const maker = is_own ? kEvaluator : kTvmsEvaluator;
  const Value made = there->session->call(maker, {args, is_own ? size_t{kCount} : size_t{kTvmsCount}});
  const auto measure = Ref<Function>::share(&as<Function>(made, "the result of the evaluator's maker"));
  if (const Ref<RemoteFunction> its = try_remote(*measure)) its->name = "the evaluator of " + there->name;
  return [measure, plan, is_own](Args given) {
    const Value found = opd::call(*measure, given);
    ByteReader bytes(as_bytes(bytes_in(found, "the measured seconds")), "what the server measured");
    return is_own ? read_own(bytes) : read_tvms(bytes, plan);
  };
}

}  // namespace opd::rpc
