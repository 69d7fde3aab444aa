// Programs whose kernels are SPIR-V, in the bytes of TVM's modules for Vulkan, on a Vulkan device. Its wheels have no
// code generator for Vulkan, so the kernels are compiled from GLSL here, with the arguments where TVM's kernels have
// them.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "support/opdyno_test.h"
#include "support/paths.h"
#include "support/vulkan_kernels.h"

using namespace opdyno_test;

namespace {

constexpr DLDevice kDevice = {kDLVulkan, 0};
const DLDataType kHandle{kDLOpaqueHandle, 64, 1}, kF32{kDLFloat, 32, 1}, kI32{kDLInt, 32, 1}, kI64{kDLInt, 64, 1};

// Set before main(), and so before anything asks for a device.
constexpr int kHandled[] = {SIGINT, SIGTERM, SIGUSR2, SIGQUIT, SIGHUP, SIGSEGV};
void note_signal(int) {}
const bool kHasHandlers = [] {
  for (const int signal : kHandled) std::signal(signal, &note_signal);
  return true;
}();

// to[i] = factor * from[i] + offset, with scalars that are pushed or in a uniform buffer.
std::string scale_source(const std::string &scalars = "layout(push_constant)") {
  return R"(#version 450
layout(local_size_x = 4) in;
layout(binding = 0) readonly buffer From { float from[]; };
layout(binding = 1) writeonly buffer To { float to[]; };
)" + scalars +
         R"( uniform Scalars { layout(offset = 0) float factor; layout(offset = 8) int offset; };
void main() { to[gl_GlobalInvocationID.x] = factor * from[gl_GlobalInvocationID.x] + offset; })";
}
const std::string &scale_spirv() {
  static const std::string code = compile_glsl("scale", scale_source());
  return code;
}

struct Kernel {
  std::string name;
  std::vector<DLDataType> params;
  std::string code;  // as the module has it
};
std::string module_bytes(const std::vector<Kernel> &kernels) {
  std::string infos = number(kernels.size()), codes = infos;
  for (const Kernel &kernel : kernels) {
    infos += text(kernel.name) + text(kernel.name) + number(kernel.params.size());
    for (const DLDataType &param : kernel.params) infos += raw(param);
    infos += list({"blockIdx.x", "threadIdx.x"}) + number(0);
    codes += text(kernel.name) + kernel.code;
  }
  return text("vulkan") + infos + codes;
}
const std::vector<DLDataType> kScaleParams = {kHandle, kHandle, kF32, kI32};
Module module_of(const std::string &name, const std::vector<Kernel> &kernels) {
  return with_root(name, "vulkan", module_bytes(kernels));
}
// A module whose one kernel, scale, has this code.
Module scale_module(const std::string &name, const std::string &code,
                    const std::vector<DLDataType> &params = kScaleParams) {
  return module_of(name, {{"scale", params, code}});
}

Tensor there_are(const std::vector<float> &values) {
  Tensor there({static_cast<int64_t>(values.size())}, "float32", kDevice);
  there.copy_from_bytes(values.data(), values.size() * sizeof(float));
  return there;
}
std::vector<float> back(const Tensor &tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.size()));
  tensor.copy_to_bytes(values.data(), values.size() * sizeof(float));
  return values;
}

class AProgramForVulkan : public testing::Test {
 protected:
  void SetUp() override {
    const Value reason = opdyno::device_attr(kDevice, OPD_ATTR_ABSENCE);
    if (reason.type() != OPD_NONE) GTEST_SKIP() << reason.string();
    if (!has_glsl_compiler()) GTEST_SKIP() << "glslangValidator, which compiles its kernels, is not installed";
  }
};

void expect_scales(const Module &module) {
  const Function scale = module.function("scale", 1);
  const Tensor from = there_are({1, 2, 3, 4, 5, 6, 7, 8}), to = there_are(std::vector<float>(8));
  for (int i = 1; i <= 40; ++i) {  // launches follow each other while the bindings of the former are in use
    scale(from, to, 2.0, i, 2, 4);
    scale(to, to, 0.5, 0, 2, 4);
  }
  EXPECT_EQ(back(to), (std::vector<float>{21, 22, 23, 24, 25, 26, 27, 28})) << "(2 * x + 40) / 2";
}

}  // namespace

// The driver is started where it is needed first. So this is the first test.
TEST(VulkanInAChild, StartsAfterFork) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    try {
      const Value reason = opdyno::device_attr(kDevice, OPD_ATTR_ABSENCE);
      _exit(reason.type() == OPD_NONE && back(there_are({1, 2})) != std::vector<float>{1, 2} ? 1 : 0);
    } catch (const Error &) { _exit(2); }
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

