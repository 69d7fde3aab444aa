// Libraries that LLVM's linker made, which lays files out in other ways than GNU's.
#include "support/export_test.h"

namespace opdyno_test {
namespace {

// The linker's name as -fuse-ld takes it, with a directory where the compiler finds it; "" if there is none.
std::string lld_flags() {
  for (const std::string name :
       {"ld.lld", "ld.lld-19", "ld.lld-18", "ld.lld-17", "ld.lld-16", "ld.lld-15", "ld.lld-14"})
    for (const std::string directory : {"/usr/bin", "/usr/local/bin"}) {
      if (!std::filesystem::exists(directory + "/" + name)) continue;
      const std::string link = scratch_directory() + "/ld.lld";  // Debian's have a version in their names
      if (!std::filesystem::exists(link)) std::filesystem::create_symlink(directory + "/" + name, link);
      return "-B'" + scratch_directory() + "' -fuse-ld=lld ";
    }
  return "";
}

struct LinkedByLld : testing::Test {
  void SetUp() override {
    if (lld_flags().empty()) GTEST_SKIP() << "there is no ld.lld; Debian's package lld has it";
  }
};

TEST_F(LinkedByLld, ALibraryRunsWithAnyLayout) {
  for (const std::string flags : {"", "-Wl,-z,separate-loadable-segments", "-Wl,-z,now,-s", "-Wl,-Bsymbolic",
                                  "-Wl,--pack-dyn-relocs=relr", "-Wl,--hash-style=sysv", "-Wl,-z,norelro"}) {
    const Module module = Module::load(build_library("lld", kSource, lld_flags() + flags));
    EXPECT_EQ(as_int(module.function("main")()), 1) << flags;
    const Module program = Executable::assemble(".func f() {\n  %y = call count()\n  ret %y\n}\n").to_module();
    program.add_import(module);
    program.export_to(scratch_directory() + "/lld_program.so");  // as another segment of it
    EXPECT_EQ(as_int(Vm(Module::load(scratch_directory() + "/lld_program.so")).call("f")), 1) << flags;
  }
}

TEST_F(LinkedByLld, AnExportedIndirectFunctionIsChosen) {
  const std::string code = kArtifactHead + R"(
static int64_t chosen_one(void) { return 17; }
static void *choose(void) { return chosen_one; }
int64_t chosen(void) __attribute__((ifunc("choose")));
int __tvm_ffi_f(void *self, const Any *args, int32_t n, Any *result) {
  (void)self, (void)args, (void)n;
  result->type = 1, result->u.i = chosen();
  return 0;
}
)";
  EXPECT_EQ(as_int(Module::load(build_library("lld_ifunc", code, lld_flags())).function("f")()), 17);
  expect_error(load(build_library("lld_ifunc_bare", code, lld_flags() + "-s")), OPD_BAD_FORMAT, "GNU strip");
}

}  // namespace
}  // namespace opdyno_test
