// Artifacts as older releases of TVM made them, put together here by the formats of those releases.
#include "support/embedded_modules.h"

namespace opdyno_test {
namespace {

std::string words(const std::vector<int64_t> &all) {
  std::string out = number(static_cast<int64_t>(all.size()));
  for (const int64_t word : all) out += number(word);
  return out;
}
std::string function(int32_t kind, const std::string &name, int64_t end, int64_t num_args, int64_t registers,
                     const std::vector<std::string> &params) {
  std::string out = raw(kind) + text(name) + number(0) + number(end) + number(num_args) + number(registers) +
                    number(static_cast<int64_t>(params.size()));
  for (const auto &param : params) out += text(param);
  return out;
}
int64_t immediate(int64_t value) { return (int64_t{1} << 56) | value; }
int64_t constant(int64_t index) { return (int64_t{2} << 56) | index; }
constexpr int64_t kNowhere = int64_t{1} << 54;  // the void register

// main(x): checks that x is a vector of bool, as 0.22 spells it (UInt, 1 bit), then calls the library's ask(x).
// 0.22 has the first magic number and no memory scopes.
std::string program_of_0_22() {
  const DLDataType one_bit{kDLUInt, 1, 1};
  return number(static_cast<int64_t>(0xD225DE2F4214151D)) + text("0.14") + number(3) +
         function(1, "main", 3, 1, 2, {"x"}) + function(0, "vm.builtin.check_tensor_info", 0, -2, 0, {}) +
         function(0, "ask", 0, -2, 0, {}) + number(2) + raw(int32_t{OPD_DTYPE}) + raw(one_bit) +
         raw(int32_t{OPD_STRING}) + text("x must be a vector of bool") + words({0, 8, 13}) +
         words({1, kNowhere, 1, 4, 0, immediate(1), constant(0), constant(1), 1, 1, 2, 1, 0, 2, 1});
}

// The library of 0.22 and 0.23: errors and look-ups go through slots, under the names of that time.
const std::string kOldCode = R"(
#include <stdint.h>
typedef struct { int32_t type; uint32_t length; union { int64_t i; double f; void *p; const char *s; } u; } Any;
typedef struct { void *data; int32_t device[2]; int32_t ndim; uint8_t code, bits; uint16_t lanes; int64_t *shape; } Tensor;
__attribute__((weak)) void (*__TVMFFIErrorSetRaisedFromCStr)(const char *, const char *);
__attribute__((weak)) int (*__TVMBackendGetFuncFromEnv)(void *, const char *, void **);
__attribute__((weak)) int (*__TVMFFIFunctionCall)(void *, Any *, int32_t, Any *);
__attribute__((weak)) void *__tvm_ffi__library_ctx;
int __tvm_ffi_ask(void *self, const Any *args, int32_t n, Any *result) {
  (void)self;
  const Tensor *x = (const Tensor *)((const char *)args[0].u.p + (args[0].type == 70 ? 24 : 0));
  if (n != 1 || x->ndim != 1 || x->shape[0] > 4) {
    __TVMFFIErrorSetRaisedFromCStr("ValueError", "ask: x is too long");
    return -1;
  }
  void *function = 0;
  Any arg = {1, 0, {x->code * 1000 + x->bits}};
  if (__TVMBackendGetFuncFromEnv(__tvm_ffi__library_ctx, "module_releases.twice", &function)) return -1;
  return __TVMFFIFunctionCall(function, &arg, 1, result);
}
)";

Module library_of_0_22() {
  const std::string blob =
      text(words({0, 1, 1}) + words({1}) + text("relax.VMExecutable") + text(program_of_0_22()) + text("_lib"));
  std::string source = kOldCode + "const unsigned char __tvm_ffi__library_bin[] = {";
  for (const char c : blob) source += std::to_string(static_cast<unsigned char>(c)) + ",";
  return Module::load(build_library("release_0_22", source + "};\n"));
}

Value call_with(const Vm &vm, const char *dtype, int64_t size) {
  DLDataType type{kDLUInt, 1, 1};
  if (std::string(dtype) != "uint1") check(opd_dtype_from_string(dtype, &type));
  opd_tensor *tensor = nullptr;
  check(opd_tensor_create(&size, 1, type, {kDLCPU, 0}, &tensor));
  return vm.call("main", Tensor(tensor));
}

TEST(AnArtifactOf022, RunsWithItsOldNamesAndItsOldBool) {
  define("module_releases.twice",
         [](const opd_value *args, int32_t, opd_value *out) { *out = opd_int(2 * args[0].u.int64); });
  const Module module = library_of_0_22();
  EXPECT_STREQ(module.kind(), "relax.VMExecutable");
  EXPECT_TRUE(holds(json_of(module), "\"tvm_release\":\"0.22 or 0.23\"")) << json_of(module);
  const Vm vm(module);
  EXPECT_EQ(as_int(call_with(vm, "bool", 3)), 2 * (kDLBool * 1000 + 8));
  EXPECT_EQ(as_int(call_with(vm, "uint1", 3)), 2 * (kDLUInt * 1000 + 1));
  expect_throws([&] { call_with(vm, "uint8", 3); }, OPD_INVALID_ARGUMENT, "x must be a vector of bool");
  expect_throws([&] { call_with(vm, "bool", 5); }, OPD_CALL_FAILED, "ask: x is too long");
}

TEST(AnArtifactOf022, IsSavedInTheNewerForm) {
  const Module module = library_of_0_22();
  const std::string path = scratch_directory() + "/newer.vmexec";
  module.save(path);
  EXPECT_EQ(read_bytes(path).substr(0, 8), number(static_cast<int64_t>(0xD225DE2F4214151E)));
  EXPECT_TRUE(Module::load(path).implements("main"));
}

TEST(AnOlderArtifact, IsRefusedWithARemedy) {
  for (const auto &[symbol, release] : {std::pair{"__tvm_module_ctx", "0.20 or older"},
                                        {"__TVMFuncCall", "0.20 or older"},
                                        {"__tvm_ffi_library_ctx", "0.21"},
                                        {"__tvm_ffi_library_bin", "0.21"}}) {
    const std::string path = build_library(std::string("older") + symbol, std::string("void *") + symbol + ";");
    expect_error(load(path), OPD_UNSUPPORTED, std::string("was made by TVM ") + release);
    expect_error(load(path), OPD_UNSUPPORTED, "export the model again with TVM 0.22 to 0.27");
  }
}

TEST(DeviceCodeOf023, MayHaveTheLaunchTagsOfThatRelease) {
  // One function with the launch parameters of that release: "tir." became "tirx." in 0.24.
  const std::string code = text("ptx") + number(1) + text("f") + text("f") + number(0) + number(2) +
                           text("blockIdx.x") + text("tir.use_dyn_shared_memory") + number(0) + text("code");
  const std::string blob = text(words({0, 1, 1}) + words({1}) + text("_lib") + text("rocm") + text(code));
  std::string source = kOldCode + "const unsigned char __tvm_ffi__library_bin[] = {";
  for (const char c : blob) source += std::to_string(static_cast<unsigned char>(c)) + ",";
  const Module module = Module::load(build_library("tags", source + "};\n"));
  expect_throws([&] { module.function("f"); }, OPD_UNSUPPORTED, "\"f\" of");
  expect_throws([&] { module.function("g"); }, OPD_NOT_FOUND, "\"g\"");  // its functions could be read
}

}  // namespace
}  // namespace opdyno_test
