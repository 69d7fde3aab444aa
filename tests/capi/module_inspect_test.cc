// opd_module_options.inspect_only: modules that are described and exported, and of which nothing runs.
#include "support/module_test.h"

namespace opdyno_test {
namespace {

opd_module_options inspect_only() {
  opd_module_options options;
  opd_module_options_init(&options);
  options.inspect_only = 1;
  return options;
}

TEST(ModuleInspect, ListsTheFunctionsOfALibraryAndGivesNone) {
  const auto options = inspect_only();
  const Module module = Module::load(library(), &options);
  EXPECT_EQ(names_of(module), names_of(Module::load(library())));
  Function none;
  expect_error(opd_module_get_function(module.get(), "count", 1, none.out()), OPD_FAILED_PRECONDITION,
               "read for inspection only");
  expect_error(opd_module_get_function(module.get(), "coutn", 1, none.out()), OPD_NOT_FOUND, "Did you mean count");
  expect_error(opd_module_native_function(module.get(), "__tvm_ffi_count", "()->int64", none.out()),
               OPD_FAILED_PRECONDITION, "read for inspection only");
  EXPECT_EQ(opd_module_has_function(module.get(), "count", 1), 0);
  EXPECT_TRUE(module.implements("count"));
  EXPECT_EQ(opd_module_properties(module.get()) & OPD_MODULE_RUNNABLE, 0);
  EXPECT_TRUE(holds(json_of(module), "\"loaded\":false"));
}

TEST(ModuleInspect, TakesBytesSourcesAndTablesOfCFunctionsToo) {
  const auto options = inspect_only();
  const std::string bytes = read_bytes(library());
  Module module;
  check(opd_module_load_bytes(bytes.data(), bytes.size(), nullptr, &options, module.out()));
  EXPECT_EQ(names_of(module), names_of(Module::load(library())));
  const char *source =
      "/* __tvm_ffi_not(this) */ int __tvm_ffi_one(void *a) { return \"__tvm_ffi_nor(this)\" != a; }\n#error";
  check(load_source(source, &options, module.out()));
  EXPECT_EQ(names_of(module), std::vector<std::string>{"one"});
  Function none;
  expect_error(opd_module_get_function(module.get(), "one", 0, none.out()), OPD_FAILED_PRECONDITION, "inspection");
  const char *name = "no_such_function", *signature = "()->int64";
  check(opd_module_load_native(library().c_str(), &name, &signature, 1, &options, module.out()));
  EXPECT_EQ(names_of(module), std::vector<std::string>{name});
  expect_error(opd_module_get_function(module.get(), name, 0, none.out()), OPD_FAILED_PRECONDITION, "inspection");
}

TEST(ModuleInspect, RefusesInvalidOptions) {
  auto options = inspect_only();
  options.inspect_only = 2;
  expect_error(load(library(), &options), OPD_INVALID_ARGUMENT, "inspect_only is 2");
  options = inspect_only();
  options.build_timeout_ms = -1;
  expect_error(load(library(), &options), OPD_INVALID_ARGUMENT, "build_timeout_ms is -1");
}

TEST(ModuleInspect, ExportsALibraryAsItIs) {
  const auto options = inspect_only();
  const Module module = Module::load(library(), &options);
  const std::string path = scratch_directory() + "/inspected.so";
  check(opd_module_export(module.get(), path.c_str(), nullptr));
  EXPECT_EQ(read_bytes(path), read_bytes(library()));
  expect_error(opd_module_export(module.get(), (scratch_directory() + "/inspected.tar").c_str(), nullptr),
               OPD_UNSUPPORTED, "is a shared library already");
}

}  // namespace
}  // namespace opdyno_test
