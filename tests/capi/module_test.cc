// include/opdyno/module.h, through the C API: loading, functions, imports, copies, C sources.
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "support/c_artefact.h"
#include "support/opdyno_test.h"

namespace opdyno_test {
namespace {

// Functions that show what their library was wired to.
const std::string kSource = kArtefactHead + R"(
SLOT(int, TVMFFIFunctionCall, void *, Any *, int32_t, Any *)
SLOT(void, TVMFFIErrorSetRaisedFromCStr, const char *, const char *)
SLOT(int, TVMFFIEnvModLookupFromImports, void *, const char *, void **)
SLOT(int, TVMFFIHandleInitOnce, void **, int (*)(void **))
SLOT(int, TVMBackendGetFuncFromEnv, void *, const char *, void **)
SLOT(void *, TVMBackendAllocWorkspace, int, int, uint64_t, int, int)
SLOT(int, TVMBackendFreeWorkspace, int, int, void *)
SLOT(int, TVMBackendParallelLaunch, int (*)(int, void *, void *), void *, int)
SLOT(int, TVMBackendParallelBarrier, int, void *)
__attribute__((weak)) void *__tvm_ffi__library_ctx;
static int calls;
#define FUNCTION(name) int __tvm_ffi_##name(void *self, const Any *args, int32_t n, Any *result)

FUNCTION(slots) {
  (void)args, (void)n;
  int64_t filled = self == 0;
  filled += !!__TVMFFIFunctionCall + !!__TVMFFIErrorSetRaisedFromCStr + !!__TVMFFIEnvModLookupFromImports;
  filled += !!__TVMFFIHandleInitOnce;
  filled += !!__TVMBackendGetFuncFromEnv + !!__TVMBackendAllocWorkspace + !!__TVMBackendFreeWorkspace;
  filled += !!__TVMBackendParallelLaunch + !!__TVMBackendParallelBarrier + !!__tvm_ffi__library_ctx;
  result->type = 1, result->u.i = filled;
  return 0;
}
FUNCTION(count) { (void)self, (void)args, (void)n; result->type = 1, result->u.i = ++calls; return 0; }
FUNCTION(main) { return __tvm_ffi_count(self, args, n, result); }
FUNCTION(raise) { (void)self, (void)args, (void)n, (void)result; return fail("KeyError", "no such key"); }
FUNCTION(raise_old) {
  (void)self, (void)args, (void)n, (void)result;
  __TVMFFIErrorSetRaisedFromCStr("IndexError", "old");
  return -1;
}
FUNCTION(kinds) {  /* the kinds of the arguments as digits, and the length of a string among them */
  (void)self;
  int64_t out = 0;
  for (int i = 0; i < n; ++i) {
    out = out * 100 + args[i].type;
    if (args[i].type == 8) for (const char *c = args[i].u.s; *c; ++c) out += 1000000;
  }
  result->type = 1, result->u.i = out;
  return 0;
}
FUNCTION(call) {  /* calls the function named by argument 0 with the rest */
  (void)self;
  void *function = 0;
  if (__TVMFFIEnvModLookupFromImports(__tvm_ffi__library_ctx, args[0].u.s, &function)) return -1;
  return __TVMFFIFunctionCall(function, (Any *)args + 1, n - 1, result);
}
FUNCTION(find) {  /* the address of the function named by argument 0 */
  (void)self, (void)n;
  result->type = 4;
  return __TVMBackendGetFuncFromEnv(__tvm_ffi__library_ctx, args[0].u.s, &result->u.p);
}
static void *handle;
static int made;
static int make(void **out) { ++made; *out = &made; return 0; }
FUNCTION(once) {
  (void)self, (void)args, (void)n;
  if (__TVMFFIHandleInitOnce(&handle, make) || __TVMFFIHandleInitOnce(&handle, make)) return -1;
  result->type = 1, result->u.i = made;
  return 0;
}
typedef struct { void *sync; int32_t num_task; } Group;
static int add_one(int id, void *group, void *data) {
  (void)group;
  __atomic_fetch_add((int64_t *)data, id + 1, __ATOMIC_RELAXED);
  return 0;
}
FUNCTION(parallel) {  /* sums 1 … n over so many tasks, in scratch memory */
  (void)self, (void)n;
  int64_t *sum = __TVMBackendAllocWorkspace(1, 0, 8, 2, 32);
  if (!sum) return -1;
  *sum = 0;
  if (__TVMBackendParallelLaunch(add_one, sum, (int)args[0].u.i)) return -1;
  result->type = 1, result->u.i = *sum;
  return __TVMBackendFreeWorkspace(1, 0, sum);
}
FUNCTION(_metadata_count) { return __tvm_ffi_count(self, args, n, result); }
int plain_add(int a, int b) { return a + b; }
)";

const std::string &library() {
  static const std::string path = build_library("library", kSource);
  return path;
}

int64_t as_int(const Value &value) {
  EXPECT_EQ(value.type(), int{OPD_INT});
  return value.view().u.int64;
}

opd_module_options options_with(int32_t copy) {
  opd_module_options options;
  opd_module_options_init(&options);
  options.copy = copy;
  return options;
}

std::vector<std::string> names_of(const Module &module) {
  opd_array *array = nullptr;
  check(opd_module_list_functions(module.get(), &array));
  std::vector<std::string> names;
  for (size_t i = 0; i < opd_array_count(array); ++i) {
    opd_value item;
    const char *data;
    size_t size;
    check(opd_array_get(array, i, &item));
    check(opd_string_get(&item, &data, &size));
    names.emplace_back(data, size);
  }
  opd_object_release(array);
  return names;
}

opd_error *load(const std::string &path, const opd_module_options *options = nullptr) {
  Module module;
  return opd_module_load(path.c_str(), options, module.out());
}
opd_error *load_text(const std::string &bytes, const char *name = "memory.so") {
  Module module;
  return opd_module_load_bytes(bytes.data(), bytes.size(), name, nullptr, module.out());
}
std::string json_of(const Module &module) { return text_of(opd_module_to_json, module.get()); }
bool holds(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

// ---- shared libraries

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
       {std::tuple{"raise", "KeyError", "artefact: no such key"}, {"raise_old", "IndexError", "old"}}) {
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

TEST(Module, GivesCompiledCodeStringsAsCStringsAndRefusesObjectsThatItWouldMisread) {
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
    const Module module = Module::load(build_library("maker", kArtefactHead + R"(
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

TEST(Module, DoesNotNoticeWhenItsFileIsOverwritten) {
  const std::string path = scratch_folder() + "/overwritten.so";
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
                      "\",\"tvm_release\":\"0.26 or newer\",\"private_copy\":true"),
            0u)
      << json;
  EXPECT_TRUE(holds(json, "\"imports\":[{\"kind\":\"library\"")) << json;
}

TEST(Module, CallsTvmFunctionsWhileItIsBeingLoaded) {
  const std::string path = build_library("starts", kArtefactHead + R"(
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

// ---- imports

TEST(Module, FindsFunctionsOfImportsDepthFirstThenTheRegistry) {
  const Module root = Module::load(library()), middle = Module::load(library()),
               leaf = Module::load(build_library("leaf", kArtefactHead + R"(
int __tvm_ffi_seven(void *self, const Any *args, int32_t n, Any *result) {
  (void)self, (void)args, (void)n;
  result->type = 1, result->u.i = 7;
  return 0;
})"));
  root.add_import(middle);
  middle.add_import(leaf);
  EXPECT_EQ(as_int(root.function("seven")()), 7);
  EXPECT_EQ(opd_module_has_function(root.get(), "seven", 0), 0);
  EXPECT_EQ(as_int(root.function("call")("seven")), 7);
  define("module_test.add",
         [](const opd_value *args, int32_t, opd_value *out) { *out = opd_int(args[0].u.int64 + args[1].u.int64); });
  EXPECT_EQ(as_int(root.function("call")("module_test.add", 2, 3)), 5);
  expect_throws([&] { root.function("call")("module_test.ad"); }, OPD_NOT_FOUND, "Did you mean module_test.add");
  const auto found = root.function("find");
  EXPECT_EQ(found("seven").view().u.pointer, found("seven").view().u.pointer);  // borrowed: stays where it was given
}

TEST(Module, KeepsItsImportsAliveAndListsThem) {
  Function call;
  {
    const Module root = Module::load(library());
    root.add_import(Module::load(library()));
    call = root.function("call");
    opd_array *imports = nullptr;
    check(opd_module_list_imports(root.get(), &imports));
    EXPECT_EQ(opd_array_count(imports), 1u);
    opd_object_release(imports);
  }
  EXPECT_EQ(as_int(call("count")), 1);
  EXPECT_EQ(as_int(call("count")), 2);
}

TEST(Module, RefusesACycleOfImports) {
  const Module a = Module::load(library()), b = Module::load(library()), c = Module::load(library());
  a.add_import(b);
  b.add_import(c);
  expect_error(opd_module_add_import(c.get(), a.get()), OPD_INVALID_ARGUMENT, "imports it already");
  expect_error(opd_module_add_import(a.get(), a.get()), OPD_INVALID_ARGUMENT);
  a.add_import(c);  // two ways to one module are no cycle
  EXPECT_EQ(as_int(b.function("call")("count")), 1);
}

TEST(Module, WorksOnWhenTheOtherOfTwoLoadsIsDropped) {
  Module a = Module::load(library());
  const Module b = Module::load(library());
  b.add_import(a);
  const Function call = b.function("call");
  EXPECT_EQ(as_int(call("count")), 1);
  a = Module();
  EXPECT_EQ(as_int(call("count")), 2);
  EXPECT_EQ(as_int(b.function("count")()), 1);
}

TEST(Module, OfAKindWithoutABackEndKeepsTheRestUsable) {
  // __tvm_ffi__library_bin: size; rows 0 1 1; entry 1; "_lib"; kind "cuda" with the function add_kernel.
  const std::string source = kSource + R"(
const struct __attribute__((packed)) {
  uint64_t size, num_rows, rows[3], num_children, children[1];
  uint64_t kind0_size; char kind0[4];
  uint64_t kind1_size; char kind1[4]; uint64_t bytes_size;
  uint64_t format_size; char format[3];
  uint64_t num_functions, key_size; char key[10]; uint64_t name_size; char name[10];
  uint64_t num_types, num_tags, num_extra, code_size; char code[4];
} __tvm_ffi__library_bin = {sizeof __tvm_ffi__library_bin - 8, 3, {0, 1, 1}, 1, {1}, 4, "_lib", 4, "cuda", 91, 3, "ptx",
                            1, 10, "add_kernel", 10, "add_kernel", 0, 0, 0, 4, "code"};
)";
  const Module module = Module::load(build_library("device", source));
  EXPECT_EQ(as_int(module.function("count")()), 1);
  EXPECT_TRUE(holds(json_of(module), "{\"kind\":\"cuda\",\"file\":\"\",\"supported\":false")) << json_of(module);
  expect_throws([&] { module.function("add_kernel"); }, OPD_UNSUPPORTED, "kind cuda");
  expect_throws([&] { module.function("call")("add_kernel"); }, OPD_UNSUPPORTED, "kind cuda");
  expect_throws([&] { module.function("other"); }, OPD_NOT_FOUND, "other");
}

TEST(Module, RefusesEmbeddedModulesThatTheirSymbolCannotHold) {
  const std::string path =
      build_library("liar", kArtefactHead + "const uint64_t __tvm_ffi__library_bin[2] = {1000, 0};");
  expect_error(load(path), OPD_BAD_FORMAT, "offset 8");
}

// ---- what cannot be loaded

TEST(Module, SaysWhyAFileCannotBeLoaded) {
  expect_error(load("/nonexistent/model.so"), OPD_NOT_FOUND, "/nonexistent/model.so");
  expect_error(load(scratch_folder()), OPD_INVALID_ARGUMENT, "folder");
  expect_error(load(write_text("empty.so", "")), OPD_BAD_FORMAT, "is empty");
  expect_error(load(write_text("noise.bin", "noise and more")), OPD_BAD_FORMAT, "6e 6f 69 73 65 20 61 6e");
  expect_error(load(write_text("noise.so", "noise")), OPD_BAD_FORMAT, "VM executable");
  expect_error(load(write_text("archive.a", "!<arch>\nxxxx")), OPD_UNSUPPORTED, "static library");
  expect_error(load(write_text("model.zip", "PK\x03\x04xxxx")), OPD_UNSUPPORTED, "zip");
  expect_error(load_text(read_bytes(library()).substr(0, 5000)), OPD_BAD_FORMAT, "cut short");
  expect_error(load_text("", "nothing"), OPD_BAD_FORMAT, "nothing is empty");
}

TEST(Module, ObeysTheFormatThatIsAskedFor) {
  auto options = options_with(OPD_COPY_ALWAYS);
  options.format = "so";
  expect_error(load(write_text("text.so", "int x;"), &options), OPD_BAD_FORMAT, "not an ELF file");
  options.format = "tar";
  expect_error(load(library(), &options), OPD_INVALID_ARGUMENT, "so, vmexec and c");
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
}

#if defined(__x86_64__)
TEST(Module, RefusesCodeThatIsChangedWhenItIsLoaded) {
  expect_error(load(build_library("no_pic", "extern int elsewhere; int *__tvm_ffi_f(void) { return &elsewhere; }",
                                  "-fno-pic -mcmodel=large -Wl,-z,notext")),
               OPD_UNSUPPORTED, "compile it with -fPIC");
}
#endif

TEST(Module, FindsLibrariesBesideTheOriginal) {
  std::filesystem::create_directory(scratch_folder() + "/beside");
  const std::string sibling =
      build_library("beside/libsibling", "int sibling(void) { return 42; }", "-Wl,-soname,libsibling.so");
  const std::string path = build_library("beside/user", kArtefactHead + R"(
int sibling(void);
int __tvm_ffi_ask(void *self, const Any *args, int32_t n, Any *result) {
  (void)self, (void)args, (void)n;
  result->type = 1, result->u.i = sibling();
  return 0;
}
)",
                                         "'" + sibling + "' -Wl,-rpath,'$ORIGIN'");
  EXPECT_EQ(as_int(Module::load(path).function("ask")()), 42);
}

// ---- copies

TEST(Module, IsNotDisturbedBySomebodyElseWhoHasTheFileToo) {
  void *theirs = dlopen(library().c_str(), RTLD_LAZY | RTLD_LOCAL);
  ASSERT_NE(theirs, nullptr) << dlerror();
  auto **slot = static_cast<void **>(dlsym(theirs, "__TVMFFIFunctionCall"));
  ASSERT_NE(slot, nullptr);
  for (const auto copy : {OPD_COPY_ALWAYS, OPD_COPY_WHEN_SHARED}) {
    const auto options = options_with(copy);
    const Module ours = Module::load(library(), &options);
    EXPECT_EQ(as_int(ours.function("slots")()), 11);
    EXPECT_EQ(*slot, nullptr);  // theirs is as it was
    EXPECT_TRUE(holds(json_of(ours), "\"private_copy\":true"));
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
    EXPECT_TRUE(holds(json_of(module), "\"private_copy\":false"));
    EXPECT_EQ(as_int(module.function("slots")()), 11);
    expect_throws([&] { module.function("raise")(); }, OPD_CALL_FAILED, "no such key");
  }
  const std::string now = build_library("at_once", kSource, "-Wl,-z,now");
  const auto never = options_with(OPD_COPY_NEVER), shared = options_with(OPD_COPY_WHEN_SHARED);
  expect_error(load(now, &never), OPD_UNSUPPORTED, "without a copy");
  EXPECT_TRUE(holds(json_of(Module::load(now, &shared)), "\"private_copy\":true"));
  const auto wrong = options_with(3);
  expect_error(load(path, &wrong), OPD_INVALID_ARGUMENT, "copy is 3");
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

TEST(Module, IsCopiedToDiskWhereMemoryCannotHoldIt) {
  const std::string folder = scratch_folder() + "/copies", path = library();
  const pid_t child = fork();
  if (child == 0) {
    setenv("OPDYNO_CACHE_DIR", folder.c_str(), 1);
    if (!forbid_memory_files()) _exit(77);
    check(opd_memory_trim({kDLCPU, 0}));  // a copy that was kept would serve
    int good = 0;
    try {
      const Module a = Module::load(path), b = Module::load(path);
      good = as_int(a.function("slots")()) == 11 && as_int(a.function("count")()) == 1 &&
             as_int(b.function("count")()) == 1;
      good = good && holds(json_of(a), "\"private_copy\":true") && std::filesystem::is_empty(folder);
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

TEST(Module, OpensALibraryWithoutTvmNamesAsAnyProgramDoes) {
  for (const auto &[inside, symbol, signature] : {std::tuple{dlsym(RTLD_DEFAULT, "malloc"), "getpid", "i32()"},
                                                  {dlsym(RTLD_DEFAULT, "exp2"), "exp2", "f64(f64)"}}) {
    Dl_info info{};
    ASSERT_NE(dladdr(inside, &info), 0);
    const Module module = Module::load(info.dli_fname);
    EXPECT_TRUE(holds(json_of(module), "\"private_copy\":false,\"functions\":[]")) << json_of(module);
    Function function;
    check(opd_module_native_function(module.get(), symbol, signature, function.out()));
    if (std::string(symbol) == "getpid") EXPECT_EQ(as_int(function()), getpid());
    else EXPECT_EQ(function(3.0).view().u.float64, 8.0);
    expect_throws([&] { module.function("getpid"); }, OPD_NOT_FOUND, "it offers none");
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

// ---- C sources

const std::string kCounter = kArtefactHead + R"(
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
  std::string cache = scratch_folder() + "/cache";
  std::string flags = "-O1 -lm";
  opd_module_options options = options_with(OPD_COPY_ALWAYS);

  SourceTest() {
    std::filesystem::remove_all(cache);
    options.cache_dir = cache.c_str();
    options.c_flags = flags.c_str();
  }
  Module source(const std::string &text) const {
    Module module;
    check(opd_module_load_source(text.c_str(), &options, module.out()));
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
  const auto written = std::filesystem::last_write_time(cached()[0]);
  const Module again = source(kCounter);
  EXPECT_EQ(as_int(again.function("next")()), 1);  // of its own
  EXPECT_EQ(cached().size(), 1u);
  EXPECT_EQ(std::filesystem::last_write_time(cached()[0]), written);
  options.c_flags = "-O1 -DSTEP=10 -lm";
  EXPECT_EQ(as_int(source(kCounter).function("next")()), 10);
  EXPECT_EQ(cached().size(), 2u);
}

TEST_F(SourceTest, IsKeptInAFolderThatIsItsOwners) {
  source(kCounter);
  struct stat info {};
  ASSERT_EQ(stat(cache.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  chmod(cache.c_str(), 0777);
  Module module;
  expect_error(opd_module_load_source(kCounter.c_str(), &options, module.out()), OPD_IO, "others may write");
  options.cache_dir = "/proc/none";
  expect_error(opd_module_load_source(kCounter.c_str(), &options, module.out()), OPD_IO, "/proc/none");
}

TEST_F(SourceTest, IsCompiledAgainWhenWhatWasKeptIsDamaged) {
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

TEST_F(SourceTest, TellsWhatTheCompilerSays) {
  Module module;
  expect_error(opd_module_load_source("int f(void) { return undeclared; }", &options, module.out()), OPD_CALL_FAILED,
               "undeclared");
  const std::string path = write_text("broken.c", "int x;\n\nint f(void) { return wrong; }\n");
  expect_error(load(path, &options), OPD_CALL_FAILED, "broken.c:3:");
  expect_error(opd_module_load_source("void gone(void); void __tvm_ffi_f(void) { gone(); }", &options, module.out()),
               OPD_UNSUPPORTED, "gone");
  options.compiler = "no-such-compiler";
  expect_error(opd_module_load_source(kCounter.c_str(), &options, module.out()), OPD_NOT_FOUND, "no-such-compiler");
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

TEST_F(SourceTest, IsToldByItsSuffixOrItsFormat) {
  EXPECT_EQ(as_int(Module::load(write_text("counter.c", kCounter), &options).function("next")()), 1);
  const std::string path = write_text("counter.txt", kCounter);
  expect_error(load(path, &options), OPD_BAD_FORMAT, "suffix .c");
  options.format = "c";
  EXPECT_EQ(as_int(Module::load(path, &options).function("next")()), 1);
}

TEST_F(SourceTest, MayBeMappedFromTheCacheForProfilers) {
  options.copy = OPD_COPY_NEVER;
  const Module module = source(kCounter);
  EXPECT_TRUE(holds(json_of(module), "\"private_copy\":false"));
  EXPECT_EQ(as_int(module.function("next")()), 1);
}

// ---- arguments of the API

TEST(Module, RefusesNullAndOptionsThatItDoesNotKnow) {
  Module module;
  expect_error(opd_module_load(nullptr, nullptr, module.out()), OPD_INVALID_ARGUMENT);
  expect_error(opd_module_load("x", nullptr, nullptr), OPD_INVALID_ARGUMENT);
  expect_error(opd_module_load_source(nullptr, nullptr, module.out()), OPD_INVALID_ARGUMENT);
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
