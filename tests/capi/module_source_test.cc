// C sources as modules: compiled once, kept in a cache.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "support/module_test.h"

namespace opdyno_test {
namespace {

const std::string kCounter = kArtifactHead + R"(
#include <math.h>
#ifndef STEP
#define STEP 1
#endif
static int64_t count;
int __tvm_ffi_next(void *self, const Any *args, int32_t n, Any *result) {
  (void)self;
  result->type = 1, result->u.i = count += n ? (int64_t)sqrt((double)args[0].u.i) : STEP;
  return 0;
}
int twice(int x) { return 2 * x; }
)";

struct SourceTest : testing::Test {
  std::string cache = scratch_directory() + "/cache";
  std::string flags = "-O1 -lm";
  opd_module_options options = options_with(OPD_COPY_ALWAYS);

  SourceTest() {
    std::filesystem::remove_all(cache);
    options.cache_dir = cache.c_str();
    options.c_flags = flags.c_str();
  }
  Module source(const std::string &text) const {
    Module module;
    check(load_source(text, &options, module.out()));
    return module;
  }
  std::vector<std::filesystem::path> cached() const {
    std::vector<std::filesystem::path> files;
    for (const auto &entry : std::filesystem::directory_iterator(cache)) files.push_back(entry.path());
    return files;
  }
};

TEST_F(SourceTest, IsCompiledAndKeptWithItsText) {
  const Module module = source(kCounter);
  EXPECT_STREQ(opd_module_kind(module.get()), "c");
  EXPECT_EQ(as_int(module.function("next")()), 1);
  EXPECT_EQ(as_int(module.function("next")(9)), 4);
  EXPECT_EQ(text_of(opd_module_get_source, module.get(), nullptr), kCounter);
  EXPECT_EQ(text_of(opd_module_get_source, module.get(), "c"), kCounter);
  opd_buffer *none = nullptr;
  expect_error(opd_module_get_source(module.get(), "ll", &none), OPD_UNSUPPORTED, "ll");
  Function twice;
  check(opd_module_native_function(module.get(), "twice", "i32(i32)", twice.out()));
  EXPECT_EQ(as_int(twice(21)), 42);
  expect_error(opd_module_get_source(Module::load(library()).get(), nullptr, &none), OPD_UNSUPPORTED, "no source");
}

TEST_F(SourceTest, IsCompiledOnceForEachTextAndFlags) {
  source(kCounter);
  ASSERT_EQ(cached().size(), 1u);
  const ino_t written = number_of(cached()[0]);
  const Module again = source(kCounter);
  EXPECT_EQ(as_int(again.function("next")()), 1);  // of its own
  EXPECT_EQ(cached().size(), 1u);
  EXPECT_EQ(number_of(cached()[0]), written);
  options.c_flags = "-O1 -DSTEP=10 -lm";
  EXPECT_EQ(as_int(source(kCounter).function("next")()), 10);
  EXPECT_EQ(cached().size(), 2u);
}

TEST_F(SourceTest, IsKeptInADirectoryThatOnlyItsOwnerMayWrite) {
  source(kCounter);
  struct stat info {};
  ASSERT_EQ(stat(cache.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  chmod(cache.c_str(), 0777);
  Module module;
  expect_error(load_source(kCounter, &options, module.out()), OPD_IO, "others may write");
  options.cache_dir = "/proc/none";
  expect_error(load_source(kCounter, &options, module.out()), OPD_IO, "/proc/none");
}

TEST_F(SourceTest, IsCompiledAgainIfTheKeptLibraryIsDamaged) {
  source(kCounter);
  const std::string path = cached().at(0), good = read_bytes(path);
  for (const size_t size : {size_t{0}, size_t{10}, good.size() / 2, good.size() - 1}) {
    std::filesystem::resize_file(path, size);
    EXPECT_EQ(as_int(source(kCounter).function("next")()), 1) << size;
    EXPECT_EQ(read_bytes(path).size(), good.size());
  }
  std::string flipped = good;
  flipped[good.size() / 2] = static_cast<char>(flipped[good.size() / 2] ^ 1);
  std::ofstream(path, std::ios::binary) << flipped;
  EXPECT_EQ(as_int(source(kCounter).function("next")()), 1);
  EXPECT_EQ(read_bytes(path), good);
}

TEST_F(SourceTest, ErrorsContainTheCompilersMessages) {
  Module module;
  expect_error(load_source("int f(void) { return undeclared; }", &options, module.out()), OPD_CALL_FAILED,
               "undeclared");
  const std::string path = write_text("broken.c", "int x;\n\nint f(void) { return wrong; }\n");
  expect_error(load(path, &options), OPD_CALL_FAILED, "broken.c:3:");
  expect_error(load_source("void gone(void); void __tvm_ffi_f(void) { gone(); }", &options, module.out()),
               OPD_UNSUPPORTED, "gone");
  options.compiler = "no-such-compiler";
  expect_error(load_source(kCounter, &options, module.out()), OPD_NOT_FOUND, "no-such-compiler");
  EXPECT_EQ(cached().size(), 1u);  // the library that could be compiled, but not loaded
}

TEST_F(SourceTest, MayNameACompilerWithArguments) {
  options.compiler = "cc -DSTEP=5";
  EXPECT_EQ(as_int(source(kCounter).function("next")()), 5);
}

TEST_F(SourceTest, NoticesWhenAHeaderBesideItChanges) {
  write_text("step.h", "#define STEP 3\n");
  const std::string path = write_text("with_header.c", "#include \"step.h\"\n" + kCounter);
  EXPECT_EQ(as_int(Module::load(path, &options).function("next")()), 3);
  write_text("step.h", "#define STEP 4\n");
  EXPECT_EQ(as_int(Module::load(path, &options).function("next")()), 4);
  EXPECT_TRUE(holds(json_of(Module::load(path, &options)), "\"kind\":\"c\",\"file\":\"" + path + "\""));
}

TEST_F(SourceTest, LooksFunctionsUpInItsImports) {
  const Module module = source(kSource), other = source(kCounter);
  module.add_import(other);
  EXPECT_EQ(as_int(module.function("call")("next")), 1);
}

TEST_F(SourceTest, MayBeCompiledByManyThreadsAndProcessesAtOnce) {
  std::vector<pid_t> children;
  for (int i = 0; i < 2; ++i)
    if (const pid_t child = fork(); child == 0) {
      bool good = true;
      try {
        good = as_int(source(kCounter).function("next")()) == 1;
      } catch (const Error &) { good = false; }
      _exit(good ? 0 : 1);
    } else {
      children.push_back(child);
    }
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) threads.emplace_back([&] { good += as_int(source(kCounter).function("next")()) == 1; });
  for (auto &thread : threads) thread.join();
  for (const pid_t child : children) {
    int status = 1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(good, 3);
  EXPECT_EQ(cached().size(), 1u);
}

TEST_F(SourceTest, IsRecognisedByItsSuffixOrTheFormatOption) {
  EXPECT_EQ(as_int(Module::load(write_text("counter.c", kCounter), &options).function("next")()), 1);
  const std::string path = write_text("counter.txt", kCounter);
  expect_error(load(path, &options), OPD_BAD_FORMAT, "suffix .c");
  options.format = "c";
  EXPECT_EQ(as_int(Module::load(path, &options).function("next")()), 1);
}

TEST_F(SourceTest, MayBeMappedFromTheCacheForProfilers) {
  options.copy = OPD_COPY_NEVER;
  const Module module = source(kCounter);
  EXPECT_TRUE(holds(json_of(module), "\"library_copy\":false"));
  EXPECT_EQ(as_int(module.function("next")()), 1);
}

}  // namespace
}  // namespace opdyno_test
