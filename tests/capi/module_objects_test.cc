// Object files, archives of them and tar archives: linked when they are loaded.
#include <filesystem>

#include "support/export_test.h"

namespace opdyno_test {
namespace {

const std::string kSquare = kArtifactHead + R"(
#include <math.h>
int64_t table[2] = {3, 4};
int __tvm_ffi_hypotenuse(void *self, const Any *args, int32_t n, Any *result) {
  (void)self;
  if (n != 1) return fail("TypeError", "one argument");
  result->type = 3, result->u.f = sqrt((double)(table[0] * table[0] + table[1] * table[1]) + (double)args[0].u.i);
  return 0;
}
)";
const std::string kOther = kArtifactHead + R"(
extern int64_t table[2];
int __tvm_ffi_second(void *self, const Any *args, int32_t n, Any *result) {
  (void)self, (void)args, (void)n;
  result->type = 1, result->u.i = table[1];
  return 0;
}
)";

void run(const std::string &command) { ASSERT_EQ(std::system(command.c_str()), 0) << command; }

struct ObjectTest : testing::Test {
  std::string cache = scratch_directory() + "/object-cache";
  opd_module_options options = options_with(OPD_COPY_ALWAYS);

  ObjectTest() {
    std::filesystem::remove_all(cache);
    options.cache_dir = cache.c_str();
  }
  Module load_it(const std::string &path) const { return Module::load(path, &options); }
  size_t num_cached() const {
    const std::filesystem::directory_iterator files(cache);
    return static_cast<size_t>(std::distance(begin(files), end(files)));
  }
  void expect_both(const Module &module) const {
    EXPECT_EQ(module.function("hypotenuse")(0).view().u.float64, 5);
    EXPECT_EQ(as_int(module.function("second")()), 4);
  }
};

TEST_F(ObjectTest, IsLinkedOnceAndNothingIsLeftBesideIt) {
  std::filesystem::create_directory(scratch_directory() + "/alone");
  const std::string path = scratch_directory() + "/alone/square.o";
  std::filesystem::rename(build_object("square", kSquare), path);
  for (int i = 0; i < 2; ++i) {
    const Module module = load_it(path);
    EXPECT_STREQ(opd_module_kind(module.get()), "library");
    EXPECT_EQ(module.function("hypotenuse")(0).view().u.float64, 5);  // sqrt(9 + 16)
    EXPECT_TRUE(holds(json_of(module), "\"file\":\"" + path + "\"")) << json_of(module);
    expect_throws([&] { module.function("hypotenuse")(); }, OPD_CALL_FAILED, "artifact: one argument");
  }
  EXPECT_EQ(num_cached(), 1u);
  const std::filesystem::directory_iterator files(scratch_directory() + "/alone");
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

TEST_F(ObjectTest, IsLinkedAgainIfItsContentOrTheToolsChange) {
  const std::string path = build_object("changing", kSquare);
  load_it(path);
  options.c_flags = "-O1";
  load_it(path);
  EXPECT_EQ(num_cached(), 2u);
  build_object("changing", kSquare + "int more;\n");
  load_it(path);
  EXPECT_EQ(num_cached(), 3u);
}

TEST_F(ObjectTest, WorksInEveryCopyPolicyAndFromMemory) {
  const std::string path = build_object("policies", kSquare), bytes = read_bytes(path);
  for (const auto copy : {OPD_COPY_ALWAYS, OPD_COPY_WHEN_SHARED, OPD_COPY_NEVER}) {
    options.copy = copy;
    EXPECT_EQ(load_it(path).function("hypotenuse")(0).view().u.float64, 5) << copy;
  }
  Module module;
  check(opd_module_load_bytes(bytes.data(), bytes.size(), "objects", &options, module.out()));
  EXPECT_EQ(module.function("hypotenuse")(0).view().u.float64, 5);
}

TEST_F(ObjectTest, ArchivesAndTarsAreLinkedWhole) {
  const std::string square = build_object("one", kSquare), other = build_object("two", kOther),
                    directory = scratch_directory();
  run("cd '" + directory + "' && rm -f both.a && ar rc both.a one.o two.o");
  expect_both(load_it(directory + "/both.a"));
  for (const std::string flags :
       {"-cf both.tar", "-czf both.tar", "--format=pax -cf both.tar", "--format=gnu -cf both.tar"}) {
    run("cd '" + directory + "' && tar " + flags + " one.o two.o");
    expect_both(load_it(directory + "/both.tar"));
  }
  run("cd '" + directory + "' && tar -czf mixed.tar one.c two.o");  // a C source is compiled
  expect_both(load_it(directory + "/mixed.tar"));
}

TEST_F(ObjectTest, SourcesThatTvmGeneratedNeedNoTvm) {
  // The head and the forms that TVM's C code generator writes.
  const std::string source = R"(#define TVM_EXPORTS
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/runtime/base.h>
#include <tvm/runtime/c_backend_api.h>
#include <tvm/ffi/c_api.h>
#include <math.h>
#include <stdbool.h>
void* __tvm_ffi__library_ctx = NULL;
#ifdef __cplusplus
extern "C"
#endif
TVM_DLL int32_t __tvm_ffi_first(void* self_handle, void* args, int32_t num_args, void* result) {
  if (!((num_args == 1))) {
    const char* parts[2] = {"Expected ", "1"};
    TVMFFIErrorSetRaisedFromCStrParts("TypeError", parts, 2);
    return -1;
  }
  void* x = ((void*)((char*)(((TVMFFIAny*)args)[0].v_ptr) + 24));
  if (((TVMFFIAny*)args)[0].type_index != 70) return -1;
  (((TVMFFIAny*)result)[0].type_index) = kTVMFFIFloat;
  (((TVMFFIAny*)result)[0].v_float64) = exp((double)((float*)(((DLTensor*)x)[0].data))[0]);
  return 0;
}
)";
  Tensor zero({1}, "float32");
  *zero.data<float>() = 0;
  EXPECT_EQ(load_it(write_text("generated.c", source)).function("first")(zero).view().u.float64, 1);
  run("cd '" + scratch_directory() + "' && tar -czf generated.tar generated.c");
  EXPECT_EQ(load_it(scratch_directory() + "/generated.tar").function("first")(zero).view().u.float64, 1);
}

