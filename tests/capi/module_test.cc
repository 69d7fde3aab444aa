// include/opdyno/module.h, through the C API: shared libraries and their functions.
#include "support/module_test.h"

#include <atomic>
#include <thread>

namespace opdyno_test {
namespace {

TEST(Module, OffersTheFunctionsOfALibrarySortedByName) {
  const Module module = Module::load(library());
  EXPECT_STREQ(opd_module_kind(module.get()), "library");
  EXPECT_EQ(names_of(module), (std::vector<std::string>{"call", "count", "find", "kinds", "main", "once", "parallel",
                                                        "raise", "raise_old", "slots"}));
  EXPECT_EQ(opd_module_has_function(module.get(), "count", 0), 1);
  EXPECT_EQ(opd_module_has_function(module.get(), "counts", 1), 0);
  EXPECT_EQ(opd_module_has_function(module.get(), "_library_ctx", 1), 0);  // data
  Function none;
  expect_error(opd_module_get_function(module.get(), "coutn", 1, none.out()), OPD_NOT_FOUND, "Did you mean count");
}

TEST(Module, FillsEverySlotAndCallsWithoutASelf) { EXPECT_EQ(as_int(Module::load(library()).function("slots")()), 11); }

TEST(Module, GivesErrorsOfCompiledCodeTheirKindAndMessage) {
  const Module module = Module::load(library());
  for (const auto &[name, kind, message] :
       {std::tuple{"raise", "KeyError", "artifact: no such key"}, {"raise_old", "IndexError", "old"}}) {
    try {
      module.function(name)();
      FAIL() << name;
    } catch (const Error &e) {
      EXPECT_EQ(e.code(), OPD_CALL_FAILED);
      EXPECT_EQ(e.kind(), kind);
      EXPECT_EQ(e.message(), message);
    }
  }
}

TEST(Module, PassesStringsToCompiledCodeAsCStrings) {
  const Function kinds = Module::load(library()).function("kinds");
  Value small, large, broken;
  check(opd_string_create("abc", 3, small.out()));
  check(opd_string_create("abcdefghij", 10, large.out()));
  check(opd_string_create("a\0b", 3, broken.out()));
  EXPECT_EQ(as_int(kinds(small)), 8 + 3 * 1000000);
  EXPECT_EQ(as_int(kinds(large, 1)), 801 + 10 * 1000000 * 100);
  EXPECT_EQ(as_int(kinds(floats({1}), true, 1.5, nullptr)), 70020300);
  expect_throws([&] { kinds(broken); }, OPD_INVALID_ARGUMENT, "0 byte");
  opd_array *array = nullptr;
  check(opd_array_create(nullptr, 0, &array));
  const Handle<opd_array> owned(array);
  try {
    kinds(1, owned);
    FAIL();
  } catch (const Error &e) {
    EXPECT_EQ(e.kind(), "TypeError");
    EXPECT_EQ(e.message(),
              "argument 1 of compiled function kinds is of type ffi.Array; compiled functions take tensors, numbers, "
              "pointers and strings");
  }
}

// Compiled code reads an object without asking whether there is one.
TEST(Module, GivesCompiledCodeNoValuesThatLackTheirObject) {
  const Function kinds = Module::load(library()).function("kinds"),
                 typed = Module::load(build_library("typed", kTyped)).function("typed");
  for (const auto &[function, name] : {std::pair{&kinds, "kinds"}, {&typed, "typed"}})
    for (const int32_t type : {OPD_TENSOR, OPD_STRING, OPD_ARRAY}) {
      opd_value args[] = {opd_int(1), opd_none()}, result = opd_none();
      args[1].type = type;
      expect_error(opd_function_call(function->get(), args, 2, &result), OPD_INVALID_ARGUMENT,
                   std::string("argument 1 of compiled function ") + name + " is of type " + opd_type_key(type) +
                       ", but has the object NULL");
    }
  EXPECT_EQ(as_int(typed(1, 2, floats({1}))), 3);
}

TEST(Module, RunsParallelCodeInScratchMemory) {
  const Function parallel = Module::load(library()).function("parallel");
  for (const int tasks : {1, 2, 4}) EXPECT_EQ(as_int(parallel(tasks)), tasks * (tasks + 1) / 2);
  expect_throws([&] { parallel(-1); }, OPD_INVALID_ARGUMENT, "-1 parallel tasks");
}

TEST(Module, LetsALibraryInitialiseAHandleOnce) { EXPECT_EQ(as_int(Module::load(library()).function("once")()), 1); }

TEST(Module, IsIndependentOfTheSameFileLoadedAgain) {
  const Module first = Module::load(library()), second = Module::load(library());
  EXPECT_EQ(as_int(first.function("count")()), 1);
  EXPECT_EQ(as_int(first.function("main")()), 2);
  EXPECT_EQ(as_int(second.function("count")()), 1);
}

TEST(Module, StaysMappedWhileAFunctionOfItLives) {
  Function count;
  {
    const Module module = Module::load(library());
    count = module.function("count");
  }
  EXPECT_EQ(as_int(count()), 1);
}

TEST(Module, StaysMappedForAFunctionThatItsCodeMade) {
  Value made;
  {
    const Module module = Module::load(build_library("maker", kArtifactHead + R"(
typedef int Body(void *self, const Any *args, int32_t n, Any *result);
extern int TVMFFIFunctionCreate(void *self, Body *body, void (*end)(void *), void **out);
static int state = 6;
static int body(void *self, const Any *args, int32_t n, Any *result) {
  (void)args, (void)n;
  result->type = 1, result->u.i = ++*(int *)self;
  return 0;
}
static void end(void *self) { *(int *)self = 0; }
int __tvm_ffi_make(void *self, const Any *args, int32_t n, Any *result) {
  (void)self, (void)args, (void)n;
  result->type = 68;
  return TVMFFIFunctionCreate(&state, body, end, &result->u.p);
})"));
    made = module.function("make")();
  }
  ASSERT_EQ(made.type(), int{OPD_FUNCTION});
  const Function function(static_cast<opd_function *>(opd_object_retain(made.view().u.object)));
  made = Value();
  EXPECT_EQ(as_int(function()), 7);
}

size_t open_files() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(files), end(files)));
}

