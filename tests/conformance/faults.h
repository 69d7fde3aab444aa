// A device that fails at any point: errors reach the caller, nothing hangs, and nothing is lost.
#pragma once
#include "conformance/kernels.h"

namespace opdyno_test {

// Of the calling thread, while it lives.
class CurrentStream {
 public:
  CurrentStream(DLDevice device, void *stream) : device_(device), before_(opdyno::set_stream(device, stream)) {}
  ~CurrentStream() { opdyno::set_stream(device_, before_); }

 private:
  const DLDevice device_;
  void *const before_;
};

/** Everything: memory, copies, streams, a build, launches, a VM. Returns the calls until the last error can be told. */
template <class Faults>
int64_t use_all_of(DLDevice device, const Faults &faults) {
  const opdyno::Stream stream(device);
  const Module kernels = kernels_or_none("faults");
  const Vm vm = vm_on(device, kernels);
  const Value result = vm.call("main", on(device, {1, 2, 3, 4}));
  EXPECT_EQ(read(Tensor::of(result)), (std::vector<float>{17, 26, 35, 44}));
  {  // memory that the default stream used
    const CurrentStream current(device, stream.get());
    EXPECT_EQ(read(Tensor::of(vm.call("main", on(device, {2, 2, 2, 2})))), std::vector<float>(4, 26));
  }
  opdyno::sync(device);
  return faults.calls();
}

/** Fails each call that the library makes of a device, one after the other. @p faults has fail_from(n), after which the
 * nth call and all later ones fail, calls() since then, and counts() of what is alive. */
template <class Faults>
void expect_errors_and_no_loss(DLDevice device, Faults &faults) {
  const auto use = [&] { return use_all_of(device, faults); };
  use();
  opdyno::trim_memory(device);
  const auto before = faults.counts();
  faults.fail_from(0);
  const int64_t told = use(), calls = faults.calls();
  ASSERT_GT(told, 8);
  for (int64_t nth = 1; nth <= calls; ++nth) {
    faults.fail_from(nth);
    if (nth <= told) EXPECT_THROW(use(), Error) << "call " << nth << " of " << calls;
    else use();  // the end of things, of which a destructor cannot tell
    faults.fail_from(0);
    opdyno::trim_memory(device);
    EXPECT_EQ(faults.counts(), before) << "after call " << nth << " of " << calls;
  }
  use();
}

/** Fails each call in turn while the work of the device is recorded. */
template <class Faults>
void expect_no_loss_while_recorded(DLDevice device, Faults &faults) {
  const Module kernels = kernels_or_none("recorded");
  const Tensor x = on(device, {1, 2, 3, 4});
  const auto use = [&] {
    const Vm vm = vm_on(device, kernels);
    const opdyno::Profiler profiler;
    profiler.start();
    bool failed = false;
    try {
      EXPECT_EQ(read(Tensor::of(vm.call("main", x))), (std::vector<float>{17, 26, 35, 44}));
    } catch (const Error &) { failed = true; }
    faults.fail_from(0);
    EXPECT_TRUE(profiler.stop());
    return failed;
  };
  EXPECT_FALSE(use());
  opdyno::trim_memory(device);
  const auto before = faults.counts();
  int failures = 0;
  for (int64_t nth = 1; nth <= 40; ++nth) {
    faults.fail_from(nth);
    failures += use();
    opdyno::trim_memory(device);
    EXPECT_EQ(faults.counts(), before) << "after call " << nth;
  }
  EXPECT_GT(failures, 5);
}

}  // namespace opdyno_test