// The loader finds its drivers by these variables; without it the reason names its own package.
TEST(VulkanWithoutADriver, IsAbsentAndNamesThePackageThatHasOne) {
  const std::string said = scratch_directory() + "/info";
  const std::string command =
      "VK_ICD_FILENAMES=/none VK_DRIVER_FILES=/none " + opdyno_program() + " info > '" + said + "'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const std::string text = read_bytes(said);
  EXPECT_EQ(text.find("vulkan:0"), std::string::npos) << text;
  const size_t reason = text.find("  vulkan: the");
  ASSERT_NE(reason, std::string::npos) << text;
  EXPECT_NE(text.substr(reason, text.find('\n', reason) - reason).find("(Debian: "), std::string::npos) << text;
}

TEST_F(AProgramForVulkan, LeavesTheHandlersOfSignalsToTheProgram) {
  ASSERT_TRUE(kHasHandlers);
  expect_scales(scale_module("handlers", vulkan_code(scale_spirv())));
  for (const int signal : kHandled) {
    struct sigaction now {};
    sigaction(signal, nullptr, &now);
    EXPECT_EQ(now.sa_handler, &note_signal) << strsignal(signal);
  }
}

TEST_F(AProgramForVulkan, HasScalarsThatArePushedOrInABuffer) {
  expect_scales(scale_module("pushed", vulkan_code(scale_spirv())));
  expect_scales(
      scale_module("uniform", vulkan_code(compile_glsl("scale", scale_source("layout(std140, binding = 2)")), 1)));
}

TEST_F(AProgramForVulkan, IsReadInBothFormsThatTvmWrites) {
  const std::string code = vulkan_code(scale_spirv());
  expect_scales(scale_module("sized", text(code)));
  expect_scales(
      module_of("two", {{"other", kScaleParams, text(vulkan_code("none"))}, {"scale", kScaleParams, text(code)}}));
  expect_scales(module_of("two_old", {{"other", kScaleParams, vulkan_code("none")}, {"scale", kScaleParams, code}}));
}

TEST_F(AProgramForVulkan, RunsFromAnExportedLibraryAndFromTheCommandLine) {
  const Module program = Executable::assemble(R"(
.func main() {
  %s = call vm.builtin.alloc_storage(%vm, shape(16), 0, dtype(uint8), "global")
  %x = call vm.builtin.alloc_tensor(%s, 0, shape(4), dtype(float32))
  call fill(%x, 2, 1, 4)
  ret %x
})")
                             .to_module();
  const std::string fill = compile_glsl("fill", R"(#version 450
layout(local_size_x = 4) in;
layout(binding = 0) writeonly buffer To { float to[]; };
layout(push_constant) uniform Scalars { float value; };
void main() { to[gl_GlobalInvocationID.x] = value + gl_LocalInvocationID.x; })");
  program.add_import(module_of("fills", {{"fill", {kHandle, kF32}, vulkan_code(fill)}}));
  const std::string path = scratch_directory() + "/exported.so";
  check(opd_module_export(program.get(), path.c_str(), nullptr));
  auto options = opdyno::defaults(opd_vm_options_init);
  options.devices = &kDevice;
  options.num_devices = 1;
  EXPECT_EQ(back(Tensor::of(Vm(Module::load(path), &options).call("main"))), (std::vector<float>{2, 3, 4, 5}));
  const std::string said = scratch_directory() + "/said";
  ASSERT_EQ(std::system((opdyno_program() + " run '" + path + "' --device vulkan:0 > '" + said + "'").c_str()), 0);
  EXPECT_NE(read_bytes(said).find("float32[4]"), std::string::npos) << read_bytes(said);
}

// Kernels for SPIR-V of an old version have blocks in another form, 64-bit scalars, and no tensors.
TEST_F(AProgramForVulkan, HasKernelsOfManyForms) {
  expect_scales(scale_module("old", vulkan_code(compile_glsl("scale", scale_source(), "--target-env vulkan1.0"))));
  const std::string wide = compile_glsl("wide", R"(#version 450
#extension GL_ARB_gpu_shader_int64 : enable
layout(local_size_x = 1) in;
layout(binding = 0) buffer To { int64_t to[]; };
layout(push_constant) uniform Scalars { layout(offset = 0) int a; layout(offset = 8) int64_t b; layout(offset = 16) double c; };
void main() { to[gl_WorkGroupID.x] = a + b + int64_t(c); })");
  const std::string empty = compile_glsl("empty", "#version 450\nlayout(local_size_x = 1) in;\nvoid main() {}");
  const std::string open = compile_glsl("open", R"(#version 450
#extension GL_ARB_gpu_shader_int64 : enable
layout(local_size_x_id = 3) in;
layout(binding = 0) buffer To { int64_t to[]; };
void main() { to[gl_WorkGroupID.x] += 1; })");
  const DLDataType f64{kDLFloat, 64, 1};
  const Module module = module_of("forms", {{"wide", {kHandle, kI32, kI64, f64}, vulkan_code(wide)},
                                            {"empty", {}, vulkan_code(empty)},
                                            {"open", {kHandle}, vulkan_code(open)}});
  const Tensor to({3}, "int64", kDevice), host({3}, "int64");
  module.function("wide", 1)(to, -5, int64_t{1} << 40, 1000.0, 3, 1);
  module.function("empty", 1)(7, 1);
  module.function("open", 1)(to, 3, 1);  // the size of its blocks is not fixed in the code
  host.copy_from(to);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(host.data<int64_t>()[i], (int64_t{1} << 40) + 996);
}

