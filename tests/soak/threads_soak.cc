// Many threads, one VM, real artifacts: every answer is compared exactly, while others load, cancel, profile and trim.
#include <atomic>
#include <cstring>
#include <thread>

#include "support/opdyno_test.h"
#include "support/paths.h"
#include "support/soak_threads.h"

using namespace opdyno_test;

namespace {

std::string answer(const Vm &vm, const Tensor &x) {
  const Tensor y = Tensor::of(vm.call("with_constants", x));
  return {y.data<char>(), opd_tensor_bytes(y.get())};
}

template <class F>
void on_threads(int count, F body) {
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t) threads.emplace_back([=] { body(t); });
  for (auto &thread : threads) thread.join();
}

}  // namespace

TEST(ThreadsSoak, OneVmGivesEightThreadsTheRightAnswers) {
  const Vm vm(Module::load(interop_data("/0.27/mlp.so")));
  std::vector<Tensor> inputs;
  std::vector<std::string> wanted;
  for (int seed = 0; seed < 11; ++seed) {
    inputs.push_back(soak_input(seed));
    wanted.push_back(answer(vm, inputs.back()));
  }
  std::atomic<int> wrong{0};
  on_threads(8, [&](int t) {
    for (int i = 0; i < 2000; ++i) {
      const auto k = static_cast<size_t>((i + t) % 11);
      wrong += answer(vm, inputs[k]) != wanted[k];
      if (i % 500 == 250) check(opd_vm_trim(vm.get()));
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(ThreadsSoak, LoadingAndReleasingFromManyThreads) {
  const Tensor x = soak_input(3);
  const std::string wanted = answer(Vm(Module::load(interop_data("/0.26/mlp.so"))), x);
  std::atomic<int> wrong{0};
  on_threads(4, [&](int t) {
    const char *const releases[] = {"/0.25/mlp.so", "/0.26/mlp.so", "/0.27/mlp.so"};
    for (int i = 0; i < 40; ++i) {
      const Vm vm(Module::load(interop_data(releases[(i + t) % 3])));
      const Tensor y = Tensor::of(vm.call("with_constants", x));
      wrong += opd_tensor_bytes(y.get()) != wanted.size();
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(ThreadsSoak, ParallelKernelsFromManyCallers) {
  const Vm vm(Module::load(interop_data("/0.27/parallel.so")));
  const Params recorded = Params::load(interop_data("/0.27/parallel.npz"));
  std::vector<std::pair<std::string, std::string>> calls;  // function, key of its only input
  for (int32_t i = 0; i < opd_params_count(recorded.get()); ++i) {
    const std::string key = opd_params_name(recorded.get(), i);
    const size_t slash = key.find("/out");
    if (slash == std::string::npos || key.find(':') != std::string::npos || key.find("/out_") != std::string::npos)
      continue;
    calls.emplace_back(key.substr(0, slash), key);
  }
  ASSERT_FALSE(calls.empty());
  std::atomic<int> wrong{0};
  on_threads(4, [&](int t) {
    for (int i = 0; i < 100; ++i) {
      const auto &[call, key] = calls[static_cast<size_t>(i + t) % calls.size()];
      const Tensor wanted = recorded.get_tensor(key.c_str());
      std::vector<Tensor> inputs;
      for (int k = 0;; ++k) {
        Tensor tensor;
        opd_error *error = opd_params_get(recorded.get(), (call + "/in_" + std::to_string(k)).c_str(), tensor.out());
        if (error) {
          opd_error_release(error);
          break;
        }
        inputs.push_back(std::move(tensor));
      }
      std::vector<opd_value> args;
      for (const Tensor &tensor : inputs) args.push_back(arg(tensor));
      Value result;
      const std::string function = call.substr(0, call.find('@'));
      check(opd_vm_call(vm.get(), function.c_str(), args.data(), static_cast<int32_t>(args.size()), nullptr,
                        result.out()));
      const Tensor got = Tensor::of(result);
      for (int64_t e = 0; e < got.size(); ++e) {
        const float a = got.data<float>()[e], b = wanted.data<float>()[e];
        wrong += !(a == b || (a - b < 1e-5f * (1 + b) && b - a < 1e-5f * (1 + b)));
      }
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(ThreadsSoak, ProfilingAndCancellingBesideOtherCalls) {
  define("soak.nothing", [](const opd_value *, int32_t, opd_value *) {});
  const Vm vm(Module::load(interop_data("/0.27/mlp.so")));
  const Vm endless(Executable::assemble(".func loop() {\nagain:\n  call soak.nothing()\n  goto again\n}").to_module());
  const Tensor x = soak_input(1);
  const std::string wanted = answer(vm, x);
  std::atomic<int> wrong{0};
  on_threads(4, [&](int t) {
    for (int i = 0; i < 50; ++i) {
      const opd_value args[] = {arg(x)};
      if (t % 2) {
        Report report;
        check(opd_vm_profile(vm.get(), "with_constants", args, 1, nullptr, nullptr, report.out(), nullptr));
        wrong += opd_report_call_count(report.get()) != 4 + 2;  // two checks, two kernels; (dispatch), (profiler)
      } else {
        Handle<opd_cancel_token> cancel;
        check(opd_cancel_token_create(cancel.out()));
        std::thread canceller([&] { opd_cancel_token_cancel(cancel.get()); });
        opd_call_options options;
        opd_call_options_init(&options);
        options.cancel = cancel.get();
        opd_error *error = opd_vm_call(endless.get(), "loop", nullptr, 0, &options, nullptr);
        wrong += opd_error_code(error) != OPD_CANCELLED;
        opd_error_release(error);
        canceller.join();
      }
      wrong += answer(vm, x) != wanted;
    }
  });
  EXPECT_EQ(wrong, 0);
}
