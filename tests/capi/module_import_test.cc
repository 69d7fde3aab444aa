// Imports of modules, added and embedded.
#include "support/module_test.h"
#include "support/occurrences.h"

namespace opdyno_test {
namespace {

TEST(Module, FindsFunctionsOfImportsDepthFirstThenTheRegistry) {
  const Module root = Module::load(library()), middle = Module::load(library()),
               leaf = Module::load(build_library("leaf", kArtifactHead + R"(
int __tvm_ffi_seven(void *self, const Any *args, int32_t n, Any *result) {
  (void)self, (void)args, (void)n;
  result->type = 1, result->u.i = 7;
  return 0;
})"));
  root.add_import(middle);
  middle.add_import(leaf);
  EXPECT_EQ(as_int(root.function("seven")()), 7);
  EXPECT_EQ(opd_module_has_function(root.get(), "seven", 0), 0);
  EXPECT_EQ(as_int(root.function("call")("seven")), 7);
  define("module_test.add",
         [](const opd_value *args, int32_t, opd_value *out) { *out = opd_int(args[0].u.int64 + args[1].u.int64); });
  EXPECT_EQ(as_int(root.function("call")("module_test.add", 2, 3)), 5);
  expect_throws([&] { root.function("call")("module_test.ad"); }, OPD_NOT_FOUND, "Did you mean module_test.add");
  const auto found = root.function("find");
  EXPECT_EQ(found("seven").view().u.pointer, found("seven").view().u.pointer);  // borrowed: stays where it was given
}

TEST(Module, KeepsItsImportsAliveAndListsThem) {
  Function call;
  {
    const Module root = Module::load(library());
    root.add_import(Module::load(library()));
    call = root.function("call");
    opd_array *imports = nullptr;
    check(opd_module_list_imports(root.get(), &imports));
    EXPECT_EQ(opd_array_count(imports), 1);
    opd_object_release(imports);
  }
  EXPECT_EQ(as_int(call("count")), 1);
  EXPECT_EQ(as_int(call("count")), 2);
}

TEST(Module, RefusesACycleOfImports) {
  const Module a = Module::load(library()), b = Module::load(library()), c = Module::load(library());
  a.add_import(b);
  b.add_import(c);
  expect_error(opd_module_add_import(c.get(), a.get()), OPD_INVALID_ARGUMENT, "imports it already");
  expect_error(opd_module_add_import(a.get(), a.get()), OPD_INVALID_ARGUMENT);
  a.add_import(c);  // two ways to one module are no cycle
  EXPECT_EQ(as_int(b.function("call")("count")), 1);
}

TEST(Module, IsDescribedOnceAndDownTo100Imports) {
  const auto make = [] { return Executable::assemble(".func main(x) {\n  ret %x\n}").to_module(); };
  const Module root = make();
  Module last = root;
  const auto describe = [&] { return text_of(opd_module_to_json, root.get()); };
  for (int i = 1; i < 100; ++i) {
    const Module next = make();
    last.add_import(next);
    last = next;
  }
  EXPECT_EQ(occurrences(describe(), "\"imports\":["), 100u);
  EXPECT_EQ(occurrences(describe(), "\"described\":false"), 0u);
  last.add_import(make());
  EXPECT_EQ(occurrences(describe(), "\"imports\":["), 100u);
  EXPECT_EQ(occurrences(describe(), "\"described\":false"), 1u) << "deeper ones are only named";
  root.add_import(last);
  EXPECT_EQ(occurrences(describe(), "\"imports\":["), 100u) << "what is met again is only named, too";
  EXPECT_EQ(occurrences(describe(), "\"described\":false"), 2u);
}

TEST(Module, IsUnaffectedIfAnotherLoadOfItsFileIsReleased) {
  Module a = Module::load(library());
  const Module b = Module::load(library());
  b.add_import(a);
  const Function call = b.function("call");
  EXPECT_EQ(as_int(call("count")), 1);
  a = Module();
  EXPECT_EQ(as_int(call("count")), 2);
  EXPECT_EQ(as_int(b.function("count")()), 1);
}

TEST(Module, StaysUsableIfAnImportHasNoBackEnd) {
  // __tvm_ffi__library_bin: size; rows 0 1 1; entry 1; "_lib"; kind "rocm" with the function add_kernel.
  const std::string source = kSource + R"(
const struct __attribute__((packed)) {
  uint64_t size, num_rows, rows[3], num_children, children[1];
  uint64_t kind0_size; char kind0[4];
  uint64_t kind1_size; char kind1[4]; uint64_t bytes_size;
  uint64_t format_size; char format[3];
  uint64_t num_functions, key_size; char key[10]; uint64_t name_size; char name[10];
  uint64_t num_types, num_tags, num_extra, code_size; char code[4];
} __tvm_ffi__library_bin = {sizeof __tvm_ffi__library_bin - 8, 3, {0, 1, 1}, 1, {1}, 4, "_lib", 4, "rocm", 91, 3, "ptx",
                            1, 10, "add_kernel", 10, "add_kernel", 0, 0, 0, 4, "code"};
)";
  const Module module = Module::load(build_library("device", source));
  EXPECT_EQ(as_int(module.function("count")()), 1);
  EXPECT_TRUE(holds(json_of(module), "{\"kind\":\"rocm\",\"file\":\"\",\"supported\":false")) << json_of(module);
  expect_throws([&] { module.function("add_kernel"); }, OPD_UNSUPPORTED, "kind rocm");
  expect_throws([&] { module.function("call")("add_kernel"); }, OPD_UNSUPPORTED, "kind rocm");
  expect_throws([&] { module.function("other"); }, OPD_NOT_FOUND, "other");
}

TEST(Module, RefusesEmbeddedModulesThatTheirSymbolCannotHold) {
  const std::string path =
      build_library("liar", kArtifactHead + "const uint64_t __tvm_ffi__library_bin[2] = {1000, 0};");
  expect_error(load(path), OPD_BAD_FORMAT, "offset 8");
}

}  // namespace
}  // namespace opdyno_test
