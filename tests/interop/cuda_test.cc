// Programs that TVM built for CUDA, in both modes of execution. NVIDIA's compiler makes the code for the driver; the
// driver is the recording one, which runs the same kernels compiled for the processor. So what is tested is all but the
// driver and the GPU: the kernels' parameters as in NVIDIA's code, launches, copies, the order of work, and the
// answers. With OPDYNO_TEST_REAL_CUDA (tools/gpu-check) the driver and the GPU are real, and the log of calls is not
// compared.
#include <map>

#include "interop/gpu_programs.h"
#include "support/c_artifact.h"
#include "support/cuda/recording.h"
#include "support/paths.h"

using namespace opdyno_test;
using cuda_driver::is_real_cuda;
using cuda_driver::Recording;

namespace {

Module kernels_of(const Module &module) {
  if (std::string(module.kind()) == "cuda") return module;
  for (const Module &import : module.imports())
    if (Module found = kernels_of(import)) return found;
  return {};
}

// Compiles the program's kernels for the processor, and has the driver run these.
void emulate_kernels(const std::string &model) {
  if (is_real_cuda()) return;
  static std::map<std::string, std::string> libraries;
  std::string &library = libraries[model];
  if (library.empty()) {
    const Module kernels = kernels_of(Module::load(program_file({kDLCUDA, 0}, model, "bytecode")));
    std::string source = "#include \"" + test_data("/../support/cuda/emulation.h") + "\"\n" + kernels.source();
    const std::string include = "#include <cuda.h>";
    if (const size_t at = source.find(include); at != source.npos) source.erase(at, include.size());
    for (const std::string &name : kernels.functions()) source += "EMULATED_KERNEL(" + name + ")\n";
    const std::string text = write_text("emulated_" + model + ".cc", source);
    library = scratch_directory() + "/emulated_" + model + ".so";
    const std::string command = "c++ -std=c++20 -O1 -shared -fPIC -w -o '" + library + "' '" + text + "'";
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }
  Recording::emulate(library);
}

class AProgramForCuda : public testing::Test {
 protected:
  // NVIDIA's compiler is asked for by the first kernel.
  void SetUp() override {
    ASSERT_NE(Recording::is_here(), is_real_cuda()) << "LD_LIBRARY_PATH does not name the driver that is tested";
    emulate_kernels("constants");  // else those of the test before run, of the same names and for larger tensors
    try {
      call(kDevice, "constants", "bytecode");
    } catch (const Error &e) {
      if (e.message().find("there is no libnvrtc.so") == std::string::npos) throw;
      GTEST_SKIP() << e.message();
    }
  }
  static Value call(DLDevice device, const std::string &model, const std::string &mode) {
    const Vm vm = program(device, model, mode);
    return vm.function("main").call(views_of(on_device(device, recorded(model, "in"))));
  }
  static constexpr DLDevice kDevice = {kDLCUDA, 0};
};

TEST_F(AProgramForCuda, GivesTheAnswersOfTheCpu) {
  for (const std::string model : kModels) {
    emulate_kernels(model);
    for (const std::string mode : kModes)
      if (model != "cnn" || mode == "bytecode" || is_real_cuda())  // it has 260,000 threads
        expect_answers(kDevice, model, call(kDevice, model, mode), model + " " + mode);
  }
}

TEST_F(AProgramForCuda, IsCompiledForEachDevice) {
  const DLDevice other = {kDLCUDA, 1};  // of compute version 8.0
  if (is_real_cuda() && opdyno::device_attr(other, OPD_ATTR_ABSENCE).type() != OPD_NONE)
    GTEST_SKIP() << "there is one GPU";
  emulate_kernels("norms");
  expect_answers(other, "norms", call(other, "norms", "bytecode"), "compute version 8.0");
}

TEST_F(AProgramForCuda, IsCompiledAtItsFirstCallOnly) {
  if (is_real_cuda()) GTEST_SKIP() << "NVIDIA's driver keeps no log of its calls";
  emulate_kernels("norms");
  const Vm vm = program(kDevice, "norms", "compiled");
  const std::vector<Tensor> inputs = on_device(kDevice, recorded("norms", "in"));
  Recording::log();
  vm.function("main").call(views_of(inputs));
  const std::string first = Recording::log();
  EXPECT_NE(first.find("cuModuleLoadDataEx"), first.npos) << first;
  vm.function("main").call(views_of(inputs));
  EXPECT_EQ(Recording::log(),
            "launch layer_norm_kernel 5x1x1 256x1x1 0 in default\n"
            "launch fused_multiply_sum_kernel 5x1x1 16x1x1 0 in default\n");
}

// By TVM's pass for CUDA graphs.
TEST_F(AProgramForCuda, LaunchesItsGraph) {
  emulate_kernels("deep");
  for (const std::string mode : kModes) {
    const Vm vm = program(kDevice, "deep", mode);
    const std::vector<Tensor> inputs = on_device(kDevice, recorded("deep", "in"));
    const auto call_it = [&] { return vm.function("main").call(views_of(inputs)); };
    expect_answers(kDevice, "deep", call_it(), mode + ", which captures");
    if (!is_real_cuda()) Recording::log();
    const Value result = call_it();
    if (!is_real_cuda()) {
      EXPECT_EQ(Recording::log(),
                "launch fused_matmul_relu_kernel 32x1x1 256x1x1 0 in default\ncuGraphLaunch 2 in default\n"
                "launch softmax_kernel 2x1x1 256x1x1 0 in default\n")
          << mode;
    }
    expect_answers(kDevice, "deep", result, mode + ", which launches");
    const std::vector<Tensor> others = on_device(kDevice, recorded("deep", "in"));
    expect_answers(kDevice, "deep", vm.function("main").call(views_of(others)), mode + " with parameters elsewhere");
  }
}

// In folders of their own. The other tests keep theirs in the build directory: NVIDIA's compiler takes seconds for
// each.
using AKeptProgramForCuda = AProgramForCuda;

TEST_F(AKeptProgramForCuda, IsUsedByLaterLoads) {
  emulate_kernels("norms");
  const std::string one = fresh_directory("kept_one"), two = fresh_directory("kept_two");
  expect_answers(kDevice, "norms", call_keeping(one, kDevice, "norms"), "compiled");
  ASSERT_EQ(files_of(one).size(), 1u);
  expect_answers(kDevice, "norms", call_keeping(one, kDevice, "norms"), "kept");
  call_keeping(two, kDevice, "mlp");
  // Code of another program in the place of this one's shows that nothing is compiled.
  const std::string file = files_of(one)[0], whole = read_bytes(file);
  std::filesystem::copy_file(files_of(two).at(0), file, std::filesystem::copy_options::overwrite_existing);
  try {
    call_keeping(one, kDevice, "norms");
    ADD_FAILURE() << "the kept program was not used";
  } catch (const Error &e) {
    EXPECT_NE(e.message().find("has no kernel layer_norm_kernel"), std::string::npos) << e.message();
  }
  std::ofstream(file, std::ios::binary) << whole.substr(0, whole.size() / 2);
  expect_answers(kDevice, "norms", call_keeping(one, kDevice, "norms"), "compiled again");
  EXPECT_EQ(read_bytes(file), whole);
  EXPECT_EQ(files_of(one).size(), 1u);
}

TEST_F(AKeptProgramForCuda, IsKeptOncePerComputeVersion) {
  if (is_real_cuda()) GTEST_SKIP() << "the GPUs' compute versions are not known";
  emulate_kernels("norms");
  const std::string folder = fresh_directory("kept");
  for (const DLDevice device : {kDevice, DLDevice{kDLCUDA, 1}, kDevice}) call_keeping(folder, device, "norms");
  EXPECT_EQ(files_of(folder).size(), 2u);
}

}  // namespace
