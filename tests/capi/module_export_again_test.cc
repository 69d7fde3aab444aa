// Trees with a library that is linked already: its file is kept, and what is embedded in it is replaced.
#include <dlfcn.h>

#include "support/export_test.h"

namespace opdyno_test {
namespace {

struct ExportAgain : testing::Test {
  std::string cache = scratch_directory() + "/again-cache";

  Module load_it(const std::string &path) const {
    opd_module_options how = options_with(OPD_COPY_ALWAYS);
    how.cache_dir = cache.c_str();
    return Module::load(path, &how);
  }
  static std::string file(const std::string &name) { return scratch_directory() + "/" + name; }
  Module exported(const Module &module, const std::string &name) const {
    module.export_to(file(name));
    return load_it(file(name));
  }
};

Module caller(const std::string &name, const std::string &callee) {
  return Executable::assemble(".func " + name + "(x) {\n  %y = call " + callee + "(%x)\n  ret %y\n}\n").to_module();
}
double call(const Module &module, const char *name) { return Vm(module).call(name, 3.0).view().u.float64; }

const std::string kNotedSquare = kSquareSource + "const char note[] = \"as it was\";\n";

TEST_F(ExportAgain, PreservesTheModuleTree) {
  const Module tree = tree_to_export();
  for (const char *first : {"first.so", "first.tar"}) {
    const Module second = exported(exported(tree, first), "second.so"), third = exported(second, "third.so");
    EXPECT_EQ(Vm(third).call("main", floats({1, 2})).view().u.float64, 9);  // (1 + 2)²
    EXPECT_TRUE(holds(json_of(third), "\"functions\":[\"main\"],\"imports\":[{\"kind\":\"library\""));
  }
}

TEST_F(ExportAgain, EmbedsAProgramIntoAPlainLibrary) {
  const std::string versions = "-lm -Wl,--version-script='" + write_text("all.map", "V1 { global: *; };\n") + "'";
  for (const std::string style : {"--hash-style=gnu", "--hash-style=sysv", "--hash-style=both", "-z,noseparate-code -s",
                                  "-z,max-page-size=2097152", "-z,now ", "--build-id=none "}) {
    const std::string path =
        build_library("kernels", kNotedSquare, "-Wl," + style + (style.ends_with(' ') ? versions : ""));
    const Module root = caller("main", "square");
    root.add_import(load_it(path));
    const Module module = exported(root, "with_program.so");
    EXPECT_EQ(call(module, "main"), 9) << style;
    // What else was in the library is there, for those who look symbols up as well.
    void *handle = dlopen(file("with_program.so").c_str(), RTLD_LAZY | RTLD_LOCAL);
    ASSERT_NE(handle, nullptr) << dlerror();
    EXPECT_STREQ(static_cast<const char *>(dlsym(handle, "note")), "as it was");
    EXPECT_NE(dlsym(handle, "__tvm_ffi__library_bin"), nullptr);
    EXPECT_EQ(dlsym(handle, "no_such_symbol"), nullptr);
    dlclose(handle);
  }
}

TEST_F(ExportAgain, TakesChangesOfTheTree) {
  const Module first = exported(tree_to_export(), "unchanged.so");
  first.add_import(native_half("added"));
  const Module second = exported(first, "with_native.so");
  EXPECT_EQ(second.function("half")(5.0).view().u.float64, 2.5);
  EXPECT_EQ(Vm(second).call("main", floats({1, 2})).view().u.float64, 9);
  // The library alone: neither tree of before shows.
  opd_array *imports = nullptr;
  check(opd_module_list_imports(second.get(), &imports));
  const Handle<opd_array> owned(imports);
  Value item;
  check(opd_array_get(imports, 0, item.out()));
  auto *library = reinterpret_cast<opd_module *>(item.view().u.object);
  ASSERT_STREQ(opd_module_kind(library), "library");
  check(opd_module_export(library, file("code.so").c_str(), nullptr));
  const Module code = load_it(file("code.so"));
  EXPECT_STREQ(code.kind(), "library");
  EXPECT_TRUE(code.implements("square", false));
  EXPECT_FALSE(code.implements("half")) << json_of(code);
}

TEST_F(ExportAgain, KeepsALibraryWithoutATreeAsItIs) {
  const Module module = Module::load(library());
  module.export_to(file("copied.so"));
  EXPECT_EQ(read_bytes(file("copied.so")), read_bytes(library()));
}

TEST_F(ExportAgain, RefusesModulesThatCannotBeJoined) {
  const std::string one = build_library("one", kSquareSource), two = build_library("two", kSource);
  const Module root = caller("main", "square");
  root.add_import(Module::load(one));
  expect_throws([&] { root.export_to(file("none.tar")); }, OPD_UNSUPPORTED, "export it to a .so");
  const std::string object = build_object("addon", kSquareSource);
  const char *addons[] = {object.c_str()};
  opd_export_options options;
  opd_export_options_init(&options);
  options.addons = addons, options.num_addons = 1;
  expect_throws([&] { root.export_to(file("none.so"), &options); }, OPD_UNSUPPORTED, "together with addons");
  const Module with_two = caller("main", "square"), with_code = caller("main", "square");
  with_two.add_import(Module::load(one));
  with_two.add_import(Module::load(two));
  expect_throws([&] { with_two.export_to(file("none.so")); }, OPD_UNSUPPORTED, "add its object files");
  with_code.add_import(Module::load(one));
  with_code.add_import(source_module(kSumSource));
  expect_throws([&] { with_code.export_to(file("none.so")); }, OPD_UNSUPPORTED, one + " cannot be exported together");
}

TEST_F(ExportAgain, NeedsTheFileAsItWasLoaded) {
  const std::string path = build_library("changing", kSquareSource), bytes = read_bytes(path);
  const Module module = Module::load(path);
  std::filesystem::rename(build_library("other", kSource), path);
  expect_throws([&] { module.export_to(file("none.so")); }, OPD_FAILED_PRECONDITION, path + " has changed");
  std::filesystem::remove(path);
  expect_throws([&] { module.export_to(file("none.so")); }, OPD_NOT_FOUND, path);
  Module memory;
  check(opd_module_load_bytes(bytes.data(), bytes.size(), nullptr, nullptr, memory.out()));
  expect_throws([&] { memory.export_to(file("none.so")); }, OPD_UNSUPPORTED, "loaded from memory");
  const Module linked = load_it(build_object("linked", kSquareSource));
  exported(linked, "linked.so");
  std::filesystem::remove_all(cache);
  expect_throws([&] { linked.export_to(file("none.so")); }, OPD_NOT_FOUND, "load the module again");
}

}  // namespace
}  // namespace opdyno_test