TEST(Module, LeavesNothingOpenOrMappedBehind) {
  // A symbol that is to be unique in the process would keep the library for ever.
  const std::string path = build_library("unique", kSource + R"(
__asm__(".data\n.globl only_one\n.type only_one, %gnu_unique_object\n.size only_one, 8\nonly_one: .quad 0\n.text");
extern int64_t only_one;
FUNCTION(unique) { (void)self, (void)args, (void)n; result->type = 1, result->u.i = ++only_one; return 0; }
)");
  check(opd_memory_trim({kDLCPU, 0}));  // reload_test.cc tells what is kept, and when
  const size_t before = open_files();
  for (int i = 0; i < 3; ++i) {
    const Module a = Module::load(path), b = Module::load(path);
    EXPECT_EQ(as_int(a.function("unique")()), 1);
    EXPECT_EQ(as_int(b.function("unique")()), 1);
  }
  check(opd_memory_trim({kDLCPU, 0}));
  EXPECT_EQ(open_files(), before);
  EXPECT_FALSE(holds(read_bytes("/proc/self/maps"), "unique.so"));
}

TEST(Module, IsUnaffectedIfItsFileIsOverwritten) {
  const std::string path = scratch_directory() + "/overwritten.so";
  std::filesystem::copy_file(library(), path, std::filesystem::copy_options::overwrite_existing);
  const Module module = Module::load(path);
  std::filesystem::resize_file(path, 0);
  EXPECT_EQ(as_int(module.function("count")()), 1);
}

