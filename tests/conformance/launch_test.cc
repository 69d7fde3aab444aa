// What a launch passes to a device: arguments by their dtypes, launch values by their tags. On the simulated device.
#include "conformance/kernels.h"

using namespace opdyno_test;

namespace {

constexpr DLDataType kHandle{kDLOpaqueHandle, 64, 1}, kFloat{kDLFloat, 32, 1};

struct Described {
  std::string name;
  std::vector<DLDataType> params;
  std::vector<std::string> tags;
};
Module kernels_of(const std::string &name, const std::vector<Described> &kernels) {
  std::string bytes = text("sim") + number(kernels.size()), code;
  for (const auto &[kernel, params, tags] : kernels) {
    bytes += text(kernel) + text(kernel) + number(params.size());
    for (const DLDataType &param : params) bytes += raw(param);
    bytes += list(tags) + number(0);
    code += kernel + "\n";
  }
  return with_root("launch_" + name, "vpi", bytes + text(code));
}

struct Launched {
  std::vector<std::string> args;
  opd_kernel_launch launch;
};

class ALaunch : public testing::Test {
 protected:
  ALaunch() {
    for (const char *name : {"first", "second"})
      device_.define(name,
                     [this](SimulatedDevice &, const std::vector<std::string> &args, const opd_kernel_launch &launch) {
                       const std::scoped_lock lock(guard_);
                       launched_.push_back({args, launch});
                     });
  }
  ~ALaunch() override {
    for (const int32_t id : {0, 1}) opdyno::sync(device_.device(id));
    Function::global("__tvm_set_device")(int{device_.device().device_type}, 0);
  }
  // What was launched since the last time.
  std::vector<Launched> launched() {
    for (const int32_t id : {0, 1}) opdyno::sync(device_.device(id));
    const std::scoped_lock lock(guard_);
    return std::exchange(launched_, {});
  }
  Launched one() {
    const auto all = launched();
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? Launched{} : all[0];
  }

