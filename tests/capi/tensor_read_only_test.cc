// Tensors whose memory must not be written: DLPack's flag READ_ONLY. Each lies on a page that the processor protects,
// so a write that is not refused ends the test program.
#include <sys/mman.h>
#include <unistd.h>

#include "support/c_artifact.h"
#include "support/tensors.h"

using namespace opdyno_test;

namespace {

// Four floats, 1 to 4, on a page of their own that can only be read.
class ProtectedPage {
 public:
  ProtectedPage() {
    page_ = mmap(nullptr, size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 4; ++i) static_cast<float *>(page_)[i] = static_cast<float>(i + 1);
    mprotect(page_, size(), PROT_READ);
    managed_.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    managed_.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
    managed_.dl_tensor = {page_, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, &count_, nullptr, 0};
  }
  ~ProtectedPage() { munmap(page_, size()); }
  ProtectedPage(const ProtectedPage &) = delete;

  Tensor tensor() {
    Tensor made;
    check(opd_tensor_from_dlpack_versioned(&managed_, made.out()));
    return made;
  }

 private:
  static size_t size() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }
  void *page_;
  int64_t count_ = 4;
  DLManagedTensorVersioned managed_{};
};

const std::vector<float> kUntouched = {1, 2, 3, 4};

class AReadOnlyTensor : public testing::Test {
 protected:
  ~AReadOnlyTensor() override { EXPECT_EQ(to_floats(arg(tensor)), kUntouched); }
  ProtectedPage page;
  Tensor tensor = page.tensor();
};

TEST_F(AReadOnlyTensor, KeepsItsFlagInViewsAndExports) {
  EXPECT_TRUE(opd_tensor_is_read_only(tensor.get()));
  EXPECT_FALSE(opd_tensor_is_read_only(floats({1}).get()));
  EXPECT_FALSE(opd_tensor_is_read_only(nullptr));
  const int64_t dims[] = {2, 2};
  Tensor view, back;
  check(opd_tensor_reshape(tensor.get(), dims, 2, view.out()));
  EXPECT_TRUE(opd_tensor_is_read_only(view.get()));

  DLManagedTensorVersioned *lent = nullptr;
  check(opd_tensor_to_dlpack_versioned(view.get(), &lent));
  EXPECT_EQ(lent->flags, DLPACK_FLAG_BITMASK_READ_ONLY);
  check(opd_tensor_from_dlpack_versioned(lent, back.out()));
  EXPECT_TRUE(opd_tensor_is_read_only(back.get()));
}

TEST_F(AReadOnlyTensor, IsNotExportedByAStructWithoutFlags) {
  DLManagedTensor *none = nullptr;
  opd_error *error = opd_tensor_to_dlpack(tensor.get(), &none);
  EXPECT_STREQ(opd_error_kind(error), "BufferError");
  expect_error(error, OPD_UNSUPPORTED,
               "the read-only tensor float32[4] on cpu:0 cannot be exported by the unversioned");
  EXPECT_EQ(none, nullptr);
}

TEST_F(AReadOnlyTensor, IsNotCopiedInto) {
  const Tensor other = floats({5, 6, 7, 8});
  const char *const told = "the tensor to copy to is written, but float32[4] on cpu:0 is read-only";
  expect_error(opd_tensor_copy(&other.view(), tensor.get()), OPD_INVALID_ARGUMENT, told);
  expect_error(opd_tensor_copy_from_bytes(tensor.get(), other.view().data, 16), OPD_INVALID_ARGUMENT, told);
  check(opd_tensor_copy(&tensor.view(), other.get()));  // the other way is fine
  EXPECT_EQ(to_floats(arg(other)), kUntouched);
}

