// What a module tells about itself, what it can be saved as, and static libraries.
#include "support/export_test.h"

namespace opdyno_test {
namespace {

std::vector<std::string> formats_of(const Module &module) { return names_of(module, opd_module_list_formats); }

TEST(AModule, HasAFormatAndProperties) {
  const Module library_module = Module::load(library()), source = source_module(kSource), vm = echo_program();
  EXPECT_STREQ(opd_module_format(library_module.get()), "so");
  EXPECT_EQ(library_module.properties(), OPD_MODULE_SERIALIZABLE | OPD_MODULE_RUNNABLE);
  EXPECT_STREQ(opd_module_format(source.get()), "c");
  EXPECT_EQ(source.properties(), 7);
  EXPECT_STREQ(opd_module_format(vm.get()), "vmexec");
  EXPECT_EQ(vm.properties(), OPD_MODULE_SERIALIZABLE);
  EXPECT_EQ(opd_module_is_dso_exportable(library_module.get()), 0);
  EXPECT_EQ(opd_module_is_dso_exportable(source.get()), 1);
  EXPECT_STREQ(opd_module_format(nullptr), "");
  EXPECT_EQ(opd_module_properties(nullptr), 0);
}

TEST(AModule, IsCalledThroughMain) {
  const Module module = Module::load(library());
  EXPECT_EQ(as_int(module.entry()()), 1);
  const Module importer = source_module("int plain(void) { return 1; }\n");
  expect_throws([&] { importer.entry(); }, OPD_NOT_FOUND, "no entry function");
  importer.add_import(module);
  EXPECT_EQ(as_int(importer.entry()()), 2);
  const Module vm = echo_program();
  vm.add_import(module);  // whose main is not the program's
  expect_throws([&] { vm.entry(); }, OPD_UNSUPPORTED, "VM");
}

TEST(AModule, ListsFunctionsThatOnlyAVmCanRun) {
  constexpr int kAny = OPD_LOOKUP_IMPORTS | OPD_LOOKUP_UNCALLABLE;
  const Module vm = echo_program();
  EXPECT_TRUE(vm.has_function("main", OPD_LOOKUP_UNCALLABLE));
  EXPECT_FALSE(vm.has_function("main", OPD_LOOKUP_OWN));
  EXPECT_FALSE(vm.has_function("count", kAny));
  vm.add_import(Module::load(library()));
  EXPECT_TRUE(vm.has_function("count", kAny));
  EXPECT_TRUE(vm.has_function("count", OPD_LOOKUP_IMPORTS));
  EXPECT_FALSE(vm.has_function("count", OPD_LOOKUP_UNCALLABLE));
  EXPECT_EQ(opd_module_has_function(nullptr, "x", kAny), 0);
}

TEST(AModule, IsSavedWithoutItsImportsInTheFormatsThatItOffers) {
  const std::string directory = scratch_directory();
  const Module source = source_module(kSource), vm = echo_program();
  source.add_import(vm);
  EXPECT_EQ(formats_of(source), std::vector<std::string>{"c"});
  source.save(directory + "/saved.c");
  EXPECT_EQ(read_bytes(directory + "/saved.c"), kSource);
  EXPECT_EQ(as_int(Module::load(directory + "/saved.c").function("count")()), 1);
  EXPECT_EQ(formats_of(vm), (std::vector<std::string>{"vmexec", "opdasm"}));
  vm.save(directory + "/saved.vmexec");
  EXPECT_STREQ(Module::load(directory + "/saved.vmexec").kind(), "relax.VMExecutable");
  vm.save(directory + "/saved.opdasm");
  EXPECT_EQ(read_bytes(directory + "/saved.opdasm"), vm.source());
  vm.save(directory + "/saved", "opdasm");
  EXPECT_EQ(read_bytes(directory + "/saved"), vm.source());
  expect_throws([&] { vm.save(directory + "/saved", "so"); }, OPD_UNSUPPORTED, "it offers vmexec, opdasm");
  expect_throws([&] { source.save("/nonexistent/saved.c"); }, OPD_NOT_FOUND, "/nonexistent");
  EXPECT_EQ(formats_of(Module::load(library())), std::vector<std::string>{});
  expect_throws([&] { Module::load(library()).save(directory + "/saved.so"); }, OPD_UNSUPPORTED, library());
}

TEST(AStaticLibrary, IsKeptAsItIs) {
  const std::string path = build_object("static", kSource);
  const Module module = Module::load_static_library(path, {"count", "main"});
  EXPECT_STREQ(module.kind(), "static_library");
  EXPECT_STREQ(opd_module_format(module.get()), "o");
  EXPECT_EQ(module.properties(), OPD_MODULE_SERIALIZABLE | OPD_MODULE_COMPILATION_EXPORTABLE);
  EXPECT_EQ(names_of(module), (std::vector<std::string>{"count", "main"}));
  EXPECT_TRUE(module.implements("count"));
  EXPECT_FALSE(module.implements("raise"));  // not among the names
  EXPECT_EQ(opd_module_has_function(module.get(), "count", 1), 0);
  expect_throws([&] { module.function("count"); }, OPD_UNSUPPORTED, "export the module");
  expect_throws([&] { module.function("raise"); }, OPD_NOT_FOUND, "raise");
  module.save(scratch_directory() + "/again.o");
  EXPECT_EQ(read_bytes(scratch_directory() + "/again.o"), read_bytes(path));
}

TEST(AStaticLibrary, IsAnObjectFileOfThisMachine) {
  opd_module *none = nullptr;
  expect_error(opd_module_load_static_library("/nonexistent.o", nullptr, 0, &none), OPD_NOT_FOUND, "/nonexistent.o");
  expect_error(opd_module_load_static_library(write_text("text.o", "text").c_str(), nullptr, 0, &none), OPD_BAD_FORMAT,
               "not an object file");
  expect_error(opd_module_load_static_library(library().c_str(), nullptr, 0, &none), OPD_BAD_FORMAT, "type 3");
  const char *names[] = {"f", ""};
  expect_error(opd_module_load_static_library(library().c_str(), names, 2, &none), OPD_INVALID_ARGUMENT,
               "func_names[1]");
  expect_error(opd_module_load_static_library(library().c_str(), nullptr, 2, &none), OPD_INVALID_ARGUMENT,
               "func_names");
  EXPECT_EQ(none, nullptr);
}

TEST(ATarget, IsEnabledIfItsArtifactsCanBeRun) {
  for (const char *target : {"cpu", "llvm", "c", "llvm -mcpu=skylake"})
    EXPECT_EQ(opd_module_enabled(target), 1) << target;
  for (const char *target : {"", "unknown", "cpux", "vpi", "tflite"})
    EXPECT_EQ(opd_module_enabled(target), 0) << target;
  EXPECT_EQ(opd_module_enabled(nullptr), 0);
  opd_value exists = opd_none();
  for (const auto &[target, alias, type] :
       {std::tuple{"cuda", "gpu", kDLCUDA}, {"opencl", "cl", kDLOpenCL}, {"metal", "mtl", kDLMetal}}) {
    check(opd_device_get_attr({type, 0}, OPD_ATTR_EXIST, &exists));
    EXPECT_EQ(opd_module_enabled(target), exists.u.int64 != 0);
    EXPECT_EQ(opd_module_enabled(alias), opd_module_enabled(target));
  }
}

}  // namespace
}  // namespace opdyno_test
