// Modules embedded in a library beside its own code: sources, objects, constants, code of devices that are absent.
#include "support/embedded_modules.h"

namespace opdyno_test {
namespace {

// The module that a library embeds, without the library.
Module only_device(const std::string &bytes) {
  const std::string blob = text(number(2) + number(0) + number(0) + number(0) + text("rocm") + text(bytes));
  std::string source = "const unsigned char __tvm_ffi__library_bin[] = {";
  for (const char c : blob) source += std::to_string(static_cast<unsigned char>(c)) + ",";
  return Module::load(build_library("only_device", source + "};\n"));
}

TEST(AnEmbeddedSource, IsCompiledWhenAFunctionOfItIsAskedFor) {
  // It calls "count" of the library that it imports.
  const std::string code = kArtifactHead + R"(
extern int TVMFFIEnvModLookupFromImports(void *context, const char *name, void **out);
extern int TVMFFIFunctionCall(void *function, Any *args, int32_t n, Any *result);
void *__tvm_ffi__library_ctx;
int __tvm_ffi_twice(void *self, const Any *args, int32_t n, Any *result) {
  (void)self, (void)args, (void)n;
  void *count = 0;
  if (TVMFFIEnvModLookupFromImports(__tvm_ffi__library_ctx, "count", &count)) return -1;
  return TVMFFIFunctionCall(count, 0, 0, result) || TVMFFIFunctionCall(count, 0, 0, result);
}
)";
  const Module module = with_root("embedded_c", "c", c_source(code, "c", {"twice"}));
  EXPECT_STREQ(module.kind(), "c");
  EXPECT_EQ(module.source(), code);
  EXPECT_EQ(module.properties(), 7);
  EXPECT_EQ(as_int(module.function("twice")()), 2);
  EXPECT_EQ(as_int(module.function("twice")()), 4);
  EXPECT_EQ(as_int(module.function("count")()), 5);
  expect_throws([&] { module.function("thrice"); }, OPD_NOT_FOUND, "thrice");
}

TEST(AnEmbeddedSource, IsKeptButNotCompiledIfItsLanguageIsUnknown) {
  const Module module = with_root("embedded_cu", "c", c_source("kernel", "cu", {"f"}));
  EXPECT_TRUE(module.implements("f", false));
  EXPECT_EQ(module.properties(), OPD_MODULE_SERIALIZABLE | OPD_MODULE_COMPILATION_EXPORTABLE);
  expect_throws([&] { module.function("f"); }, OPD_UNSUPPORTED, "format cu");
  const Module broken = with_root("embedded_broken", "c", c_source("no C", "c", {"f"}));
  expect_throws([&] { broken.function("f"); }, OPD_CALL_FAILED, "could not compile");
  expect_throws([] { with_root("embedded_short", "c", c_source("x", "c", {"f"}) + "?"); }, OPD_BAD_FORMAT,
                "followed by 1 bytes");
}

TEST(AnEmbeddedStaticLibrary, ListsItsFunctionsButCannotRunThem) {
  const Module module = with_root("embedded_static", "static_library", text("object code") + list({"f", "g"}));
  EXPECT_EQ(names_of(module), (std::vector<std::string>{"f", "g"}));
  expect_throws([&] { module.function("g"); }, OPD_UNSUPPORTED, "object code");
  EXPECT_EQ(as_int(module.function("count")()), 1);
  module.save(scratch_directory() + "/embedded.o");
  EXPECT_EQ(read_bytes(scratch_directory() + "/embedded.o"), "object code");
}

TEST(AConstLoader, GivesItsConstantsAndLetsImportsBeUsed) {
  const std::string bytes =
      list({"a", "b"}) + number(2) + tensor({1, 2}) + tensor({3}) + list({"count"}) + number(1) + list({"b"});
  const Module module = with_root("constants", "const_loader", bytes);
  EXPECT_STREQ(module.kind(), "const_loader");
  EXPECT_EQ(as_int(module.function("count")()), 1);  // there is no __init_count to call first
  const Value all = module.function("get_const_var_tensor")();
  ASSERT_EQ(all.type(), int{OPD_MAP});
  Value found;
  const Value key = [] {
    Value v;
    check(opd_string_create("a", 1, v.out()));
    return v;
  }();
  check(opd_map_get(reinterpret_cast<opd_map *>(all.view().u.object), &key.view(), found.out()));
  EXPECT_EQ(Tensor::of(found).data<float>()[1], 2);
  EXPECT_TRUE(holds(json_of(module), "\"constants\":2,\"initializes\":[\"count\"]")) << json_of(module);
}

// Keeps what it is given, in tvm-ffi's layouts: an array's cell and a tensor follow their 24-byte headers.
const std::string kWeighted = kArtifactHead + R"(
#include <stddef.h>
typedef struct { char header[24]; const Any *data; int64_t size, capacity; void (*deleter)(void *); } Array;
typedef struct { char header[24]; void *data; int32_t device[2]; int32_t ndim; uint8_t code, bits; uint16_t lanes;
                 int64_t *shape; } Tensor;
static double sums[4], calls;
int __tvm_ffi___init_weighted(void *self, const Any *args, int32_t n, Any *result) {
  (void)self;
  const Array *array = (const Array *)args[0].u.p;
  if (n != 1 || args[0].type != 71 || array->capacity < array->size) return fail("TypeError", "no array");
  if (array->size == 0) return fail("ValueError", "nothing to weigh with");
  for (int64_t i = 0; i < array->size; ++i) {
    const Tensor *tensor = (const Tensor *)array->data[i].u.p;
    if (array->data[i].type != 70 || tensor->bits != 32) return fail("TypeError", "no tensors");
    for (int64_t j = 0; j < tensor->shape[0]; ++j) sums[i] += ((float *)tensor->data)[j];
  }
  ++calls;
  result->type = 1, result->u.i = array->size == 3 ? 7 : 0;
  return 0;
}
int __tvm_ffi_weighted(void *self, const Any *args, int32_t n, Any *result) {
  (void)self, (void)n;
  result->type = 3, result->length = 0;
  result->u.f = calls * (sums[0] * args[0].u.f + sums[1]);
  return 0;
}
)";
Module weighted(const std::string &name, const std::vector<std::string> &needed) {
  const std::string bytes = list({"a", "b", "c"}) + number(3) + tensor({1, 2}) + tensor({10}) + tensor({4}) +
                            list({"weighted"}) + number(1) + list(needed);
  return with_root(name, "const_loader", bytes, kWeighted);
}

