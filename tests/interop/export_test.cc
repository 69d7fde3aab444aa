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

TEST(AnExportedModule, RunsInRealTvm) {
  const std::string python = tvm_python();
  if (!std::filesystem::exists(python))
    GTEST_SKIP() << "there is no TVM in " << python << "; tools/test --full installs it";
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
  const std::string log = scratch_folder() + "/log";
  const int status = std::system(("env -u LD_PRELOAD TVM_BACKTRACE=1 '" + python +
                                  "' '" OPDYNO_INTEROP_DATA "/../run_exported.py'" + files + " >'" + log + "' 2>&1")
                                     .c_str());
  EXPECT_EQ(status, 0) << read_bytes(log);
}

}  // namespace
}  // namespace opdyno_test
