// vm.builtin.alloc_tensor where it is not an instruction of the VM: calls by machine code, calls with other counts of
// arguments.
#include "support/c_artifact.h"
#include "support/opdyno_test.h"

using namespace opdyno_test;

namespace {

// What TVM makes of `main(f, first, second) { f(vm, shape(4), dtype(float32), first, second) }` with
// exec_mode="compiled".
const std::string kCompiled = kArtifactHead + R"(
SLOT(int, TVMFFIFunctionCall, void *, const Any *, int32_t, Any *)
int __tvm_ffi___vmtir__main(void *self, const Any *args, int32_t num_args, Any *ret) {
  Any *registers = args[1].u.p, *constants = args[2].u.p;
  Any given[] = {args[0], constants[0], constants[1], registers[1], registers[2]};
  return __TVMFFIFunctionCall(registers[0].u.p, given, 5, ret);
}
)";

// One function of kind 2 (compiled) with three parameters, two constants, no instructions: docs/executable.md.
Vm compiled_alloc() {
  std::string bytes;
  const auto put = [&](auto number) { bytes.append(reinterpret_cast<const char *>(&number), sizeof number); };
  const auto text = [&](const std::string &s) { put(uint64_t{s.size()}), bytes += s; };
  put(uint64_t{0xD225DE2F4214151E}), text("0.14"), put(uint64_t{1});
  put(int32_t{2}), text("main"), put(int64_t{0}), put(int64_t{0}), put(int64_t{3}), put(int64_t{4}), put(uint64_t{3});
  text("f"), text("first"), text("second");
  put(uint64_t{0});
  put(uint64_t{2}), put(int32_t{OPD_SHAPE}), put(uint64_t{1}), put(int64_t{4});
  put(int32_t{OPD_DTYPE}), put(DLDataType{kDLFloat, 32, 1});
  put(uint64_t{0}), put(uint64_t{0});
  const Module module = Executable::load(bytes).to_module();
  module.add_import(Module::load(build_library("alloc_compiled", kCompiled)));
  return Vm(module);
}

constexpr const char *kStorage = "  %s = call vm.builtin.alloc_storage(%vm, shape(80), 0, dtype(uint8), \"global\")\n";

}  // namespace

TEST(VmAlloc, EachTensorThatMachineCodeMakesIsChecked) {
  const Vm vm = compiled_alloc();
  const Function alloc_storage = Function::global("vm.builtin.alloc_storage"),
                 alloc = Function::global("vm.builtin.alloc_tensor"),
                 make_shape = Function::global("vm.builtin.make_shape");
  const Function use = make_function([&](const opd_value *args, int32_t, opd_value *) {
    const Value size = make_shape(nullptr, 1, 0, 80);
    const Value storage = alloc_storage(args[0], size, 0, opd_dtype_value({kDLUInt, 8, 1}));
    for (int i = 0; i < 2; ++i)  // the second is a spare one, which the fast path finds by the constant's address
      EXPECT_EQ(Tensor::of(alloc(storage, args[3], args[1], args[2])).size(), 4);
    EXPECT_EQ(Tensor::of(alloc(storage, args[4], args[1], args[2])).size(), 4);
  });
  vm.call("main", use, 64, 0);
  for (const int64_t bad : {128, -64, 65})
    expect_throws([&] { vm.call("main", use, 64, bad); }, OPD_INVALID_ARGUMENT,
                  "a tensor of 16 bytes at offset " + std::to_string(bad) + " does not fit a storage of 80 bytes");
  expect_throws([&] { vm.call("main", use, 64, 32); }, OPD_INVALID_ARGUMENT, "offset 32 is not a multiple of 64");
}

TEST(VmAlloc, AnotherCountOfArgumentsIsAnErrorOfTheCall) {
  for (const std::string arguments : {"", ", shape(4)", ", shape(4), dtype(float32), \"global\", 1"}) {
    const Executable program =
        Executable::assemble(".func main() {\n" + std::string(kStorage) + "  %t = call vm.builtin.alloc_tensor(%s, 0" +
                             arguments + ")\n  ret %t\n}");
    const Vm vm(program.to_module());
    expect_throws([&] { vm.call("main"); }, OPD_INVALID_ARGUMENT, "(storage, offset, shape, dtype [, scope])");
  }
  const Vm scoped(
      Executable::assemble(".func main() {\n" + std::string(kStorage) +
                           "  %t = call vm.builtin.alloc_tensor(%s, 64, shape(4), dtype(float32), \"global\")\n"
                           "  ret %t\n}")
          .to_module());
  EXPECT_EQ(Tensor::of(scoped.call("main")).size(), 4);
}
