// Where the code of a library lies: in a private copy, on disk, or in its file.
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/module_test.h"

namespace opdyno_test {
namespace {

TEST(Module, IsIndependentOfAnotherMappingOfItsFile) {
  void *theirs = dlopen(library().c_str(), RTLD_LAZY | RTLD_LOCAL);
  ASSERT_NE(theirs, nullptr) << dlerror();
  auto **slot = static_cast<void **>(dlsym(theirs, "__TVMFFIFunctionCall"));
  ASSERT_NE(slot, nullptr);
  for (const auto copy : {OPD_COPY_ALWAYS, OPD_COPY_WHEN_SHARED}) {
    const auto options = options_with(copy);
    const Module ours = Module::load(library(), &options);
    EXPECT_EQ(as_int(ours.function("slots")()), 11);
    EXPECT_EQ(*slot, nullptr);  // theirs is as it was
    EXPECT_TRUE(holds(json_of(ours), "\"library_copy\":true"));
  }
  const auto never = options_with(OPD_COPY_NEVER);
  expect_error(load(library(), &never), OPD_FAILED_PRECONDITION, "mapped in this process already");
  dlclose(theirs);
}

TEST(Module, MayBeMappedFromItsFile) {
  const std::string path = build_library("in_place", kSource, "-Wl,-z,lazy");
  for (const auto copy : {OPD_COPY_WHEN_SHARED, OPD_COPY_NEVER}) {
    const auto options = options_with(copy);
    const Module module = Module::load(path, &options);
    EXPECT_TRUE(holds(json_of(module), "\"library_copy\":false"));
    EXPECT_EQ(as_int(module.function("slots")()), 11);
    expect_throws([&] { module.function("raise")(); }, OPD_CALL_FAILED, "no such key");
  }
  const std::string now = build_library("at_once", kSource, "-Wl,-z,now");
  const auto never = options_with(OPD_COPY_NEVER), shared = options_with(OPD_COPY_WHEN_SHARED);
  expect_error(load(now, &never), OPD_UNSUPPORTED, "without a copy");
  EXPECT_TRUE(holds(json_of(Module::load(now, &shared)), "\"library_copy\":true"));
  const auto wrong = options_with(opd_copy_policy(3));
  expect_error(load(path, &wrong), OPD_INVALID_ARGUMENT, "copy must be a copy policy, but is 3");
}

// Makes memfd_create() fail for the rest of this process.
bool forbid_memory_files() {
  sock_filter rules[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                         BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
                         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  sock_fprog program = {static_cast<unsigned short>(std::size(rules)), rules};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(Module, DoesNotNeedACacheDirectoryWhereMemoryHoldsItsCopy) {
  opd_module_options options = options_with(OPD_COPY_ALWAYS);
  options.cache_dir = "/proc/nowhere";
  check(opd_memory_trim({kDLCPU, 0}));  // a copy that was kept would serve
  EXPECT_EQ(as_int(Module::load(library(), &options).function("slots")()), 11);
}

// By that name debuggers and profilers show where code lies.
TEST(Module, HasTheNameOfItsFileInTheListOfMappings) {
  const Module module = Module::load(build_library("shown_by_name", kSource));
  EXPECT_TRUE(holds(read_bytes("/proc/self/maps"), " /memfd:shown_by_name.so (deleted)"));
}

TEST(Module, IsCopiedToDiskWhereMemoryCannotHoldIt) {
  const std::string directory = scratch_directory() + "/copies", path = library();
  const pid_t child = fork();
  if (child == 0) {
    setenv("OPDYNO_CACHE_DIR", directory.c_str(), 1);
    if (!forbid_memory_files()) _exit(77);
    check(opd_memory_trim({kDLCPU, 0}));  // a copy that was kept would serve
    int good = 0;
    try {
      const Module a = Module::load(path), b = Module::load(path);
      good = as_int(a.function("slots")()) == 11 && as_int(a.function("count")()) == 1 &&
             as_int(b.function("count")()) == 1;
      good = good && holds(json_of(a), "\"library_copy\":true") && std::filesystem::is_empty(directory);
    } catch (const Error &e) { std::fprintf(stderr, "%s\n", e.what()); }
    _exit(good ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "system calls cannot be filtered here";
  EXPECT_EQ(status, 0);
}

TEST(Module, IsRefusedWhereItsCopyWouldBeTooLongAFile) {
  const std::string path = library();
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit = {4096, 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
    check(opd_memory_trim({kDLCPU, 0}));
    opd_module *module = nullptr;
    const Error refused(opd_module_load(path.c_str(), nullptr, &module));
    _exit(refused.code() == OPD_IO && holds(refused.message(), "ulimit -f") ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

// The loader makes a library's table of addresses read-only; what binds symbols later leaves it so.
TEST(Module, LeavesTheTableOfAddressesReadOnly) {
  const std::string source = kArtifactHead + R"(
__attribute__((weak)) extern int TVMFFIFunctionCall(void *, Any *, int32_t, Any *);
extern char _DYNAMIC[] __attribute__((visibility("hidden")));
int __tvm_ffi_table(void *self, const Any *args, int32_t n, Any *result) {
  (void)self, (void)args, (void)n;
  result->type = 1, result->length = 0, result->u.i = (int64_t)(&TVMFFIFunctionCall ? _DYNAMIC : 0);
  return 0;
}
)";
  const std::string path = build_library("read_only_table", source, "-Wl,-z,relro,-z,lazy");
  const auto never = options_with(OPD_COPY_NEVER);
  const Module module = Module::load(path, &never);
  const auto table = static_cast<uint64_t>(as_int(module.function("table")()));
  ASSERT_NE(table, 0u) << "the symbol was not bound";
  std::istringstream maps(read_bytes("/proc/self/maps"));
  std::string rights;
  for (std::string line; std::getline(maps, line);) {
    uint64_t begin = 0, end = 0;
    char here[8] = "";
    if (std::sscanf(line.c_str(), "%lx-%lx %7s", &begin, &end, here) == 3 && begin <= table && table < end)
      rights = here;
  }
  EXPECT_EQ(rights, "r--p");
}

TEST(Module, OpensALibraryWithoutTvmNamesAsAnyProgramDoes) {
  for (const auto &[inside, symbol, signature] : {std::tuple{dlsym(RTLD_DEFAULT, "getpid"), "getpid", "i32()"},
                                                  {dlsym(RTLD_DEFAULT, "exp2"), "exp2", "f64(f64)"}}) {
    Dl_info info{};
    ASSERT_NE(dladdr(inside, &info), 0);
    const Module module = Module::load(info.dli_fname);
    EXPECT_TRUE(holds(json_of(module), "\"library_copy\":false")) << json_of(module);
    EXPECT_TRUE(holds(json_of(module), "\"functions\":[]")) << json_of(module);
    Function function;
    check(opd_module_native_function(module.get(), symbol, signature, function.out()));
    if (std::string(symbol) == "getpid") EXPECT_EQ(as_int(function()), getpid());
    else EXPECT_EQ(function(3.0).view().u.float64, 8.0);
    expect_throws([&] { module.function("getpid"); }, OPD_NOT_FOUND, "it offers none");
  }
}

}  // namespace
}  // namespace opdyno_test