TEST_F(AProgramForVulkan, NamesTheProblemOfItsKernels) {
  const Tensor x = there_are(std::vector<float>(4));
  int count = 0;
  const auto refused = [&](const std::string &code, opd_code kind, const std::string &problem,
                           const std::vector<DLDataType> &params = kScaleParams) {
    const Module module = scale_module("wrong" + std::to_string(count++), code, params);
    std::vector<opd_value> args;
    for (const DLDataType &param : params) args.push_back(param.code == kDLOpaqueHandle ? opdyno::arg(x) : opd_int(1));
    args.push_back(opd_int(1)), args.push_back(opd_int(4));
    expect_throws([&] { module.function("scale", 1).call(args); }, kind, problem);
  };
  refused(raw(uint32_t{2}) + number(1) + "SPIR", OPD_BAD_FORMAT, "the flags of a kernel at offset 25 are 2");
  refused(raw(uint32_t{0}) + number(1000) + "SPIR", OPD_BAD_FORMAT, "counts 1000 entries, but only 4 bytes remain");
  refused(vulkan_code(scale_spirv()) + "?", OPD_BAD_FORMAT, "is followed by 1 bytes");
  refused(text(vulkan_code("SPIR") + "?"), OPD_BAD_FORMAT, "the end of a kernel at offset 45 is followed by 1 bytes");
  refused(vulkan_code("SPIR"), OPD_BAD_FORMAT, "kernel scale of ");
  refused(vulkan_code(std::string(64, 'S')), OPD_BAD_FORMAT, "has no magic number of SPIR-V");
  refused(vulkan_code(scale_spirv().substr(0, 400)), OPD_BAD_FORMAT, "the SPIR-V at word");
  refused(vulkan_code(compile_glsl("other", scale_source())), OPD_NOT_FOUND,
          "the SPIR-V has no entry point scale; it has other");
  std::string newer = scale_spirv();
  newer[6] = 1, newer[5] = 9;
  refused(vulkan_code(newer), OPD_UNSUPPORTED, "is SPIR-V 1.9; vulkan:0 reads up to 1.");
  refused(vulkan_code(scale_spirv()), OPD_BAD_FORMAT, "kernel scale uses tensor 1, but has 1", {kHandle, kF32, kI32});
  refused(vulkan_code(scale_spirv()), OPD_BAD_FORMAT,
          "kernel scale uses pushed scalars up to offset 8, but has 8 bytes of them", {kHandle, kHandle, kF32});
  refused(vulkan_code(scale_spirv(), 1), OPD_BAD_FORMAT, "but has 0 bytes of them");
  refused(vulkan_code(compile_glsl("scale", scale_source("layout(std140, binding = 2)"))), OPD_BAD_FORMAT,
          "kernel scale uses a block of scalars as binding 2, where it has none");
  refused(vulkan_code(compile_glsl("scale", R"(#version 450
layout(local_size_x = 4) in;
layout(binding = 0, r32f) uniform image2D image;
void main() { imageStore(image, ivec2(0), vec4(1)); })")),
          OPD_BAD_FORMAT, "has an image or a sampler");
  refused(vulkan_code(
              compile_glsl("scale", "#version 450\nlayout(local_size_x = 1024, local_size_y = 2) in;\nvoid main() {}")),
          OPD_UNSUPPORTED, "has blocks of 1024 x 2 x 1 threads; vulkan:0 takes ");
  refused(vulkan_code(scale_spirv()), OPD_UNSUPPORTED, "kernel scale has 102 scalars of 8 bytes; vulkan:0 takes ", [] {
    std::vector<DLDataType> params(104, kI32);
    params[0] = params[1] = kHandle;
    return params;
  }());
}

TEST_F(AProgramForVulkan, NamesTheProblemOfALaunch) {
  const Module module = scale_module("launches", vulkan_code(scale_spirv()));
  const Function scale = module.function("scale", 1);
  const Tensor x = there_are(std::vector<float>(64));
  expect_throws([&] { scale(x, x, 1.0, 0, 1, 8); }, OPD_INVALID_ARGUMENT,
                "kernel scale was compiled for blocks of 4 x 1 x 1 threads, but is launched with 8 x 1 x 1");
  expect_throws([&] { scale(x, x, 1.0, 0, int64_t{UINT32_MAX}, 4); }, OPD_INVALID_ARGUMENT,
                "cannot be launched with 4294967295 x 1 x 1 blocks: vulkan:0 has at most ");
  expect_throws([&] { scale(x, Value(), 1.0, 0, 1, 4); }, OPD_INVALID_ARGUMENT,
                "argument 1 of kernel scale is not a tensor");
  char *const begin = static_cast<char *>(x.view().data);
  expect_throws([&] { scale(x, opd_pointer(begin + 1), 1.0, 0, 1, 4); }, OPD_INVALID_ARGUMENT,
                "argument 1 of kernel scale begins 1 bytes into its buffer; vulkan:0 can begin at multiples of ");
  int place = 0;
  expect_throws([&] { scale(x, opd_pointer(&place), 1.0, 0, 1, 4); }, OPD_INVALID_ARGUMENT,
                "are not of a tensor of vulkan:0");
  scale(x, x, 1.0, 3, 16, 4);
  EXPECT_EQ(back(x), std::vector<float>(64, 3)) << "and is usable afterwards";
}

// Copies of more than the buffer that the host shares with the device.
TEST_F(AProgramForVulkan, CopiesMoreThanItsStagingBufferHolds) {
  std::vector<float> values(5'000'001);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 65537);
  const Tensor first = there_are(values), second({static_cast<int64_t>(values.size())}, "float32", kDevice);
  second.copy_from(first);
  EXPECT_EQ(back(second), values);
}