TEST_F(ObjectTest, ErrorsContainTheLinkersMessages) {
  const std::string good = read_bytes(build_object("good", kSquare));
  std::string cut = good.substr(0, good.size() / 2);
  expect_error(load(write_text("cut.o", cut), &options), OPD_CALL_FAILED,
               "could not link " + scratch_directory() + "/cut.o:\n");
  const std::string directory = scratch_directory();
  run("cd '" + directory + "' && cp good.o again.o && tar -czf twice.tar good.o again.o");
  expect_error(load(directory + "/twice.tar", &options), OPD_CALL_FAILED, "again.o");
  const std::string path =
      build_object("undefined", "int elsewhere(void); int __tvm_ffi_f(void) { return elsewhere(); }");
  expect_error(load(path, &options), OPD_UNSUPPORTED, "undefined symbol: elsewhere");
  options.compiler = "no-such-compiler";
  expect_error(load(path, &options), OPD_NOT_FOUND, "no-such-compiler");
}

TEST_F(ObjectTest, IsCheckedBeforeALinkerSeesIt) {
  // A linker takes a text for a script of its own, which could name any file.
  options.format = "o";
  expect_error(load(write_text("script.o", "INPUT(/etc/passwd)"), &options), OPD_BAD_FORMAT, "is not an object file");
  options.format = "a";
  expect_error(load(write_text("script.a", "GROUP(/lib/libm.so)"), &options), OPD_BAD_FORMAT, "is not an archive");
  options.format = nullptr;
  std::string foreign = read_bytes(build_object("foreign", kSquare));
  foreign[18] = 8;  // the machine: MIPS
  expect_error(load(write_text("foreign.o", foreign), &options), OPD_UNSUPPORTED, "this machine is");
}

TEST_F(ObjectTest, TarsThatHoldOtherThingsAreRefused) {
  const std::string directory = scratch_directory();
  build_object("inside", kSquare);
  write_text("notes.txt", "text");
  run("cd '" + directory + "' && tar -czf notes.tar inside.o notes.txt");
  expect_error(load(directory + "/notes.tar", &options), OPD_UNSUPPORTED, "holds notes.txt");
  run("cd '" + directory + "' && ln -sf /etc/passwd link.o && tar -czf link.tar link.o");
  expect_error(load(directory + "/link.tar", &options), OPD_BAD_FORMAT, "of type '2'");
  run("cd '" + directory + "' && mkdir -p deep && tar -P -czf up.tar -C deep ../inside.o");
  expect_error(load(directory + "/up.tar", &options), OPD_BAD_FORMAT, "leads out of the archive: ../inside.o");
  run("cd '" + directory + "' && tar -P -czf root.tar '" + directory + "/inside.o'");
  expect_error(load(directory + "/root.tar", &options), OPD_BAD_FORMAT, "leads out of the archive: /");
  run("cd '" + directory + "' && mkdir -p only && tar -czf directory.tar only");
  expect_error(load(directory + "/directory.tar", &options), OPD_BAD_FORMAT, "holds no files");
  const std::string whole = read_bytes(directory + "/notes.tar");
  expect_error(load(write_text("half.tar", whole.substr(0, whole.size() / 2)), &options), OPD_BAD_FORMAT, "cut short");
}

}  // namespace
}  // namespace opdyno_test