TEST_F(AReadOnlyTensor, IsRefusedByBuiltinsThatWriteIt) {
  const Tensor input = floats({4, 3, 2, 1}), tokens = int32s({0});
  expect_throws([&] { Function::global("tvm.contrib.sort.sort")(input, tensor, 0, true); }, OPD_INVALID_ARGUMENT,
                "output is written, but float32[4] on cpu:0 is read-only");
  expect_throws([&] { Function::global("vm.builtin.apply_softmax_with_temperature")(tensor, 1.0); },
                OPD_INVALID_ARGUMENT, "logits is written");
  expect_throws([&] { Function::global("vm.builtin.apply_repetition_penalty")(tensor, tokens, 2.0); },
                OPD_INVALID_ARGUMENT, "logits is written");
  Function::global("tvm.contrib.sort.sort")(tensor, input, 0, false);  // reading it is fine
  EXPECT_EQ(to_floats(arg(input)), (std::vector<float>{4, 3, 2, 1}));
}

// ---- compiled code

const std::string kKernels = kArtifactHead + R"(
typedef struct { void *data; int32_t device[2], ndim; uint8_t code, bits; uint16_t lanes; int64_t *shape, *strides;
                 uint64_t offset; } Tensor;
static float *at(const Any *v) {  /* a tensor object, or a DLTensor */
  Tensor *t = (Tensor *)((char *)v->u.p + (v->type == 70 ? 24 : 0));
  return (float *)((char *)t->data + t->offset);
}
#define KERNEL(name) int __tvm_ffi_##name(void *self, const Any *args, int32_t n, Any *result)
KERNEL(double_into) { for (int i = 0; i < 4; ++i) at(args + 1)[i] = 2 * at(args)[i]; return 0; }
KERNEL(double_in_place) { for (int i = 0; i < 4; ++i) at(args)[i] *= 2; return 0; }
KERNEL(sum) { result->type = 3; for (int i = 0; i < 4; ++i) result->u.f += at(args)[i]; return 0; }
/* What TVM makes of `main(x) { double_in_place(x); return x }` with exec_mode="compiled". */
KERNEL(__vmtir__main) {
  Any *registers = args[1].u.p, ignored = {0};
  if (registers[0].type != 70) return fail("TypeError", "no tensor");
  __tvm_ffi_double_in_place(0, registers, 1, &ignored);
  result->type = 0;
  return 0;
}
)";

const Module &kernels() {
  static const Module module = Module::load(build_library("read_only_kernels", kKernels));
  return module;
}

Vm vm_of(const Executable &executable) {
  const Module module = executable.to_module();
  module.add_import(kernels());
  return Vm(module);
}

TEST_F(AReadOnlyTensor, IsRefusedByACompiledFunctionThatMayWriteIt) {
  const Tensor out = floats({0, 0, 0, 0});
  for (const char *name : {"double_in_place", "double_into", "sum"})
    expect_throws(
        [&] { kernels().function(name)(tensor, out); }, OPD_INVALID_ARGUMENT,
        std::string("argument 0 of compiled function ") + name + " is float32[4] on cpu:0, which is read-only");
  expect_throws(
      [&] {
        kernels().function("double_into")(floats({1, 2}), tensor);
      },
      OPD_INVALID_ARGUMENT, "argument 1 of compiled function double_into is float32[4] on cpu:0, which is read-only");
}

TEST_F(AReadOnlyTensor, GoesToACompiledFunctionAsAViewThatTheCallerVouchesFor) {
  const Tensor out = floats({0, 0, 0, 0});
  const opd_value view = opd_dltensor(opd_tensor_view(tensor.get()));
  kernels().function("double_into")(view, out);
  EXPECT_EQ(to_floats(arg(out)), (std::vector<float>{2, 4, 6, 8}));
}

float first_of(const DLTensor *t) { return static_cast<const float *>(t->data)[0]; }

TEST_F(AReadOnlyTensor, IsRefusedByACFunctionThatMayWriteIt) {
  Function function;
  check(opd_function_create_native(reinterpret_cast<void *>(&first_of), "f32(tensor)", "first_of", nullptr,
                                   function.out()));
  expect_throws([&] { function(tensor); }, OPD_INVALID_ARGUMENT,
                "args[0] of first_of is float32[4] on cpu:0, which is read-only");
  EXPECT_EQ(function(opd_dltensor(opd_tensor_view(tensor.get()))).view().u.float64, 1.0);
}

