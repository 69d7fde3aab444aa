// Programs that TVM built for devices other than the CPU (build_gpu.py), with inputs, and with the answers of the same
// programs built for the CPU.
#pragma once
#include <cmath>
#include <filesystem>

#include "support/opdyno_test.h"
#include "support/paths.h"

namespace opdyno_test {

constexpr const char *kModels[] = {"mlp", "norms", "cnn", "constants", "deep"};
constexpr const char *kModes[] = {"bytecode", "compiled"};

inline std::string program_file(DLDevice device, const std::string &model, const std::string &mode) {
  const std::string kind = opdyno::to_string(DLDevice{device.device_type, 0});
  return interop_data("/") + kind.substr(0, kind.find(':')) + "/" + model + "_" + mode + ".so";
}

// Of the cache directory, nullptr means the usual one.
inline Vm program(DLDevice device, const std::string &model, const std::string &mode,
                  const char *cache_directory = nullptr) {
  auto module_options = opdyno::defaults(opd_module_options_init);
  module_options.cache_dir = cache_directory;
  auto options = opdyno::defaults(opd_vm_options_init);
  options.devices = &device;
  options.num_devices = 1;
  return Vm(Module::load(program_file(device, model, mode), &module_options), &options);
}

// The tensors of a kind, in their order: "in0", "in1" …
inline std::vector<Tensor> recorded(const std::string &model, const std::string &kind) {
  const Params params = Params::load(interop_data("/opencl/") + model + ".npz");  // the same for all
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < params.size(); ++i)
    if (std::string(params.name(i)).starts_with(kind))
      tensors.push_back(params.get_tensor((kind + std::to_string(tensors.size())).c_str()));
  return tensors;
}

inline std::vector<Tensor> on_device(DLDevice device, const std::vector<Tensor> &tensors) {
  std::vector<Tensor> there;
  for (const Tensor &tensor : tensors) {
    there.emplace_back(tensor.shape(), tensor.dtype(), device);
    there.back().copy_from(tensor);
  }
  return there;
}

inline std::vector<Tensor> leaves(const Value &result) {
  if (result.type() == OPD_TENSOR) return {Tensor::of(result)};
  std::vector<Tensor> tensors;
  const auto items = opdyno::Array::of(result);
  for (size_t i = 0; i < items.size(); ++i) tensors.push_back(Tensor::of(items[i]));
  return tensors;
}

inline void expect_answers(DLDevice device, const std::string &model, const Value &result, const std::string &what) {
  const std::vector<Tensor> expected = recorded(model, "out"), given = leaves(result);
  ASSERT_EQ(given.size(), expected.size()) << what;
  for (size_t i = 0; i < given.size(); ++i) {
    EXPECT_EQ(given[i].view().device.device_type, device.device_type) << what;
    ASSERT_EQ(given[i].shape(), expected[i].shape()) << what;
    const Tensor host(given[i].shape(), "float32");
    host.copy_from(given[i]);
    for (int64_t j = 0; j < host.size(); ++j) {
      const float wanted = expected[i].data<float>()[j];
      ASSERT_NEAR(host.data<float>()[j], wanted, 1e-5f + 1e-5f * std::abs(wanted)) << what << ", element " << j;
    }
  }
}

inline std::vector<opd_value> views_of(const std::vector<Tensor> &tensors) {
  std::vector<opd_value> views;
  for (const Tensor &tensor : tensors) views.push_back(opdyno::arg(tensor));
  return views;
}

// Loads and calls a program. What is compiled of it is kept in the folder.
inline Value call_keeping(const std::string &folder, DLDevice device, const std::string &model) {
  const Vm vm = program(device, model, "bytecode", folder.c_str());
  return vm.function("main").call(views_of(on_device(device, recorded(model, "in"))));
}

inline std::vector<std::string> files_of(const std::string &folder) {
  std::vector<std::string> files;
  for (const auto &entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  return files;
}

}  // namespace opdyno_test