  SimulatedDevice &device_ = SimulatedDevice::get();
  std::mutex guard_;
  std::vector<Launched> launched_;
};

template <class T>
void expect_is(const std::string &bytes, T expected) {
  ASSERT_EQ(bytes.size(), sizeof expected);
  EXPECT_EQ(argument<T>(bytes), expected);
}

TEST_F(ALaunch, PassesEachArgumentInTheSizeOfItsDtype) {
  const Function kernel = kernels_of("dtypes", {{"first",
                                                 {kHandle,
                                                  kHandle,
                                                  kHandle,
                                                  kFloat,
                                                  {kDLFloat, 64, 1},
                                                  {kDLInt, 8, 1},
                                                  {kDLInt, 16, 1},
                                                  {kDLInt, 32, 1},
                                                  {kDLInt, 64, 1},
                                                  {kDLUInt, 8, 1},
                                                  {kDLBool, 8, 1},
                                                  kFloat},
                                                 {"blockIdx.x"}}})
                              .function("first", 1);
  const Tensor there = on(device_.device(), {1, 2, 3, 4});
  int host = 0;
  kernel(there, opd_pointer(&host), nullptr, 1.5, 2.25, -3, -300, -70000, int64_t{1} << 40, 200, true, 7, 1);
  const auto args = one().args;
  ASSERT_EQ(args.size(), 12u);
  expect_is<const void *>(args[0], there.view().data);
  expect_is<const void *>(args[1], &host);
  expect_is<const void *>(args[2], nullptr);
  expect_is(args[3], 1.5f);
  expect_is(args[4], 2.25);
  expect_is(args[5], int8_t{-3});
  expect_is(args[6], int16_t{-300});
  expect_is(args[7], int32_t{-70000});
  expect_is(args[8], int64_t{1} << 40);
  expect_is(args[9], uint8_t{200});
  expect_is(args[10], uint8_t{1});
  expect_is(args[11], 7.f);
}

TEST_F(ALaunch, PassesAnyNumberOfArguments) {
  for (const size_t count : {0, 1, 31, 32, 33, 100}) {
    const std::string name = "count" + std::to_string(count);
    const Function kernel =
        kernels_of(name, {{"first", std::vector<DLDataType>(count, {kDLInt, 32, 1}), {"threadIdx.x"}}})
            .function("first", 1);
    std::vector<opd_value> values;
    for (size_t i = 0; i < count; ++i) values.push_back(opd_int(static_cast<int64_t>(3 * i)));
    values.push_back(opd_int(5));
    opd_value result = opd_none();
    check(opd_function_call(kernel.get(), values.data(), static_cast<int32_t>(values.size()), &result));
    const Launched seen = one();
    EXPECT_EQ(seen.launch.num_args, count);
    EXPECT_EQ(seen.launch.block[0], 5u);
    ASSERT_EQ(seen.args.size(), count);
    for (size_t i = 0; i < count; ++i) expect_is(seen.args[i], static_cast<int32_t>(3 * i));
  }
}

TEST_F(ALaunch, HasTheValuesThatItsTagsName) {
  const std::vector<std::string> sizes = {"blockIdx.x",      "blockIdx.y",      "blockIdx.z",
                                          "threadIdx.x",     "threadIdx.y",     "threadIdx.z",
                                          "clusterCtaIdx.x", "clusterCtaIdx.y", "clusterCtaIdx.z"};
  const Module module = kernels_of(
      "values",
      {{"first", {}, sizes},
       {"second", {}, {"tir.use_dyn_shared_memory", "preferredClusterCtaIdx.x", "tirx.use_cooperative_launch"}}});
  const Function first = module.function("first", 1), second = module.function("second", 1);
  first(1, 2, 3, 4, 5, 6, 7, 8, 9);
  const auto is = [](const uint32_t(&found)[3], uint32_t x, uint32_t y, uint32_t z) {
    return found[0] == x && found[1] == y && found[2] == z;
  };
  Launched seen = one();
  EXPECT_TRUE(is(seen.launch.grid, 1, 2, 3) && is(seen.launch.block, 4, 5, 6) && is(seen.launch.cluster, 7, 8, 9));
  EXPECT_EQ(seen.launch.dynamic_shared_bytes, 0u);
  EXPECT_EQ(seen.launch.is_cooperative, 0u);
  second(int64_t{1} << 40, 6);
  seen = one();
  EXPECT_TRUE(is(seen.launch.grid, 1, 1, 1) && is(seen.launch.block, 1, 1, 1) && is(seen.launch.cluster, 1, 1, 1));
  EXPECT_EQ(seen.launch.dynamic_shared_bytes, uint64_t{1} << 40);
  EXPECT_EQ(seen.launch.is_cooperative, 1u);
  second(0, 6);
  EXPECT_EQ(one().launch.dynamic_shared_bytes, 0u) << "without shared memory it runs, too";
  first(uint32_t{UINT32_MAX}, 1, 1, 1, 1, 1, 1, 1, 1);
  EXPECT_EQ(one().launch.grid[0], UINT32_MAX);
  for (int i = 0; i < 9; ++i) {  // a size of 0: nothing runs
    std::vector<opd_value> values(9, opd_int(1));
    opd_value result = opd_none();
    values[static_cast<size_t>(i)] = opd_int(0);
    check(opd_function_call(first.get(), values.data(), 9, &result));
    EXPECT_TRUE(launched().empty()) << i;
    for (const int64_t wrong : {int64_t{-1}, int64_t{UINT32_MAX} + 1}) {
      values[static_cast<size_t>(i)] = opd_int(wrong);
      expect_error(opd_function_call(first.get(), values.data(), 9, &result), OPD_OUT_OF_RANGE,
                   "launch value " + std::to_string(i) + " of kernel first must be from 0 to 4294967295, but is " +
                       std::to_string(wrong));
    }
  }
  expect_throws([&] { second(-1, 6); }, OPD_OUT_OF_RANGE, "launch value 0 of kernel second must be >= 0, but is -1");
  expect_throws([&] { second(1, -6); }, OPD_OUT_OF_RANGE,
                "launch value 1 of kernel second must be from 0 to 4294967295, but is -6");
  expect_throws([&] { second(1); }, OPD_INVALID_ARGUMENT,
                "kernel second takes 0 arguments and 2 launch values, but was given 1");
  EXPECT_TRUE(launched().empty());
}

TEST_F(ALaunch, CompilesAModuleOnceForEachDevice) {
  const size_t before = device_.counts().programs;
  {
    const Module module = kernels_of("once", {{"first", {}, {"blockIdx.x"}}, {"second", {}, {"blockIdx.x"}}});
    const Function first = module.function("first", 1), second = module.function("second", 1),
                   again = module.function("first", 1);
    EXPECT_EQ(device_.counts().programs, before) << "not before a kernel is launched";
    const auto calls = [&](const Function &kernel) {
      device_.fail_from(0);  // counts anew
      kernel(1);
      return device_.calls();
    };
    EXPECT_EQ(calls(first), 3) << "build, find, launch";
    EXPECT_EQ(calls(first), 1);
    EXPECT_EQ(calls(second), 2);
    EXPECT_EQ(calls(again), 1);
    EXPECT_EQ(device_.counts().programs, before + 1);
    Function::global("__tvm_set_device")(int{device_.device().device_type}, 1);
    EXPECT_EQ(calls(second), 3);
    EXPECT_EQ(calls(second), 1);
    EXPECT_EQ(device_.counts().programs, before + 2);
    EXPECT_EQ(launched().size(), 6u);
  }
  EXPECT_EQ(device_.counts().programs, before);
}

TEST_F(ALaunch, IsOnTheDeviceThatTheHostCodeSet) {
  const Function kernel = kernels_of("where", {{"first", {kHandle}, {"blockIdx.x"}}}).function("first", 1),
                 set_device = Function::global("__tvm_set_device");
  const int kind = device_.device().device_type;
  const Tensor here = on(device_.device(0), {1, 2}), there = on(device_.device(1), {3, 4});
  const std::string zero = opdyno::to_string(device_.device(0)), other = opdyno::to_string(device_.device(1));
  kernel(here, 1);
  expect_throws([&] { kernel(there, 1); }, OPD_INVALID_ARGUMENT,
                "argument 0 of kernel first must lie on " + zero + ", but is float32[2] on " + other);
  set_device(kind, 1);
  kernel(there, 1);
  expect_throws([&] { kernel(here, 1); }, OPD_INVALID_ARGUMENT,
                "argument 0 of kernel first must lie on " + other + ", but is float32[2] on " + zero);
  EXPECT_EQ(launched().size(), 2u);
  for (const auto &[count, ask] : {std::pair<int, std::function<void()>>{0, [&] { set_device(); }},
                                   {1, [&] { set_device(kind); }},
                                   {3, [&] { set_device(kind, 0, 0); }}})
    expect_throws(ask, OPD_INVALID_ARGUMENT,
                  "__tvm_set_device(device type, device id) takes 2 arguments, but was given " + std::to_string(count));
  expect_throws([&] { set_device(kind, 2); }, OPD_UNSUPPORTED, "");
  kernel(there, 1);  // the thread's device is the one of before
  EXPECT_EQ(launched().size(), 1u);
}

TEST_F(ALaunch, RefusesAKernelWithUnsupportedParameters) {
  const Module module = kernels_of(
      "odd", {{"first", {{kDLFloat, 16, 1}}, {}}, {"second", {}, {"tirx.use_a_new_thing"}}, {"third", {}, {}}});
  expect_throws([&] { module.function("first", 1); }, OPD_UNSUPPORTED,
                "has a parameter of dtype float16, which opdyno cannot pass to a device");
  expect_throws([&] { module.function("second", 1); }, OPD_UNSUPPORTED,
                "has the launch parameter tirx.use_a_new_thing, which opdyno cannot pass to a device");
  const Function third = module.function("third", 1);  // which the simulated device does not know
  expect_throws([&] { third(); }, OPD_NOT_FOUND, "the simulated device has no kernel third");
}

}  // namespace
