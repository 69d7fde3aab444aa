// Loading a file again: what was kept of an earlier load may save work, but never shows.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <numeric>
#include <thread>

#include "support/c_artifact.h"
#include "support/opdyno_test.h"

namespace opdyno_test {
namespace {

constexpr DLDevice kCpu = {kDLCPU, 0};

int64_t as_int(const Value &value) { return value.view().u.int64; }

// A library that counts the calls of "count", by `step`; of one size for every step.
std::string counter_source(int step) {
  return kArtifactHead + "static int64_t step = " + std::to_string(step) + R"(;
__attribute__((weak)) void *__tvm_ffi__library_ctx;
SLOT(int, TVMFFIFunctionCall, void *, Any *, int32_t, Any *)
static int64_t calls;
int __tvm_ffi_count(void *self, const Any *args, int32_t n, Any *result) {
  (void)self, (void)args, (void)n;
  result->type = 1, result->u.i = calls += step;
  return 0;
}
)";
}

size_t kept() {  // copies in memory that are open: of loaded libraries, and of those that are kept
  size_t count = 0;
  for (const auto &entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    count += std::filesystem::read_symlink(entry.path(), gone).string().starts_with("/memfd:");
  }
  return count;
}

// Only files that have been as they are for two seconds are told apart by their times.
void let_settle(const std::string &path) {
  struct stat info {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  while (time(nullptr) - info.st_ctim.tv_sec <= 2) std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

struct Reload : testing::Test {
  static constexpr const char *kFlags = "-s -Wl,-z,lazy";  // without the source's name; may be mapped from its file
  // The steps of this library and of another one that is as long.
  static const std::string &counter() {
    static const std::string path = build_library("counter", counter_source(1), kFlags);
    return path;
  }
  static const std::string &other() {
    static const std::string path = build_library("other_counter", counter_source(5), kFlags);
    return path;
  }
  // A copy of it that nobody else has, old enough to be kept. They are made together, to wait only once.
  static std::string settled_copy() {
    static size_t next = 0;
    static const std::vector<std::string> paths = [] {
      std::vector<std::string> made;
      for (int i = 0; i < 24; ++i) {
        made.push_back(scratch_directory() + "/copy" + std::to_string(i) + ".so");
        std::filesystem::copy_file(counter(), made.back());
      }
      let_settle(made.back());
      return made;
    }();
    return paths.at(next++);
  }
  void SetUp() override { check(opd_memory_trim(kCpu)); }
  void TearDown() override {
    check(opd_memory_trim(kCpu));
    EXPECT_EQ(kept(), 0u);
  }
};

TEST_F(Reload, StartsWithTheDataOfTheFile) {
  const std::string path = settled_copy();
  for (int i = 0; i < 3; ++i) {
    const Module module = Module::load(path);
    EXPECT_EQ(as_int(module.function("count")()), 1);
    EXPECT_EQ(as_int(module.function("count")()), 2);
    opd_array *imports = nullptr;
    check(opd_module_list_imports(module.get(), &imports));
    EXPECT_EQ(opd_array_count(imports), 0);
    opd_object_release(imports);
    module.add_import(Module::load(path));
    EXPECT_EQ(kept(), 2u);
  }
  EXPECT_EQ(kept(), 2u);
}

TEST_F(Reload, TwoModulesLoadedAtOnceShareNothing) {
  const std::string path = settled_copy();
  for (int i = 0; i < 2; ++i) {
    const Module a = Module::load(path), b = Module::load(path);
    EXPECT_EQ(as_int(a.function("count")()), 1);
    EXPECT_EQ(as_int(b.function("count")()), 1);
    EXPECT_EQ(as_int(a.function("count")()), 2);
  }
  EXPECT_EQ(kept(), 2u);
}

TEST_F(Reload, LeavesALibraryMappedThatAFunctionStillNeeds) {
  const std::string path = settled_copy();
  Function count;
  {
    const Module module = Module::load(path);
    count = module.function("count");
  }
  const Module again = Module::load(path);
  EXPECT_EQ(as_int(count()), 1);
  EXPECT_EQ(as_int(again.function("count")()), 1);
  EXPECT_EQ(as_int(count()), 2);
}

TEST_F(Reload, SeesAFileThatWasReplaced) {
  const std::string path = settled_copy(), beside = path + ".new";
  EXPECT_EQ(as_int(Module::load(path).function("count")()), 1);
  std::filesystem::copy_file(other(), beside);
  std::filesystem::rename(beside, path);
  EXPECT_EQ(as_int(Module::load(path).function("count")()), 5);
  EXPECT_EQ(kept(), 0u);  // the old one serves nobody, the new one is too young
}

TEST_F(Reload, SeesAFileThatWasWrittenOverWithItsOldTimes) {
  const std::string path = settled_copy();
  EXPECT_EQ(as_int(Module::load(path).function("count")()), 1);
  EXPECT_EQ(kept(), 1u);
  struct stat info {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  const std::string bytes = read_bytes(other());
  ASSERT_EQ(static_cast<size_t>(info.st_size), bytes.size());
  std::ofstream(path, std::ios::binary | std::ios::in) << bytes;
  const timespec times[] = {info.st_atim, info.st_mtim};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  EXPECT_EQ(as_int(Module::load(path).function("count")()), 5);
}

TEST_F(Reload, DetectsATruncatedOrRemovedFile) {
  const std::string path = settled_copy();
  const Module module = Module::load(path);
  Module::load(path);
  std::filesystem::resize_file(path, 1000);
  opd_module *none = nullptr;
  expect_error(opd_module_load(path.c_str(), nullptr, &none), OPD_BAD_FORMAT, "cut short");
  std::filesystem::remove(path);
  expect_error(opd_module_load(path.c_str(), nullptr, &none), OPD_NOT_FOUND, path);
  EXPECT_EQ(as_int(module.function("count")()), 1);
}

TEST_F(Reload, KeepsNothingOfAFileThatMayStillChange) {
  const std::string path = build_library("young", counter_source(3));
  Module::load(path);
  std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() + std::chrono::hours(1));
  let_settle(path);
  Module::load(path);
  EXPECT_EQ(kept(), 0u);
}

TEST_F(Reload, KeepsNothingForOtherWaysOfLoading) {
  const std::string path = settled_copy(), bytes = read_bytes(path);
  opd_module_options options;
  opd_module_options_init(&options);
  options.copy = OPD_COPY_WHEN_SHARED;
  Module::load(path, &options);
  Module module;
  check(opd_module_load_bytes(bytes.data(), bytes.size(), "ways.so", nullptr, module.out()));
  module = Module();
  EXPECT_EQ(kept(), 0u);
}

TEST_F(Reload, KeepsFewLibraries) {
  std::vector<std::string> paths;
  for (int i = 0; i < 10; ++i) paths.push_back(settled_copy());
  for (const auto &path : paths) EXPECT_EQ(as_int(Module::load(path).function("count")()), 1);
  EXPECT_EQ(kept(), 8u);
  for (const auto &path : paths) EXPECT_EQ(as_int(Module::load(path).function("count")()), 1);
  EXPECT_EQ(kept(), 8u);
}

// A library of 150 KiB takes twice as much, the copy and the mapped file: 1 MiB is enough for three.
TEST_F(Reload, KeepsNoMoreBytesThanItMay) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";  // a process of its own, which reads the variable
  std::vector<std::string> paths;
  for (int i = 0; i < 5; ++i) {
    paths.push_back(scratch_directory() + "/large" + std::to_string(i) + ".so");
    std::filesystem::copy_file(counter(), paths.back(), std::filesystem::copy_options::skip_existing);
    std::filesystem::resize_file(paths.back(), 150 << 10);
  }
  let_settle(paths.back());
  setenv("OPDYNO_KEPT_LIBRARIES_MB", "1", 1);
  EXPECT_EXIT(
      {
        for (const auto &path : paths) Module::load(path);
        std::exit(static_cast<int>(kept()));
      },
      testing::ExitedWithCode(3), "");
  unsetenv("OPDYNO_KEPT_LIBRARIES_MB");
}

TEST_F(Reload, HoldsCopiesThatNobodyCanWrite) {
  const Module module = Module::load(settled_copy());
  for (const auto &entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (!std::filesystem::read_symlink(entry.path(), gone).string().starts_with("/memfd:")) continue;
    const int seals = fcntl(std::stoi(entry.path().filename().string()), F_GET_SEALS);
    EXPECT_EQ(seals & (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL),
              F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
  }
}

// The loader keeps such a library mapped for ever, with its data as they are; a later load must not meet them.
TEST_F(Reload, DoesNotTakeALibraryAgainThatStaysMapped) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";  // a process of its own, where the copy stays
  const std::string path = build_library("pinned", counter_source(1), std::string(kFlags) + " -Wl,-z,nodelete");
  let_settle(path);
  EXPECT_EXIT(
      {
        bool anew = true;
        for (int i = 0; i < 3; ++i) anew = as_int(Module::load(path).function("count")()) == 1 && anew;
        std::exit(anew ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(Reload, IsSafeForManyThreads) {
  const std::string path = settled_copy();
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const Module own = Module::load(path);
        good += as_int(own.function("count")()) == 1 && as_int(own.function("count")()) == 2;
        if (t == 0 && i % 10 == 0) check(opd_memory_trim(kCpu));
      }
    });
  for (auto &thread : threads) thread.join();
  EXPECT_EQ(good, 200);
}

TEST_F(Reload, KeepsNothingIfTheVariableIsZero) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";  // a process of its own, which reads the variable
  const std::string path = settled_copy();
  setenv("OPDYNO_KEPT_LIBRARIES_MB", "0", 1);
  EXPECT_EXIT(
      {
        Module::load(path);
        std::exit(kept() == 0 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
  unsetenv("OPDYNO_KEPT_LIBRARIES_MB");
}

// ---- constants

// A library with a program: function "f<i>" gives constant i, whose bytes are `first`, `first + 1` …, to test.touch.
struct Constants : Reload {
  static constexpr int64_t kSizes[] = {3, 100001, 0, 40000, 64, 1};

  static void SetUpTestSuite() {
    define("test.touch", [](const opd_value *args, int32_t, opd_value *out) {
      auto *data = reinterpret_cast<uint8_t *>(elements(args[0]));
      const int64_t size = Tensor::of(args[0]).size();
      EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0u);
      int64_t sum = 0;
      for (int64_t i = 0; i < size; ++i) sum += data[i]++;
      *out = opd_int(sum);
    });
  }

  static uint8_t element(size_t constant, int64_t i) {
    return static_cast<uint8_t>(7 * static_cast<int64_t>(constant) + i % 100);
  }
  static int64_t sum_of(size_t constant, int64_t added = 0) {
    int64_t sum = 0;
    for (int64_t i = 0; i < kSizes[constant]; ++i) sum += element(constant, i) + added;
    return sum;
  }

  static std::string program() {
    opd_executable_builder *builder = nullptr;
    check(opd_executable_builder_create(&builder));
    for (size_t i = 0; i < std::size(kSizes); ++i) {
      const Tensor tensor({kSizes[i]}, "uint8");
      for (int64_t j = 0; j < kSizes[i]; ++j) tensor.data<uint8_t>()[j] = element(i, j);
      opd_operand operand;
      const opd_value value = arg(tensor);
      check(opd_executable_builder_add_constant(builder, &value, &operand));
      check(opd_executable_builder_begin_function(builder, ("f" + std::to_string(i)).c_str(), 0, nullptr));
      check(emit(builder, opd_instruction_call("test.touch", &operand, 1, 0)));
      check(emit(builder, opd_instruction_ret(0)));
      check(opd_executable_builder_end_function(builder));
    }
    Executable executable;
    check(opd_executable_builder_get(builder, executable.out()));
    opd_executable_builder_release(builder);
    return executable.save();
  }

  static const std::string &library() {
    static const std::string path = [] {
      std::string body;
      const auto number = [&](uint64_t value) { body.append(reinterpret_cast<const char *>(&value), 8); };
      const auto text = [&](const std::string &value) { number(value.size()), body += value; };
      for (const uint64_t value : {3, 0, 1, 1, 1, 1}) number(value);  // rows 0 1 1, entry 1
      text("relax.VMExecutable"), text(program()), text("_lib");
      const uint64_t size = body.size();
      const std::string blob = write_text("blob", std::string(reinterpret_cast<const char *>(&size), 8) + body);
      const std::string made = build_library(
          "constants", counter_source(1) + R"(
__asm__(".pushsection .rodata\n.globl __tvm_ffi__library_bin\n.type __tvm_ffi__library_bin, %object\n.byte 1\n"
        "__tvm_ffi__library_bin: .incbin \")" +
                           blob + R"(\"\n.size __tvm_ffi__library_bin, . - __tvm_ffi__library_bin\n.popsection");
)");
      let_settle(made);
      return made;
    }();
    return path;
  }

  static int64_t touch(const Vm &vm, size_t constant) {
    return as_int(vm.call(("f" + std::to_string(constant)).c_str()));
  }
};

TEST_F(Constants, AreAlignedAndAsInTheFileAfterEveryLoad) {
  for (int load = 0; load < 3; ++load) {
    const Vm vm(Module::load(library()));
    for (size_t i = 0; i < std::size(kSizes); ++i) {
      EXPECT_EQ(touch(vm, i), sum_of(i)) << "constant " << i << ", load " << load;
      EXPECT_EQ(touch(vm, i), sum_of(i, 1)) << "constant " << i << ", load " << load;  // what it wrote before
    }
  }
}

TEST_F(Constants, AreIndependentInTwoLoads) {
  Vm(Module::load(library()));
  const Vm a(Module::load(library())), b(Module::load(library()));
  for (size_t i = 0; i < std::size(kSizes); ++i) {
    EXPECT_EQ(touch(a, i), sum_of(i));
    EXPECT_EQ(touch(a, i), sum_of(i, 1));
    EXPECT_EQ(touch(b, i), sum_of(i));
  }
}

TEST_F(Constants, OutliveEverythingElseOfTheirModule) {
  Tensor constant;
  define("test.touch", [&](const opd_value *args, int32_t, opd_value *out) {
    constant = Tensor::of(args[0]);
    *out = opd_int(0);
  });
  touch(Vm(Module::load(library())), 1);
  SetUpTestSuite();
  check(opd_memory_trim(kCpu));
  ASSERT_EQ(constant.size(), kSizes[1]);
  EXPECT_EQ(constant.data<uint8_t>()[kSizes[1] - 1], element(1, kSizes[1] - 1));
  constant.data<uint8_t>()[0] = 255;
}

TEST_F(Constants, CountAsMemoryOfTheDevice) {
  const auto live = [] {
    opd_memory_stats stats{};
    stats.struct_size = sizeof stats;
    check(opd_memory_get_stats(kCpu, &stats));
    EXPECT_GE(stats.reserved_bytes, stats.live_bytes);
    return stats.live_bytes;
  };
  const uint64_t before = live();
  {
    const Vm vm(Module::load(library()));
    EXPECT_GE(live(), before + std::accumulate(std::begin(kSizes), std::end(kSizes), uint64_t{0}));
  }
  EXPECT_EQ(live(), before);
}

struct Arena {
  std::map<void *, size_t> blocks;
  size_t most = 0;
  static void *allocate(void *self, size_t size, size_t alignment) {
    auto &arena = *static_cast<Arena *>(self);
    void *data = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    arena.blocks[data] = size;
    arena.most = std::max(arena.most, size);
    return data;
  }
  static void deallocate(void *self, void *data, size_t, size_t) {
    static_cast<Arena *>(self)->blocks.erase(data);
    std::free(data);
  }
};

TEST_F(Constants, LieWhereMemoryHooksPutThem) {
  Vm(Module::load(library()));
  Arena arena;
  const opd_memory_hooks hooks = {sizeof(opd_memory_hooks), 0, Arena::allocate, Arena::deallocate, &arena, nullptr};
  check(opd_memory_set_hooks(&hooks));
  {
    const Vm vm(Module::load(library()));
    EXPECT_GE(arena.most, static_cast<size_t>(kSizes[1]));
    EXPECT_EQ(touch(vm, 1), sum_of(1));
  }
  check(opd_memory_set_hooks(nullptr));
  EXPECT_TRUE(arena.blocks.empty());
}

}  // namespace
}  // namespace opdyno_test
