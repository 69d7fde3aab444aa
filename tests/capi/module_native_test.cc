// C functions of a library as a module of the tree.
#include "support/module_test.h"

namespace opdyno_test {
namespace {

opd_error *load_native(const std::string &path, const std::vector<const char *> &names,
                       const std::vector<const char *> &signatures, Module &module) {
  return opd_module_load_native(path.c_str(), names.data(), signatures.data(), static_cast<int32_t>(names.size()),
                                nullptr, module.out());
}

TEST(ANativeModule, OffersCFunctionsByTheirSignatures) {
  const std::string path =
      build_library("native", "int add(int a, int b) { return a + b; }\ndouble half(double x) { return x / 2; }\n");
  Module module;
  check(load_native(path, {"half", "add"}, {"f64(f64)", "i32(i32, i32)"}, module));
  EXPECT_STREQ(module.kind(), "opdyno.native");
  EXPECT_EQ(module.properties(), OPD_MODULE_SERIALIZABLE | OPD_MODULE_RUNNABLE);
  EXPECT_EQ(names_of(module), (std::vector<std::string>{"add", "half"}));
  EXPECT_EQ(as_int(module.function("add")(2, 3)), 5);
  EXPECT_TRUE(holds(json_of(module), "\"signatures\":{\"half\":\"f64(f64)\",\"add\":\"i32(i32, i32)\"}"))
      << json_of(module);
  expect_throws([&] { module.function("ad"); }, OPD_NOT_FOUND, "Did you mean add");
  // As an import: compiled code and programs find them.
  const Module program = Executable::assemble(".func main(x) {\n  %y = call half(%x)\n  ret %y\n}\n").to_module();
  program.add_import(module);
  module = Module();
  EXPECT_EQ(Vm(program).call("main", 5.0).view().u.float64, 2.5);
}

TEST(ANativeModule, KeepsItsLibraryForItsFunctions) {
  Function add;
  {
    Module module;
    check(load_native(build_library("native_kept", "int add(int a, int b) { return a + b; }"), {"add"},
                      {"i32(i32, i32)"}, module));
    add = module.function("add");
  }
  EXPECT_EQ(as_int(add(40, 2)), 42);
}

TEST(ANativeModule, IsCheckedWhenItIsMade) {
  const std::string path = build_library("native_checked", "int add(int a, int b) { return a + b; }");
  Module none;
  expect_error(load_native(path, {"sub"}, {"i32(i32, i32)"}, none), OPD_NOT_FOUND, "no C function \"sub\"");
  expect_error(load_native(path, {"add"}, {"i32("}, none), OPD_INVALID_ARGUMENT);
  expect_error(load_native(path, {"add", "add"}, {"i32(i32, i32)", "i32(i32, i32)"}, none), OPD_ALREADY_EXISTS,
               "twice");
  expect_error(load_native(path, {nullptr}, {nullptr}, none), OPD_INVALID_ARGUMENT, "names[0]");
  expect_error(load_native("/nonexistent.so", {}, {}, none), OPD_NOT_FOUND, "/nonexistent.so");
}

}  // namespace
}  // namespace opdyno_test