TEST(Module, MayBeLoadedCalledAndDroppedByManyThreadsAtOnce) {
  const Module shared = Module::load(library());
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        const Module own = Module::load(library());
        good += as_int(own.function("count")()) == 1 && as_int(own.function("slots")()) == 11;
        good += as_int(shared.function("count")()) > 0;
      }
    });
  for (auto &thread : threads) thread.join();
  EXPECT_EQ(good, 160);
}

TEST(Module, ComesFromMemoryAsFromAFile) {
  const std::string bytes = read_bytes(library());
  Module module;
  check(opd_module_load_bytes(bytes.data(), bytes.size(), nullptr, nullptr, module.out()));
  EXPECT_EQ(as_int(module.function("count")()), 1);
  EXPECT_TRUE(holds(json_of(module), "\"file\":\"\"")) << json_of(module);
}

TEST(Module, DescribesItselfAndItsImports) {
  const Module module = Module::load(library());
  module.add_import(Module::load(library()));
  const std::string json = json_of(module);
  EXPECT_EQ(json.find("{\"kind\":\"library\",\"file\":\"" + library() +
                      "\",\"tvm_release\":\"0.26 or newer\",\"library_copy\":true"),
            0u)
      << json;
  EXPECT_TRUE(holds(json, "\"imports\":[{\"kind\":\"library\"")) << json;
}

TEST(Module, CallsTvmFunctionsWhileItIsBeingLoaded) {
  const std::string path = build_library("starts", kArtifactHead + R"(
extern int TVMFFIEnvModRegisterSystemLibSymbol(const char *name, void *symbol);
static int registered = -2;
__attribute__((constructor)) static void start(void) {
  registered = TVMFFIEnvModRegisterSystemLibSymbol("x", &registered);
}
int __tvm_ffi_registered(void *self, const Any *args, int32_t n, Any *result) {
  (void)self, (void)args, (void)n;
  result->type = 1, result->u.i = registered;
  return 0;
})",
                                         "-Wl,-z,lazy");
  EXPECT_EQ(as_int(Module::load(path).function("registered")()), 0);
  const auto options = options_with(OPD_COPY_NEVER);
  expect_error(load(path, &options), OPD_UNSUPPORTED, "needs a copy");
}

TEST(Module, FindsLibrariesBesideTheOriginalWithASonameOrWithout) {
  const std::string directory = scratch_directory() + "/beside";
  std::filesystem::create_directory(directory);
  struct Case {
    std::string library, soname, run_path;
  };
  for (const auto &[library, soname, run_path] :
       {Case{"named", "-Wl,-soname,libnamed.so", "-Wl,-rpath,'$ORIGIN'"}, Case{"bare", "", "-Wl,-rpath,'$ORIGIN'"},
        Case{"braced", "", "-Wl,-rpath,'${ORIGIN}/../beside:/nowhere'"},
        Case{"old", "", "-Wl,--disable-new-dtags,-rpath,'$ORIGIN'"}}) {
    build_library("beside/lib" + library, "int sibling(void) { return 42; }", soname);
    const std::string path = build_library("beside/user_of_" + library, kArtifactHead + R"(
int sibling(void);
int __tvm_ffi_ask(void *self, const Any *args, int32_t n, Any *result) {
  (void)self, (void)args, (void)n;
  result->type = 1, result->u.i = sibling();
  return 0;
}
)",
                                           "-L'" + directory + "' -l" + library + " " + run_path);
    EXPECT_EQ(as_int(Module::load(path).function("ask")()), 42) << library;
  }
}

// ---- C symbols

TEST(Module, GivesCSymbolsByTheirSignature) {
  const Module module = Module::load(library());
  Function add;
  check(opd_module_native_function(module.get(), "plain_add", "i32(i32, i32)", add.out()));
  EXPECT_EQ(as_int(add(2, 3)), 5);
  expect_error(opd_module_native_function(module.get(), "plain_sub", "i32(i32, i32)", add.out()), OPD_NOT_FOUND,
               "plain_sub");
  expect_error(opd_module_native_function(module.get(), "plain_add", "i32(", add.out()), OPD_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace opdyno_test
