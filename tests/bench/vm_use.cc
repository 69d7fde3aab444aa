// A VM in a server: many threads at once, and what it keeps while nobody calls.
#include <algorithm>
#include <fstream>
#include <opdyno/opdyno.hpp>
#include <thread>

#include "harness.h"
#include "mlp.h"

namespace {

using opdyno::check;

std::vector<opdyno::Tensor> mlp_inputs() {
  std::vector<opdyno::Tensor> tensors;
  for (const auto &dims : bench::kMlpShapes) {
    tensors.emplace_back(dims, "float32");
    std::fill_n(tensors.back().data<float>(), tensors.back().size(), 0.01f);
  }
  return tensors;
}

void call(const opdyno::Function &function, const std::vector<opdyno::Tensor> &tensors) {
  std::vector<opd_value> args;
  for (const auto &tensor : tensors) args.push_back(opdyno::arg(tensor));
  opdyno::Value result;
  check(opd_function_call(function.get(), args.data(), static_cast<int32_t>(args.size()), result.out()));
}

// How much longer 16 threads take for calls of one VM than for the same calls of a VM each. Both need the same cores,
// so the row tells what sharing costs, on few cores as on many.
const bench::AddRow threads("threads_16", "%", [] {
  constexpr size_t kThreads = 16;
  const opdyno::Module module = opdyno::Module::load(bench::artifact("mlp_784", "chain_100"));
  std::vector<opdyno::Function> own;
  for (size_t i = 0; i < kThreads; ++i) own.push_back(opdyno::Vm(module).function("main"));
  const std::vector<opdyno::Function> shared(kThreads, own[0]);
  const std::vector<opdyno::Tensor> inputs =
      bench::settings().quick ? std::vector<opdyno::Tensor>(1, opdyno::Tensor({4}, "float32")) : mlp_inputs();
  const int calls = bench::settings().quick ? 2 : 1000;
  const auto time_of = [=](const std::vector<opdyno::Function> &functions) {
    return bench::nanoseconds([&] {
      std::vector<std::thread> all;
      for (const auto &function : functions)
        all.emplace_back([&] {
          for (int i = 0; i < calls; ++i) call(function, inputs);
        });
      for (auto &thread : all) thread.join();
    });
  };
  return [=] {
    const double apart = time_of(own);
    return (time_of(shared) / apart - 1) * 100;
  };
});

double resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("RssAnon:")) return std::stod(line.substr(8));
  throw std::runtime_error("/proc/self/status does not say RssAnon");
}

// A VM of a loaded program that was called once.
const bench::AddProcessRow idle("idle_vm", "KiB", [] {
  const opdyno::Module module = opdyno::Module::load(bench::artifact("mlp_784"));
  const auto inputs = mlp_inputs();
  std::vector<opdyno::Vm> vms;
  const auto add = [&] {
    vms.emplace_back(module);
    call(vms.back().function("main"), inputs);
  };
  add();  // with it what all of them share
  const double before = resident_kib();
  constexpr int kMany = 64;
  for (int i = 0; i < kMany; ++i) add();
  return (resident_kib() - before) / kMany;
});

}  // namespace
