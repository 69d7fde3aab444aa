// Functions that the machine code of a compiled program looks up by name: they must be there when its VM is made.
#include "support/embedded_modules.h"

using namespace opdyno_test;

namespace {

// One function of kind 2 (compiled) without parameters, constants and instructions: docs/executable.md.
std::string compiled_program() {
  const auto function = raw(int32_t{2}) + text("main") + number(0) + number(0) + number(0) + number(0) + number(0);
  return raw(uint64_t{0xD225DE2F4214151E}) + text("0.14") + number(1) + function + number(0) + number(0) + number(0) +
         number(0);
}

// As TVM's compiler names the places in which machine code keeps the functions that it looks up.
std::string looks_up(const std::vector<std::string> &names) {
  std::string code =
      kArtifactHead + "int __tvm_ffi___vmtir__main(void *s, const Any *a, int32_t n, Any *r) { return 0; }\n";
  for (size_t i = 0; i < names.size(); ++i)
    code +=
        "static void *place" + std::to_string(i) + " __asm__(\".tvm_func." + names[i] + "\") __attribute__((used));\n";
  return code;
}

Module program_with(const Module &library) {
  const Module module = Executable::load(compiled_program()).to_module();
  module.add_import(library);
  return module;
}

void expect_missing(const Module &program, const std::string &names) {
  expect_throws(
      [&] { Vm vm(program); }, OPD_NOT_FOUND,
      "the program needs functions that neither its imported modules nor the global registry offer: " + names);
}

}  // namespace

TEST(VmLookedUp, FunctionsThatAreAbsentAreNamedWhenTheVmIsMade) {
  const std::vector<std::string> names{"capi.looked_up.gone", "vm.builtin.copy", "capi.looked_up.lost"};
  expect_missing(program_with(Module::load(build_library("looked_up", looks_up(names)))),
                 "capi.looked_up.gone, capi.looked_up.lost");
}

TEST(VmLookedUp, FunctionsThatAreNotOfferedAreNamedWithTheReason) {
  const std::string name = "vm.builtin.kv_cache_disagg_mark_send";
  expect_missing(program_with(Module::load(build_library("looked_up_transfer", looks_up({name})))),
                 name + "; the transfer of KV caches between machines is not offered");
}

TEST(VmLookedUp, EachIsNamedOnce) {
  const Module library = Module::load(build_library("looked_up_once", looks_up({"capi.looked_up.gone"})));
  const Module other = Module::load(build_library("looked_up_twice", looks_up({"capi.looked_up.gone"})));
  const Module program = program_with(library);
  program.add_import(other);
  expect_missing(program, "capi.looked_up.gone");
}

TEST(VmLookedUp, FunctionsOfTheRegistryAndOfImportsAreFound) {
  Function::of([](const opd_value *, int32_t) {}).register_global("capi.looked_up.registered");
  const Module library =
      Module::load(build_library("looked_up_there", looks_up({"capi.looked_up.registered", "imported"})));
  const Module program = program_with(library);
  expect_missing(program, "imported");
  library.add_import(Module::load(
      build_library("looked_up_import",
                    kArtifactHead + "int __tvm_ffi_imported(void *s, const Any *a, int32_t n, Any *r) { return 0; }")));
  Vm(program).call("main");
  Function::remove_global("capi.looked_up.registered");
}

// A kernel of a device that this machine lacks can be named but not found: the VM is made, as that of a bytecode
// program with the same kernels is.
TEST(VmLookedUp, KernelsOfAbsentDevicesAreNoReasonToRefuse) {
  const Module program =
      program_with(with_root("looked_up_device", "rocm", device_code("hsaco", "code"), looks_up({"add_kernel"})));
  Vm(program).call("main");
}

// A stripped library does not tell: the call then fails.
TEST(VmLookedUp, AStrippedLibraryIsNotRefused) {
  Vm(program_with(Module::load(build_library("looked_up_stripped", looks_up({"capi.looked_up.gone"}), "-s"))))
      .call("main");
}
