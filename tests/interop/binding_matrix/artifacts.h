// C sources of the libraries that the binding matrix loads: two artifacts, and a stand-in for TVM's own libraries.
#pragma once

// As TVM compiles kernels: direct references for errors, slots for the rest.
inline constexpr const char *kKernels = R"(
#include <stdint.h>
typedef struct { int32_t type; uint32_t length; union { int64_t i; void *p; } u; } Any;
extern void TVMFFIErrorSetRaisedFromCStrParts(const char *kind, const char **parts, int32_t num_parts);
__attribute__((weak)) int (*__TVMFFIFunctionCall)(void *, Any *, int32_t, Any *);
__attribute__((weak)) int (*__TVMFFIEnvModLookupFromImports)(void *, const char *, void **);
__attribute__((weak)) void *__tvm_ffi__library_ctx;
static const char *parts[] = {"from ", "the artifact"};
static void (*volatile by_pointer)(const char *, const char **, int32_t) = TVMFFIErrorSetRaisedFromCStrParts;
int __tvm_ffi_fail(void *self, const Any *args, int32_t n, Any *result) {
  (void)self, (void)args, (void)n, (void)result;
  TVMFFIErrorSetRaisedFromCStrParts("ValueError", parts, 2);
  return -1;
}
int __tvm_ffi_fail_by_pointer(void *self, const Any *args, int32_t n, Any *result) {
  (void)self, (void)args, (void)n, (void)result;
  by_pointer("ValueError", parts, 2);
  return -1;
}
int __tvm_ffi_look_up(void *self, const Any *args, int32_t n, Any *result) {
  (void)self, (void)n;
  void *function = 0;
  if (__TVMFFIEnvModLookupFromImports(__tvm_ffi__library_ctx, "matrix.add", &function)) return -1;
  return __TVMFFIFunctionCall(function, (Any *)args, n, result);
}
)";

// As TVM compiles VM functions in its compiled mode: lists of values through more direct references.
inline constexpr const char *kCompiledMode = R"(
extern int TVMBackendAnyListSetPackedArg(void *list, int32_t index, Any *args, int32_t place);
extern int TVMBackendAnyListMoveFromPackedReturn(void *list, int32_t index, Any *args, int32_t place);
extern int TVMBackendAnyListResetItem(void *list, int32_t index);
int __tvm_ffi___vmtir__main(void *self, const Any *args, int32_t n, Any *result) {
  /* registers[2] = registers[0] + constants[0] */
  (void)result;
  Any stack[3] = {{0}};
  void *function = 0;
  if (n != 4) return __tvm_ffi_fail(self, args, n, result);
  if (TVMBackendAnyListSetPackedArg(args[1].u.p, 0, stack, 0)) return -1;
  if (TVMBackendAnyListSetPackedArg(args[2].u.p, 0, stack, 1)) return -1;
  if (__TVMFFIEnvModLookupFromImports(__tvm_ffi__library_ctx, "matrix.add", &function)) return -1;
  if (__TVMFFIFunctionCall(function, stack, 2, &stack[2])) return -1;
  if (TVMBackendAnyListMoveFromPackedReturn(args[1].u.p, 2, stack, 2)) return -1;
  return TVMBackendAnyListResetItem(args[1].u.p, 0);
}
)";

// Exports TVM's names and counts who arrives; loads artifacts in place, as TVM does.
inline constexpr const char *kStandIn = R"(
#include <dlfcn.h>
#include <stdint.h>
static int hits;
#define NAME(name) int name(void) { ++hits; return -1; }
NAME(TVMFFIErrorSetRaisedFromCStrParts) NAME(TVMFFIErrorSetRaisedFromCStr) NAME(TVMFFIFunctionCall)
NAME(TVMFFIEnvModLookupFromImports) NAME(TVMFFIHandleInitOnce) NAME(TVMBackendGetFuncFromEnv) NAME(TVMBackendAllocWorkspace) NAME(TVMBackendFreeWorkspace)
NAME(TVMBackendParallelLaunch) NAME(TVMBackendParallelBarrier) NAME(TVMBackendAnyListSetPackedArg)
NAME(TVMBackendAnyListMoveFromPackedReturn) NAME(TVMBackendAnyListResetItem)
int stand_in_hits(void) { return hits; }
void *stand_in_load(const char *path) {
  void *handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL), **slot;
  if (!handle) return 0;
  if ((slot = dlsym(handle, "__TVMFFIFunctionCall"))) *slot = (void *)TVMFFIFunctionCall;
  if ((slot = dlsym(handle, "__TVMFFIEnvModLookupFromImports"))) *slot = (void *)TVMFFIEnvModLookupFromImports;
  if ((slot = dlsym(handle, "__tvm_ffi__library_ctx"))) *slot = handle;
  return handle;
}
)";
