// What opdyno exports is what TVM exports: real TVM loads and runs it, if its environment was made (generate.py).
#include "support/export_test.h"

#include <filesystem>

namespace opdyno_test {
namespace {

std::string tvm_python() {
  const char *cache = std::getenv("OPDYNO_CACHE_DIR"), *xdg = std::getenv("XDG_CACHE_HOME"),
             *home = std::getenv("HOME");
  const std::string folder = cache && *cache ? cache
                             : xdg && *xdg   ? std::string(xdg) + "/opdyno"
                                             : std::string(home ? home : "") + "/.cache/opdyno";
  return folder + "/interop/venv-0.27/bin/python";
}

// Runs tests/interop/SCRIPT with real TVM's Python; gives what it printed. Only where there is one.
std::string run_tvm(const std::string &script, const std::string &arguments) {
  const std::string log = scratch_folder() + "/log";
  const std::string command = "env -u LD_PRELOAD TVM_BACKTRACE=1 '" + tvm_python() + "' '" OPDYNO_INTEROP_DATA "/../" +
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
    tree.export_to(scratch_folder() + "/" + name);
    EXPECT_EQ(Module::load(scratch_folder() + "/" + name).function("half")(5.0).view().u.float64, 2.5);
    files += " '" + scratch_folder() + "/" + name + "'";
  }
  // Once more, from a library that is linked already.
  Module::load(scratch_folder() + "/tree.tar").export_to(scratch_folder() + "/again.so");
  files += " '" + scratch_folder() + "/again.so'";
  run_tvm("run_exported.py", files);
}

TEST_F(AnExportedModule, GetsItsConstantsAsInRealTvm) {
  const std::string path = scratch_folder() + "/constants.so";
  run_tvm("build_constants.py", "'" + path + "'");
  opd_error *error = nullptr;
  Module module;
  if ((error = opd_module_load(path.c_str(), nullptr, module.out()))) {
    const Error e(error);
    ASSERT_NE(e.message().find("TVMFFITypeGetOrAllocIndex"), std::string::npos) << e.what();
    GTEST_SKIP() << e.what();
  }
  EXPECT_STREQ(module.kind(), "const_loader");
  EXPECT_EQ(module.function("weighted")(floats({3, 4})).view().u.float64, 21);  // 3 · 1 + 4 · 2 + 10
}

}  // namespace
}  // namespace opdyno_test
