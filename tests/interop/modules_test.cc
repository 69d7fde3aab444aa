// What TVM exports for others to link: archives of objects and of C sources, with and without bytecode.
#include "support/module_test.h"
#include "support/paths.h"

namespace opdyno_test {
namespace {

std::string artifact(const std::string &name) { return interop_data("/modules/") + name; }

int notes = 0;
opd_error *note(void *, const opd_value *, int32_t num_args, opd_value *) {
  notes += num_args;
  return nullptr;
}

// main(x) gives x * [1, 2, 3, 4] and calls opdyno.test.note once.
void expect_runs(const Module &module) {
  static const bool defined = [] {
    Function function;
    check(opd_function_create(note, nullptr, nullptr, function.out()));
    check(opd_function_register("opdyno.test.note", function.get(), 0));
    return true;
  }();
  (void)defined;
  const int before = notes;
  const Vm vm(module);
  Tensor x({2, 4}, "float32");
  for (int i = 0; i < 8; ++i) x.data<float>()[i] = static_cast<float>(i);
  const Tensor y = Tensor::of(vm.call("main", x));
  ASSERT_EQ(y.size(), 8);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(y.data<float>()[i], static_cast<float>(i * (i % 4 + 1)));
  EXPECT_EQ(notes, before + 1);
}

struct ExportedForLinking : testing::TestWithParam<const char *> {};

TEST_P(ExportedForLinking, RunsAsAnyOtherProgram) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "the objects in the archives are for x86-64";
#endif
  opd_module_options options = options_with(OPD_COPY_ALWAYS);
  const std::string cache = scratch_directory() + "/cache", bytes = read_bytes(artifact(GetParam()));
  options.cache_dir = cache.c_str();
  const Module module = Module::load(artifact(GetParam()), &options);
  EXPECT_STREQ(module.kind(), "relax.VMExecutable");
  EXPECT_TRUE(module.implements("multiply")) << json_of(module);
  expect_runs(module);
  Module again;
  check(opd_module_load_bytes(bytes.data(), bytes.size(), "some.tar", &options, again.out()));
  expect_runs(again);
}
INSTANTIATE_TEST_SUITE_P(Archives, ExportedForLinking, testing::Values("program.tar", "program_c.tar"),
                         [](const auto &param) {
                           const std::string name = param.param;
                           return name.substr(0, name.find('.'));
                         });

// TVM's own loader finds such a program only in the system library, after its objects have registered themselves.
struct CompiledForASystemLibrary : testing::TestWithParam<const char *> {
  std::string linked(const std::string &suffix, const std::string &command) const {
    const std::string path = scratch_directory() + "/" + GetParam() + suffix, object = artifact("system_");
    const std::string name = std::string(GetParam());
    EXPECT_EQ(std::system((command + " " + path + " " + object + name + ".o " + object + name + "_devc.o").c_str()), 0);
    return path;
  }
};

TEST_P(CompiledForASystemLibrary, RunsAsAnyOtherProgram) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "the objects are for x86-64";
#endif
  for (const std::string &path : {linked(".a", "ar rcs"), linked(".so", "cc -shared -o")}) {
    opd_module_options options = options_with(OPD_COPY_ALWAYS);
    const Module module = Module::load(path, &options);
    EXPECT_STREQ(module.kind(), "relax.VMExecutable") << path;
    expect_runs(module);
    options.inspect_only = 1;
    const Module inspected = Module::load(path, &options);
    EXPECT_STREQ(inspected.kind(), "relax.VMExecutable") << path;
    EXPECT_TRUE(inspected.implements("multiply")) << "without the prefix, too: " << json_of(inspected);
    const std::string exported = scratch_directory() + "/exported.so";
    check(opd_module_export(module.get(), exported.c_str(), nullptr));
    expect_runs(Module::load(exported));
  }
}
#if defined(__x86_64__)
TEST(SeveralSystemLibraries, InOneFileOfferTheirFunctionsOnly) {
  const std::string path = scratch_directory() + "/several.so", object = artifact("system_");
  std::string command = "cc -shared -o " + path;
  for (const char *name : {"program", "program_devc", "compiled", "compiled_devc"})
    command += " " + object + name + ".o";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const Module module = Module::load(path);
  EXPECT_STREQ(module.kind(), "library");
  EXPECT_TRUE(module.implements("compiled_multiply") && module.implements("a_prefix_of_some_length_multiply"));
}
#endif

INSTANTIATE_TEST_SUITE_P(Modes, CompiledForASystemLibrary, testing::Values("program", "compiled"));

}  // namespace
}  // namespace opdyno_test