TEST_F(AProgramForVulkan, CopiesAPartOfATensorOntoItself) {
  const Tensor whole = there_are({0, 1, 2, 3, 4, 5, 6, 7});
  DLTensor from = whole.view(), to = whole.view();
  int64_t shape[] = {5};
  from.shape = to.shape = shape, from.strides = to.strides = nullptr, to.byte_offset = 2 * sizeof(float);
  opd_tensor *part = nullptr;
  check(opd_tensor_borrow(&to, &part));
  const Tensor target(part);
  check(opd_tensor_copy(&from, part));
  opd_tensor_end_borrow(part);
  EXPECT_EQ(back(whole), (std::vector<float>{0, 1, 0, 1, 2, 3, 4, 7}));
}

// Memory is given back while work that uses it may not have begun.
TEST_F(AProgramForVulkan, MayLoseTensorsThatItsWorkUses) {
  const Module module = scale_module("lost", vulkan_code(scale_spirv()));
  const Function scale = module.function("scale", 1);
  const Tensor result = there_are(std::vector<float>(4));
  for (int i = 0; i < 50; ++i) {
    const Tensor from = there_are(std::vector<float>(4, static_cast<float>(i)));
    scale(from, result, 1.0, 1, 1, 4);
    if (i % 10 == 0) opdyno::trim_memory(kDevice);
  }
  EXPECT_EQ(back(result), std::vector<float>(4, 50));
}

TEST_F(AProgramForVulkan, IsCalledByManyThreadsInStreamsOfTheirOwn) {
  const Module module = scale_module("threads", vulkan_code(scale_spirv()));
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      const opdyno::Stream stream(kDevice);
      if (t > 0) opdyno::set_stream(kDevice, stream.get());
      for (int i = 0; i < 5; ++i) expect_scales(module);
      opdyno::set_stream(kDevice, nullptr);
    });
  for (std::thread &thread : threads) thread.join();
}

TEST_F(AProgramForVulkan, DoesNotLendItsAddressesToOthers) {
  const Tensor there({4}, "float32", kDevice);
  expect_throws([&] { there.to_dlpack(); }, OPD_UNSUPPORTED, "copy it to the host");
}

TEST_F(AProgramForVulkan, IsRefusedInAChildOfFork) {
  const Module module = scale_module("forked", vulkan_code(scale_spirv()));
  expect_scales(module);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    bool is_refused = false;
    try {
      expect_scales(module);
    } catch (const Error &e) {
      is_refused = e.code() == OPD_UNSUPPORTED && e.message().find("child of fork()") != std::string::npos;
    }
    _exit(is_refused ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  expect_scales(module);
}
