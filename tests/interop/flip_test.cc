// One flipped byte in a real executable is an error or a program that runs safely, never the end of the process.
// Each try runs in a child.
#include <sys/wait.h>
#include <unistd.h>

#include "support/opdyno_test.h"

using namespace opdyno_test;

namespace {

constexpr size_t kTriesPerChild = 64;

struct Subject {
  const char *file, *function;
  std::vector<std::vector<int64_t>> shapes;  // of float32; an empty one is an int32 scalar of 3
};

std::vector<Tensor> inputs_of(const Subject &subject) {
  std::vector<Tensor> inputs;
  for (const auto &shape : subject.shapes) {
    Tensor tensor(shape, shape.empty() ? "int32" : "float32");
    if (shape.empty()) *tensor.data<int32_t>() = 3;
    else
      for (int64_t i = 0; i < tensor.size(); ++i) tensor.data<float>()[i] = static_cast<float>(i % 7) / 7;
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

// Loads and runs the damaged program with the undamaged library's kernels. Errors are fine.
void try_program(const std::string &bytes, const Module &library, const Subject &subject) {
  Executable executable;
  opd_error *error = opd_executable_load_bytes(bytes.data(), bytes.size(), executable.out());
  Vm vm;
  if (!error) {
    const Module module = executable.to_module();
    Handle<opd_array> imports;
    check(opd_module_list_imports(library.get(), imports.out()));
    for (size_t i = 0; i < opd_array_count(imports.get()); ++i) {
      Value kernels;
      check(opd_array_get(imports.get(), i, kernels.out()));
      check(opd_module_add_import(module.get(), reinterpret_cast<opd_module *>(kernels.view().u.object)));
    }
    opd_vm_options options;
    opd_vm_options_init(&options);
    options.memory_limit_bytes = 64 << 20;
    error = opd_vm_create(module.get(), &options, vm.out());
  }
  if (!error) {
    const std::vector<Tensor> inputs = inputs_of(subject);
    std::vector<opd_value> args;
    for (const Tensor &input : inputs) args.push_back(arg(input));
    opd_call_options call;
    opd_call_options_init(&call);
    call.timeout_ns = 500'000'000;
    Value result;
    error =
        opd_vm_call(vm.get(), subject.function, args.data(), static_cast<int32_t>(args.size()), &call, result.out());
  }
  opd_error_release(error);
}

class Flip : public testing::TestWithParam<Subject> {};

}  // namespace

TEST_P(Flip, NeverEndsTheProcess) {
  const Subject &subject = GetParam();
  const Module library = Module::load(std::string(OPDYNO_INTEROP_DATA) + "/" + subject.file);
  Executable executable;
  check(opd_executable_from_module(library.get(), executable.out()));
  const std::string whole = executable.save();
  try_program(whole, library, subject);
  for (size_t first = 0; first < whole.size(); first += kTriesPerChild) {
    const size_t last = std::min(first + kTriesPerChild, whole.size()) - 1;
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (size_t i = first; i <= last; ++i)
        for (const int flip : {0x01, 0x80, 0xFF}) {
          std::string bytes = whole;
          bytes[i] = static_cast<char>(bytes[i] ^ flip);
          try_program(bytes, library, subject);
        }
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
        << subject.file << ": a flip at one of the offsets " << first << " to " << last
        << (WIFSIGNALED(status) ? " ended with signal " + std::to_string(WTERMSIG(status)) : " failed");
  }
}

INSTANTIATE_TEST_SUITE_P(Tvm, Flip,
                         testing::Values(Subject{"0.27/mlp.so", "with_constants", {{2, 16}}},
                                         Subject{"0.27/control.so", "countdown", {{}, {4}}},
                                         Subject{"0.25/dynamic.so", "affine", {{5, 8}, {8, 4}, {4}}},
                                         Subject{"0.26/tuples.so", "nested", {{4}, {4}}}));
