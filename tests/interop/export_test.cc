// What opdyno exports is what TVM exports: real TVM loads and runs it, if its environment was made (generate.py).
#include <filesystem>
#include <map>
#include <sstream>

#include "support/embedded_modules.h"
#include "support/paths.h"

namespace opdyno_test {
namespace {

std::string tvm_python() {
  const char *cache = std::getenv("OPDYNO_CACHE_DIR"), *xdg = std::getenv("XDG_CACHE_HOME"),
             *home = std::getenv("HOME");
  const std::string directory = cache && *cache ? cache
                                : xdg && *xdg   ? std::string(xdg) + "/opdyno"
                                                : std::string(home ? home : "") + "/.cache/opdyno";
  return directory + "/interop/venv-0.27/bin/python";
}

// Runs tests/interop/SCRIPT with real TVM's Python; gives what it printed. Only where there is one.
std::string run_tvm(const std::string &script, const std::string &arguments) {
  const std::string log = scratch_directory() + "/log";
  const std::string command = "env -u LD_PRELOAD TVM_BACKTRACE=1 '" + tvm_python() + "' '" + interop_data("/../") +
                              script + "' " + arguments + " >'" + log + "' 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << read_bytes(log);
  return read_bytes(log);
}

struct AnExportedModule : testing::Test {
  void SetUp() override {
    if (!std::filesystem::exists(tvm_python()))
      GTEST_SKIP() << "there is no TVM in " << tvm_python() << "; tools/test --full installs it";
  }
};

TEST_F(AnExportedModule, RunsInRealTvm) {
  const Module tree = tree_to_export();
  Module native;  // which TVM does not see; it sees what that imports
  const std::string library = build_library("native", "double half(double x) { return x / 2; }\n");
  const char *names[] = {"half"}, *signatures[] = {"f64(f64)"};
  check(opd_module_load_native(library.c_str(), names, signatures, 1, nullptr, native.out()));
  native.add_import(Executable::assemble(".func same(x) {\n  ret %x\n}\n").to_module());
  tree.add_import(native);
  std::string files;
  for (const char *name : {"tree.so", "tree.tar"}) {
    tree.export_to(scratch_directory() + "/" + name);
    EXPECT_EQ(Module::load(scratch_directory() + "/" + name).function("half")(5.0).view().u.float64, 2.5);
    files += " '" + scratch_directory() + "/" + name + "'";
  }
  // Once more, from a library that is linked already.
  Module::load(scratch_directory() + "/tree.tar").export_to(scratch_directory() + "/again.so");
  files += " '" + scratch_directory() + "/again.so'";
  run_tvm("run_exported.py", files);
}

TEST_F(AnExportedModule, GetsItsConstantsAsInRealTvm) {
  const std::string path = scratch_directory() + "/constants.so";
  run_tvm("build_constants.py", "'" + path + "'");
  const Module module = Module::load(path);
  EXPECT_STREQ(module.kind(), "const_loader");
  EXPECT_EQ(module.function("weighted")(floats({3, 4})).view().u.float64, 21);  // 3 · 1 + 4 · 2 + 10
}

// What TVM says of its kinds of modules, and opdyno of the same. Where TVM lists no formats to write, opdyno may.
TEST_F(AnExportedModule, IsOfTheKindsThatTvmHas) {
  const std::string path = interop_data("/0.27/mlp.so"), object = interop_data("/modules/system_kernels.o");
  const Module program = Module::load(path);
  opd_array *imports = nullptr;
  check(opd_module_list_imports(program.get(), &imports));
  const Handle<opd_array> owned(imports);
  Value library;
  check(opd_array_get(imports, 0, library.out()));
  const Module source = source_module(kSumSource), other = with_root("kind_cu", "c", c_source("kernel", "cu", {"f"})),
               linked = Module::load_static_library(object, {"f"}), system = Module::system_lib(),
               constants = with_root("kind_constants", "const_loader",
                                     list({"a"}) + number(1) + tensor({0}) + list({"f"}) + number(1) + list({"a"}));
  struct Ours {
    const opd_module *module;
    int32_t more = 0, less = 0;  // than TVM's properties
  };
  const std::map<std::string, Ours> ours = {
      {"program", {program.get()}},
      {"library", {reinterpret_cast<const opd_module *>(library.view().u.object)}},
      {"source", {source.get(), OPD_MODULE_RUNNABLE}},  // it is compiled when it is loaded
      {"other", {other.get()}},
      {"static", {linked.get()}},
      {"constants", {constants.get()}},
      {"system", {system.get(), 0, OPD_MODULE_SERIALIZABLE}},  // which TVM says, and fails
  };
  std::istringstream lines(run_tvm("module_kinds.py", "'" + path + "' '" + object + "'"));
  std::string what, kind, formats;
  int32_t properties = 0, implements = 0;
  size_t seen = 0;
  for (; lines >> what >> kind >> properties >> formats >> implements; ++seen) {
    const auto &[module, more, less] = ours.at(what);
    EXPECT_EQ(kind, opd_module_kind(module)) << what;
    EXPECT_EQ((properties | more) & ~less, opd_module_properties(module)) << what;
    if (formats != "-") { EXPECT_EQ(formats, opd_module_format(module)) << what; }
    if (what != "source") {  // ours has other functions
      EXPECT_EQ(implements, opd_module_has_function(const_cast<opd_module *>(module), "f", OPD_LOOKUP_UNCALLABLE))
          << what;
    }
  }
  EXPECT_EQ(seen, ours.size());
}

}  // namespace
}  // namespace opdyno_test
