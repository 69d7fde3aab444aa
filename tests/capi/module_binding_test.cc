// What a private copy of a library is bound to: names of its own, libraries beside the original, opdyno's functions.
#include <dlfcn.h>

#include "support/module_test.h"

namespace opdyno_test {
namespace {

namespace fs = std::filesystem;

std::string asks(const std::string &name) {
  return kArtifactHead + "int " + name + "(void);\n" + R"(
int __tvm_ffi_ask(void *self, const Any *args, int32_t n, Any *result) {
  (void)self, (void)args, (void)n;
  result->type = 1, result->u.i = )" +
         name + "();\n  return 0;\n}\n";
}

TEST(ACopyOfALibrary, IsNotFoundByTheNameThatTheLibraryGivesItself) {
  const Module module = Module::load(build_library("with_soname", kSource, "-Wl,-soname,libnamed_by_itself.so"));
  EXPECT_EQ(as_int(module.function("slots")()), 11);
  EXPECT_EQ(dlopen("libnamed_by_itself.so", RTLD_LAZY | RTLD_NOLOAD), nullptr);
}

// Python's wheels of tvm-ffi link libraries against it. opdyno has its functions.
TEST(ACopyOfALibrary, NeedsNoLibraryThatOpdynoReplaces) {
  const std::string directory = fresh_directory("replaced"),
                    flags = "-L'" + directory + "' -Wl,--no-as-needed -Wl,-rpath,'" + directory + "' ";
  for (const std::string name : {"tvm_ffi", "opdyno_tvmffi", "tvm_ffy"}) {
    build_library("replaced/lib" + name, "int nothing_is_used;", "-Wl,-soname,lib" + name + ".so.1");
    const std::string path = build_library("replaced/user_of_" + name, kSource, flags + "-l" + name);
    const std::string file = directory + "/lib" + name + ".so.1";
    fs::rename(directory + "/lib" + name + ".so", file);
    const bool is_replaced = name != "tvm_ffy";
    Module module = Module::load(path);
    EXPECT_EQ(as_int(module.function("slots")()), 11);
    void *const needed = dlopen(file.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    EXPECT_EQ(needed == nullptr, is_replaced) << name;
    if (needed) dlclose(needed);
    module = Module();
    fs::remove(file);
    check(opd_memory_trim({kDLCPU, 0}));  // a copy that was kept would serve
    if (is_replaced) EXPECT_EQ(as_int(Module::load(path).function("count")()), 1);
    else expect_error(load(path), OPD_UNSUPPORTED, path + " cannot be loaded: lib" + name + ".so.1: cannot open");
  }
}

// A run path separates its directories by ':' and has variables with '$'.
TEST(ACopyOfALibrary, FindsLibrariesBesideTheOriginalIfARunPathCanSayWhere) {
  for (const std::string name : {"plain", "with space", "with:colon", "with$dollar"}) {
    const std::string directory = fresh_directory(name);
    fs::rename(build_library("libnext", "int next_to_it(void) { return 42; }"), directory + "/libnext.so");
    fs::rename(build_library("user", asks("next_to_it"), "-L'" + directory + "' -lnext -Wl,-rpath,'$ORIGIN'"),
               directory + "/user.so");
    const std::string path = directory + "/user.so";
    if (name == "plain" || name == "with space") EXPECT_EQ(as_int(Module::load(path).function("ask")()), 42) << name;
    else expect_error(load(path), OPD_UNSUPPORTED, "libnext.so: cannot open shared object file");
  }
  // From memory there is no place of the original.
  const std::string bytes = read_bytes(scratch_directory() + "/plain/user.so");
  expect_error(load_text(bytes, "memory.so"), OPD_UNSUPPORTED, "memory.so cannot be loaded: libnext.so: cannot open");
  const std::string alone = read_bytes(build_library("alone_in_memory", kSource, "-Wl,-rpath,'$ORIGIN'"));
  Module module;
  check(opd_module_load_bytes(alone.data(), alone.size(), "memory.so", nullptr, module.out()));
  EXPECT_EQ(as_int(module.function("slots")()), 11);
}

}  // namespace
}  // namespace opdyno_test
