// Libraries of all linkers that Debian has. Each lays files out in its own way.
#include <thread>

#include "support/export_test.h"

namespace opdyno_test {
namespace {

// Flags for the linker of this name, with a directory where the compiler finds it; "" if there is none.
std::string flags_of(const std::string &linker) {
  for (const std::string version : {"", "-19", "-18", "-17", "-16", "-15", "-14"})  // of Debian's lld
    for (const std::string directory : {"/usr/bin", "/usr/local/bin"}) {
      const std::string name = "ld." + linker, program = directory + "/" + name + version;
      if (!std::filesystem::exists(program)) continue;
      const std::string link = scratch_directory() + "/" + name;
      if (!std::filesystem::exists(link)) std::filesystem::create_symlink(program, link);
      return "-B'" + scratch_directory() + "' -fuse-ld=" + linker + " ";
    }
  return "";
}

struct LinkedBy : testing::TestWithParam<const char *> {
  const std::string linker = flags_of(GetParam());
  void SetUp() override {
    if (linker.empty()) GTEST_SKIP() << "there is no ld." << GetParam() << "; tools/lib.sh names Debian's packages";
  }
};
INSTANTIATE_TEST_SUITE_P(All, LinkedBy, testing::Values("bfd", "gold", "lld", "mold"),
                         [](const auto &info) { return std::string(info.param); });

// What a compiled kernel may contain: calls of functions that the C library chooses by the processor, variables of
// threads with and without a value, a table of addresses.
const std::string kVariety = kArtifactHead + R"(
#include <math.h>
#include <string.h>
static __thread int64_t counted, started = 5;
static const char *const names[] = {"one", "two", "three"};
const char *const *volatile table = names;
int __tvm_ffi_f(void *self, const Any *args, int32_t n, Any *result) {
  char copy[64];
  (void)self, (void)n;
  memcpy(copy, table[2], strlen(table[2]) + 1);
  ++counted, ++started;
  result->type = 3, result->u.f = cosf((float)args[0].u.f) + (float)(counted + started) + (float)strlen(copy);
  return 0;
}
)";

TEST_P(LinkedBy, ALibraryMayUseWhatTheLoaderAndTheCLibraryOffer) {
  const bool packs = GetParam() == std::string("bfd");  // glibc refuses the packed relocations of the others
  for (const std::string flags : {"", "-Wl,-z,now", "-Wl,-z,pack-relative-relocs", "-Wl,-z,relro,-z,now", "-s"}) {
    if (!packs && flags.find("pack") != std::string::npos) continue;
    const Module module = Module::load(build_library("variety", kVariety, linker + flags + " -lm"));
    for (int i = 1; i <= 2; ++i)
      EXPECT_FLOAT_EQ(static_cast<float>(module.function("f")(1.0).view().u.float64),
                      std::cos(1.0f) + 10 + 2 * static_cast<float>(i))
          << flags;
  }
}

TEST_P(LinkedBy, ALibraryRunsWithAnyLayout) {
  for (const std::string flags : {"", "-Wl,-z,separate-loadable-segments", "-Wl,-z,now,-s", "-Wl,-Bsymbolic",
                                  "-Wl,--pack-dyn-relocs=relr", "-Wl,--hash-style=sysv", "-Wl,-z,norelro"}) {
    const bool is_of_lld = flags.find("loadable") != std::string::npos || flags.find("pack") != std::string::npos;
    if (is_of_lld && GetParam() != std::string("lld")) continue;
    const Module module = Module::load(build_library("layout", kSource, linker + flags));
    EXPECT_EQ(as_int(module.function("main")()), 1) << flags;
    const Module program = Executable::assemble(".func f() {\n  %y = call count()\n  ret %y\n}\n").to_module();
    program.add_import(module);
    program.export_to(scratch_directory() + "/linked_program.so");  // as another segment of it
    EXPECT_EQ(as_int(Vm(Module::load(scratch_directory() + "/linked_program.so")).call("f")), 1) << flags;
  }
}

TEST_P(LinkedBy, AnExportedIndirectFunctionIsChosen) {
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
  EXPECT_EQ(as_int(Module::load(build_library("ifunc", code, linker)).function("f")()), 17);
  if (GetParam() == std::string("lld"))
    expect_error(load(build_library("ifunc_bare", code, linker + "-s")), OPD_BAD_FORMAT, "GNU strip");
}

// ---- initialisers

const std::string kInitialisers = kArtifactHead + R"(
#include <stdlib.h>
static int64_t calls, arguments;
__attribute__((constructor(101))) static void first(int count, char **values) {
  calls = calls * 10 + 1;
  arguments = count > 0 && values && values[0] && !values[count];
}
__attribute__((constructor(102))) static void second(void) { calls = calls * 10 + 2; }
int __tvm_ffi_calls(void *self, const Any *args, int32_t n, Any *result) {
  (void)self, (void)args, (void)n;
  return result->type = 1, result->u.i = calls, 0;
}
int __tvm_ffi_arguments(void *self, const Any *args, int32_t n, Any *result) {
  (void)self, (void)args, (void)n;
  return result->type = 1, result->u.i = arguments, 0;
}
)";

TEST_P(LinkedBy, InitialisersRunOnceAndInOrder) {
  const std::string path = build_library("initialisers", kInitialisers, linker);
  for (int i = 0; i < 3; ++i) {  // the third one is a second load while the library is loaded
    const Module module = Module::load(path), again = i == 2 ? Module::load(path) : module;
    for (const Module &each : {module, again}) {
      EXPECT_EQ(as_int(each.function("calls")()), 12);
#if defined(__GLIBC__)
      EXPECT_EQ(as_int(each.function("arguments")()), 1);
#endif
    }
  }
}

// The exception must not pass through the loader, which would then keep its lock.
TEST(AnInitialiser, ThatThrowsEndsItsOwnLoadOnly) {
  const std::string code = R"(
extern void _ZSt20__throw_length_errorPKc(const char *);  /* of the C++ library */
extern int puts(const char *);
__attribute__((constructor)) static void start_badly(void) { _ZSt20__throw_length_errorPKc("not today"); }
)";
  const std::string bad = build_library("throws", kArtifactHead + code + kSource.substr(kArtifactHead.size()),
                                        "-fexceptions -Wl,--no-as-needed -lstdc++");
  const std::string good = build_library("does_not_throw", kSource);
  for (int i = 0; i < 2; ++i) {
    expect_error(load(bad), OPD_UNSUPPORTED,
                 "throws.so cannot be loaded: an initialiser threw an exception: not today");
    std::thread([&] { EXPECT_EQ(as_int(Module::load(good).function("main")()), 1); }).join();
  }
}

}  // namespace
}  // namespace opdyno_test