TEST(AConstLoader, GivesConstantsToCompiledInitialisers) {
  const Module module = weighted("initialises", {"a", "b"});
  EXPECT_EQ(module.function("weighted")(5.0).view().u.float64, 25);  // (1 + 2) 5 + 10
  EXPECT_EQ(module.function("weighted")(1.0).view().u.float64, 13);  // once only
  const Module other = weighted("initialises_others", {"b", "c"});
  EXPECT_EQ(other.function("weighted")(5.0).view().u.float64, 54);  // 10 · 5 + 4
}

TEST(AConstLoader, ReportsTheErrorOfItsInitialiserAtEachCall) {
  const Module fails = weighted("initialiser_fails", {}), refuses = weighted("initialiser_refuses", {"a", "b", "c"});
  for (int i = 0; i < 2; ++i) {  // it is not taken for done
    expect_throws([&] { fails.function("weighted"); }, OPD_CALL_FAILED, "nothing to weigh with");
    expect_throws([&] { refuses.function("weighted"); }, OPD_CALL_FAILED, "__init_weighted");
    expect_throws([&] { refuses.function("weighted"); }, OPD_CALL_FAILED, "returned 7");
  }
}

TEST(AConstLoader, IsCheckedWhenItIsRead) {
  const auto refused = [](const char *name, const std::string &bytes, const char *part) {
    expect_throws([&] { with_root(name, "const_loader", bytes); }, OPD_BAD_FORMAT, part);
  };
  refused("constants_a", list({"a"}) + number(2), "not that of their names");
  refused("constants_b", list({"a", "a"}) + number(2) + tensor({1}) + tensor({1}), "hold one twice");
  refused("constants_c", list({}) + number(0) + list({"f"}) + number(1) + list({"gone"}), "not there");
  refused("constants_d", list({}) + number(0) + list({"f"}) + number(2), "not that of their functions");
}

// ---- devices that this build lacks

TEST(CodeOfAnAbsentDevice, IsLoadedAndNamedWhenItIsAskedFor) {
  for (const std::string kind : {"rocm", "hip", "metal", "hexagon"}) {
    const Module module = with_root("absent_" + kind, kind, device_code("text", "kernel source"));
    EXPECT_EQ(kind, module.kind());
    EXPECT_STREQ(opd_module_format(module.get()), "text");
    EXPECT_EQ(module.properties(), OPD_MODULE_SERIALIZABLE);
    EXPECT_EQ(module.source(), "kernel source");
    EXPECT_TRUE(module.implements("add_kernel", false));
    expect_throws([&] { module.function("add_kernel"); }, OPD_UNSUPPORTED, "kind " + kind);
    expect_throws([&] { module.function("mul_kernel"); }, OPD_NOT_FOUND, "Did you mean");
    EXPECT_EQ(as_int(module.function("count")()), 1);
  }
  // Of a form that is not known: any function may be there.
  const Module vulkan = with_root("absent_vulkan", "vulkan", "SPIR-V and more");
  expect_throws([&] { vulkan.function("anything"); }, OPD_UNSUPPORTED,
                "may be in its embedded module of kind vulkan, which cannot be read: ");
  EXPECT_EQ(as_int(vulkan.function("count")()), 1);
  const Module graph = with_root("absent_dnnl", "dnnl_json", text("dense_0") + text("{}") + list({}));
  expect_throws([&] { graph.function("dense_0"); }, OPD_UNSUPPORTED, "kind dnnl_json");
  opd_buffer *none = nullptr;
  const Module binary = with_root("absent_cubin", "cuda",
                                  device_code("cubin", std::string("\x7f"
                                                                   "ELF\0",
                                                                   5)));
  expect_error(opd_module_get_source(binary.get(), nullptr, &none), OPD_UNSUPPORTED, "no source");
  binary.save(scratch_directory() + "/kernel.cubin");
  EXPECT_EQ(read_bytes(scratch_directory() + "/kernel.cubin").size(), 5u);
}

TEST(CodeOfAnAbsentDevice, SurvivesAnExport) {
  // The root is the device's; a tree of it alone embeds it beside no code.
  const Module module = source_module(kSumSource);
  const Module program = Executable::assemble(".func same(x) {\n  ret %x\n}\n").to_module();
  program.add_import(module);
  const Module device = only_device(device_code("ptx", "code"));
  module.add_import(device);
  const std::string path = scratch_directory() + "/device.so";
  program.export_to(path);
  const Module again = Module::load(path);
  EXPECT_EQ(as_int(Vm(again).call("same", 5)), 5);
  expect_throws([&] { again.function("add_kernel"); }, OPD_UNSUPPORTED, "kind rocm");
  const std::string json = json_of(again);
  EXPECT_LT(json.find("\"kind\":\"library\""), json.find("\"kind\":\"rocm\"")) << json;
}

}  // namespace
}  // namespace opdyno_test