TEST_F(AReadOnlyTensor, IsAnInputOfAProgramThatWritesOnlyItsOwnTensors) {
  const Vm vm = vm_of(Executable::assemble(R"(
.func main(x) {
  %s = call vm.builtin.alloc_storage(%vm, shape(16), 0, dtype(uint8), "global")
  %t = call vm.builtin.alloc_tensor(%s, 0, shape(4), dtype(float32))
  call double_into(%x, %t)
  ret %t
})"));
  EXPECT_EQ(to_floats(vm.call("main", tensor)), (std::vector<float>{2, 4, 6, 8}));
}

TEST_F(AReadOnlyTensor, IsRefusedByAProgramThatWritesItInPlace) {
  const Vm vm = vm_of(Executable::assemble(R"(
.func main(x) {
  call double_in_place(%x)
  ret %x
}
.func through_a_view(x) {
  %y = call vm.builtin.reshape(%x, shape(2, 2))
  call double_in_place(%y)
  ret %y
}
.func after_an_output(x) {
  %s = call vm.builtin.alloc_storage(%vm, shape(16), 0, dtype(uint8), "global")
  %t = call vm.builtin.alloc_tensor(%s, 0, shape(4), dtype(float32))
  call double_into(%x, %t)
  call double_into(%t, %x)
  ret %t
})"));
  expect_throws([&] { vm.call("main", tensor); }, OPD_INVALID_ARGUMENT,
                "double_in_place: argument 0, parameter x of main, is float32[4] on cpu:0, which is read-only");
  expect_throws([&] { vm.call("through_a_view", tensor); }, OPD_INVALID_ARGUMENT, "float32[2, 2] on cpu:0, which is");
  expect_throws([&] { vm.call("after_an_output", tensor); }, OPD_INVALID_ARGUMENT,
                "double_into: argument 1, parameter x");
  EXPECT_EQ(to_floats(vm.call("main", floats({1, 2, 3, 4}))), (std::vector<float>{2, 4, 6, 8}));
}

TEST_F(AReadOnlyTensor, IsCopiedForACompiledProgramWithUnknownWrites) {
  std::string bytes;  // one function of kind 2 (compiled) with one parameter: docs/executable.md
  const auto put = [&](auto number) { bytes.append(reinterpret_cast<const char *>(&number), sizeof number); };
  const auto text = [&](const std::string &s) { put(uint64_t{s.size()}), bytes += s; };
  put(uint64_t{0xD225DE2F4214151E}), text("0.14"), put(uint64_t{1});
  put(int32_t{2}), text("main"), put(int64_t{0}), put(int64_t{0}), put(int64_t{1}), put(int64_t{2}), put(uint64_t{1}),
      text("x");
  for (int section = 0; section < 4; ++section) put(uint64_t{0});
  const Vm vm = vm_of(Executable::load(bytes));
  vm.call("main", tensor);
  expect_throws([&] { vm.call("main", tuple_of(tensor)); }, OPD_INVALID_ARGUMENT,
                "parameter x of main, a tuple of a compiled function that may write its items, is written");
}

TEST_F(AReadOnlyTensor, IsNoOutputOfACall) {
  const Vm vm = vm_of(Executable::assemble(".func main(x) {\n  ret %x\n}"));
  opd_tensor *outputs[] = {tensor.get()};
  opd_call_options options;
  opd_call_options_init(&options);
  options.outputs = outputs, options.num_outputs = 1;
  const Tensor input = floats({5, 6, 7, 8});
  const opd_value argument = arg(input);
  Value result;
  expect_error(opd_vm_call(vm.get(), "main", &argument, 1, &options, result.out()), OPD_INVALID_ARGUMENT,
               "output 0 of main is written, but float32[4] on cpu:0 is read-only");
}

}  // namespace
