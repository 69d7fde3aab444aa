// What is no module, and why: files, missing symbols, arguments of the API.
#include "support/module_test.h"

namespace opdyno_test {
namespace {

TEST(Module, SaysWhyAFileCannotBeLoaded) {
  expect_error(load("/nonexistent/model.so"), OPD_NOT_FOUND, "/nonexistent/model.so");
  expect_error(load(scratch_directory()), OPD_INVALID_ARGUMENT, "directory");
  expect_error(load(write_text("empty.so", "")), OPD_BAD_FORMAT, "is empty");
  expect_error(load(write_text("noise.bin", "noise and more")), OPD_BAD_FORMAT, "6e 6f 69 73 65 20 61 6e");
  expect_error(load(write_text("noise.so", "noise")), OPD_BAD_FORMAT, "VM executable");
  expect_error(load(write_text("thin.a", "!<thin>\nxxxx")), OPD_UNSUPPORTED, "names other files");
  expect_error(load(write_text("model.zip", "PK\x03\x04xxxx")), OPD_UNSUPPORTED, "zip");
  expect_error(load_text(read_bytes(library()).substr(0, 5000)), OPD_BAD_FORMAT, "cut short");
  expect_error(load_text("", "nothing"), OPD_BAD_FORMAT, "nothing is empty");
}

TEST(Module, ObeysTheFormatThatIsAskedFor) {
  auto options = options_with(OPD_COPY_ALWAYS);
  options.format = "so";
  expect_error(load(write_text("text.so", "int x;"), &options), OPD_BAD_FORMAT, "not an ELF file");
  options.format = "elf";
  expect_error(load(library(), &options), OPD_INVALID_ARGUMENT, "so, vmexec, c, o, a or tar");
}

TEST(Module, NamesTheSymbolOrLibraryThatIsMissing) {
  const std::string calls =
      "extern int missing_function(int); int __tvm_ffi_f(void *s, void *a, int n, void *r) { return "
      "missing_function(n); }";
  for (const auto copy : {OPD_COPY_ALWAYS, OPD_COPY_WHEN_SHARED, OPD_COPY_NEVER}) {
    const auto options = options_with(copy);
    expect_error(load(build_library("missing", calls, "-Wl,-z,lazy"), &options), OPD_UNSUPPORTED,
                 "undefined symbol: missing_function");
  }
  expect_error(load(build_library("unknown", "extern int TVMNewThing(void); int f(void) { return TVMNewThing(); }")),
               OPD_UNSUPPORTED, "TVMNewThing");
  const std::string needed = build_library("needed", "int needed(void) { return 1; }", "-Wl,-soname,libgone.so");
  const std::string needs =
      build_library("needs", "int needed(void); int __tvm_ffi_f(void) { return needed(); }", "'" + needed + "'");
  expect_error(load(needs), OPD_UNSUPPORTED, "libgone.so");
}

TEST(Module, NamesTheReleaseThatItWasMadeBy) {
  expect_error(load(build_library("old", "void *__tvm_module_ctx;")), OPD_UNSUPPORTED, "TVM 0.20 or older");
  expect_error(load(build_library("older", "void *__TVMFuncCall;")), OPD_UNSUPPORTED,
               "(it has the symbol __TVMFuncCall)");
  expect_error(load(build_library("less_old", "void *__tvm_ffi_library_ctx;")), OPD_UNSUPPORTED, "TVM 0.21");
}

TEST(Module, AcceptsNamesThatOnlyResembleOldSymbols) {
  const Module module = Module::load(build_library("like_old", R"(
void *__tvm_module_ctx_of_mine;
int __tvm_main__helper(void) { return 1; }
int not_TVMFuncCall(void) { return 2; }
int __tvm_ffi_library_ctx_size(void *s, const void *a, int n, void *r) { return 0; }
)"));
  EXPECT_EQ(names_of(module), std::vector<std::string>{"library_ctx_size"});
}

#if defined(__x86_64__)
TEST(Module, RefusesCodeThatIsChangedWhenItIsLoaded) {
  expect_error(load(build_library("no_pic", "extern int elsewhere; int *__tvm_ffi_f(void) { return &elsewhere; }",
                                  "-fno-pic -mcmodel=large -Wl,-z,notext")),
               OPD_UNSUPPORTED, "compile it with -fPIC");
}
#endif

// ---- arguments of the API

TEST(Module, RefusesNullAndUnknownOptions) {
  Module module;
  expect_error(opd_module_load(nullptr, nullptr, module.out()), OPD_INVALID_ARGUMENT);
  expect_error(opd_module_load("x", nullptr, nullptr), OPD_INVALID_ARGUMENT);
  expect_error(opd_module_load_bytes(nullptr, 1, nullptr, nullptr, module.out()), OPD_INVALID_ARGUMENT);
  struct {
    opd_module_options known;
    int64_t unknown;
  } larger{};
  opd_module_options_init(&larger.known);
  larger.known.struct_size = sizeof larger;
  larger.unknown = 1;
  expect_error(load(library(), &larger.known), OPD_UNSUPPORTED);
  larger.unknown = 0;
  EXPECT_EQ(load(library(), &larger.known), nullptr);
  EXPECT_STREQ(opd_module_kind(nullptr), "");
  EXPECT_EQ(opd_module_has_function(nullptr, "x", 0), 0);
  opd_module_release(nullptr);
}

}  // namespace
}  // namespace opdyno_test
