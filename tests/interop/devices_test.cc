// What TVM compiled for two CPU devices, in both execution modes.
#include "support/opdyno_test.h"
#include "support/paths.h"
#include "support/tensors.h"

using namespace opdyno_test;

namespace {

class AProgramForTwoDevices : public testing::TestWithParam<const char *> {
 protected:
  Vm vm_on(int32_t first, int32_t second) {
    const Module module = Module::load(interop_data("/modules/devices_") + GetParam() + ".so");
    const DLDevice devices[] = {{kDLCPU, first}, {kDLCPU, second}};
    opd_vm_options options;
    opd_vm_options_init(&options);
    options.devices = devices;
    options.num_devices = 2;
    return Vm(module, &options);
  }
};

// main(x) = (y, 2 * y) for y = x * {1, 2, 3, 4}; the second lies on the second device.
TEST_P(AProgramForTwoDevices, ComputesOnBoth) {
  const Vm vm = vm_on(0, 1);
  for (int round = 0; round < 3; ++round) {
    const Value both = vm.call("main", floats({5, 6, 7, 8}));
    const Tensor first = Tensor::of(item_of(both, 0)), second = Tensor::of(item_of(both, 1));
    EXPECT_EQ(elements_of<float>(first), (std::vector<float>{5, 12, 21, 32}));
    EXPECT_EQ(elements_of<float>(second), (std::vector<float>{10, 24, 42, 64}));
    EXPECT_EQ(first.view().device.device_id, 0);
    EXPECT_EQ(second.view().device.device_id, 1);
  }
}

TEST_P(AProgramForTwoDevices, FindsItsConstantsBesideItsInputs) {
  // Its kernels refuse arguments on different devices; the program moves to cpu:1 what it wants on the second one.
  const Vm vm = vm_on(7, 1);
  const Tensor x({4}, "float32", {kDLCPU, 7});
  for (int i = 0; i < 4; ++i) x.data<float>()[i] = static_cast<float>(i);
  const Value both = vm.call("main", x);
  EXPECT_EQ(to_floats(item_of(both, 1)), (std::vector<float>{0, 4, 12, 24}));
  EXPECT_EQ(Tensor::of(item_of(both, 0)).view().device.device_id, 7);
}

INSTANTIATE_TEST_SUITE_P(Modes, AProgramForTwoDevices, testing::Values("bytecode", "compiled"),
                         [](const auto &info) { return info.param; });

}  // namespace
