// What TVM exports for others to link: archives of objects and of C sources, with and without bytecode.
#include "support/module_test.h"

namespace opdyno_test {
namespace {

std::string artefact(const std::string &name) { return OPDYNO_INTEROP_DATA "/modules/" + name; }

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
  const std::string cache = scratch_folder() + "/cache", bytes = read_bytes(artefact(GetParam()));
  options.cache_dir = cache.c_str();
  const Module module = Module::load(artefact(GetParam()), &options);
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

}  // namespace
}  // namespace opdyno_test
