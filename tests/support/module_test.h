// What the tests of modules share: a library that shows what it was wired to, and short ways to load and describe one.
#pragma once
#include "support/c_artifact.h"
#include "support/opdyno_test.h"

namespace opdyno_test {

// Functions that show what their library was wired to.
inline const std::string kSource = kArtifactHead + R"(
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

inline const std::string &library() {
  static const std::string path = build_library("library", kSource);
  return path;
}

inline int64_t as_int(const Value &value) {
  EXPECT_EQ(value.type(), int{OPD_INT});
  return value.view().u.int64;
}

inline opd_module_options options_with(opd_copy_policy copy) {
  opd_module_options options;
  opd_module_options_init(&options);
  options.copy = copy;
  return options;
}

// The strings that opd_module_list_functions(), say, gives.
inline std::vector<std::string> names_of(const Module &module,
                                         opd_error *(*list)(opd_module *, opd_array **) = opd_module_list_functions) {
  opd_array *array = nullptr;
  check(list(module.get(), &array));
  std::vector<std::string> names;
  for (int32_t i = 0; i < opd_array_count(array); ++i) {
    Value item;
    const char *data;
    size_t size;
    check(opd_array_get(array, i, item.out()));
    check(opd_string_get(&item.view(), &data, &size));
    names.emplace_back(data, size);
  }
  opd_object_release(array);
  return names;
}

inline opd_error *load(const std::string &path, const opd_module_options *options = nullptr) {
  Module module;
  return opd_module_load(path.c_str(), options, module.out());
}
inline opd_error *load_text(const std::string &bytes, const char *name = "memory.so") {
  Module module;
  return opd_module_load_bytes(bytes.data(), bytes.size(), name, nullptr, module.out());
}
inline Module echo_program() { return Executable::assemble(".func main(x) {\n  ret %x\n}\n").to_module(); }

// A library of the C function half(), which has a signature.
inline Module native_half(const std::string &name) {
  const std::string path = build_library(name, "double half(double x) { return x / 2; }\n");
  const char *names[] = {"half"}, *signatures[] = {"f64(f64)"};
  Module module;
  check(opd_module_load_native(path.c_str(), names, signatures, 1, nullptr, module.out()));
  return module;
}

inline std::string json_of(const Module &module) { return text_of(opd_module_to_json, module.get()); }
inline bool holds(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

}  // namespace opdyno_test
