// libopdyno_tvmffi: exports TVM's C functions by name, for programs with linked objects that call them. It has no
// state. Each function forwards to libopdyno, which costs an indirect call.
#include <cstdint>

#include "base/error.h"
#include "tvmffi/private.h"

// Pointers to objects are void * here. The real functions accept that, but clang's function sanitizer would report it.
#ifdef __clang__
#define OPD_UNTYPED __attribute__((no_sanitize("function")))
#pragma clang diagnostic ignored \
    "-Wreturn-type-c-linkage"  // for clang, a ByteArray with initial values is not a C type
#else
#define OPD_UNTYPED
#endif
#define FORWARD(result, name, parameters, arguments)                                                      \
  extern "C" __attribute__((visibility("default"))) OPD_UNTYPED result name parameters {                  \
    static const auto forward = reinterpret_cast<result(*) parameters>(opd_private_tvmffi_symbol(#name)); \
    return forward arguments;                                                                             \
  }

// Errors
FORWARD(void, TVMFFIErrorSetRaisedFromCStr, (const char *kind, const char *message), (kind, message))
FORWARD(void, TVMFFIErrorSetRaisedFromCStrParts, (const char *kind, const char **parts, int32_t n), (kind, parts, n))
FORWARD(void, TVMFFIErrorSetRaised, (void *error), (error))
FORWARD(void, TVMFFIErrorMoveFromRaised, (void **out), (out))
FORWARD(int, TVMFFIErrorCreate, (const void *kind, const void *message, const void *backtrace, void **out),
        (kind, message, backtrace, out))

FORWARD(int, TVMFFIErrorCreateWithCauseAndExtraContext,
        (const void *kind, const void *message, const void *backtrace, void *cause, void *context, void **out),
        (kind, message, backtrace, cause, context, out))
FORWARD(const void *, TVMFFIBacktrace, (const char *file, int line, const char *function, int crossing),
        (file, line, function, crossing))

// Functions
FORWARD(int, TVMFFIFunctionCall, (void *function, void *args, int32_t n, void *result), (function, args, n, result))
FORWARD(int, TVMFFIFunctionCreate, (void *self, void *call, void (*end)(void *), void **out), (self, call, end, out))
FORWARD(int, TVMFFIFunctionGetGlobal, (const void *name, void **out), (name, out))
FORWARD(int, TVMFFIFunctionSetGlobal, (const void *name, void *function, int again), (name, function, again))

FORWARD(int, TVMFFIFunctionSetGlobalFromMethodInfo, (const void *method, int again), (method, again))

// Environment
FORWARD(int, TVMFFIEnvModLookupFromImports, (void *context, const char *name, void **out), (context, name, out))
FORWARD(int, TVMBackendGetFuncFromEnv, (void *context, const char *name, void **out), (context, name, out))
FORWARD(int, TVMFFIEnvModRegisterSystemLibSymbol, (const char *name, void *address), (name, address))
FORWARD(int, TVMFFIHandleInitOnce, (void **handle, int (*init)(void **)), (handle, init))
FORWARD(int, TVMFFIHandleDeinitOnce, (void **handle, int (*end)(void *)), (handle, end))
FORWARD(int, TVMFFIEnvCheckSignals, (), ())
FORWARD(void *, TVMFFIEnvGetStream, (int32_t type, int32_t id), (type, id))
FORWARD(int, TVMFFIEnvSetStream, (int32_t type, int32_t id, void *stream, void **out), (type, id, stream, out))

FORWARD(int, TVMFFIEnvRegisterCAPI, (const char *name, void *function), (name, function))
FORWARD(int, TVMFFIEnvModRegisterContextSymbol, (const char *name, void *symbol), (name, symbol))
FORWARD(void *, TVMFFIEnvGetDLPackManagedTensorAllocator, (), ())
FORWARD(int, TVMFFIEnvSetDLPackManagedTensorAllocator, (void *maker, int for_process, void **out),
        (maker, for_process, out))
FORWARD(void, TVMFFIGetVersion, (void *out), (out))
FORWARD(void *, TVMFFIGetCustomAllocator, (), ())
FORWARD(int, TVMFFISetCustomAllocator, (void *allocator), (allocator))

// Types
FORWARD(int, TVMFFITypeKeyToIndex, (const void *key, int32_t *out), (key, out))
FORWARD(int32_t, TVMFFITypeGetOrAllocIndex,
        (const void *key, int32_t index, int32_t depth, int32_t slots, int32_t overflow, int32_t parent),
        (key, index, depth, slots, overflow, parent))
FORWARD(const void *, TVMFFIGetTypeInfo, (int32_t index), (index))
FORWARD(int, TVMFFITypeRegisterField, (int32_t type, const void *field), (type, field))
FORWARD(int, TVMFFITypeRegisterMethod, (int32_t type, const void *method), (type, method))
FORWARD(int, TVMFFITypeRegisterMetadata, (int32_t type, const void *metadata), (type, metadata))
FORWARD(int, TVMFFITypeRegisterAttr, (int32_t type, const void *name, const void *value), (type, name, value))
FORWARD(const void *, TVMFFIGetTypeAttrColumn, (const void *name), (name))

// Objects
FORWARD(int, TVMFFIObjectCreateOpaque, (void *handle, int32_t type, void (*end)(void *), void **out),
        (handle, type, end, out))
FORWARD(int, TVMFFIBigIntFromByteArray, (const void *bytes, void *out), (bytes, out))
FORWARD(opd::ByteArray, TVMFFIBigIntGetContentByteArray, (const void *value), (value))
FORWARD(int, TVMFFIObjectIncRef, (void *object), (object))
FORWARD(int, TVMFFIObjectDecRef, (void *object), (object))
FORWARD(int, TVMFFIAnyViewToOwnedAny, (const void *view, void *out), (view, out))
FORWARD(int, TVMFFIStringFromByteArray, (const void *bytes, void *out), (bytes, out))
FORWARD(int, TVMFFIBytesFromByteArray, (const void *bytes, void *out), (bytes, out))
FORWARD(int, TVMFFIDataTypeFromString, (const void *text, void *out), (text, out))
FORWARD(int, TVMFFIDataTypeToString, (const void *dtype, void *out), (dtype, out))

// Tensors
FORWARD(int, TVMFFIEnvTensorAlloc, (void *prototype, void **out), (prototype, out))
FORWARD(int, TVMFFITensorCreateUnsafeView, (void *source, const void *prototype, void **out), (source, prototype, out))
FORWARD(int, TVMFFITensorFromDLPack, (void *from, int32_t align, int32_t dense, void **out), (from, align, dense, out))
FORWARD(int, TVMFFITensorFromDLPackVersioned, (void *from, int32_t align, int32_t dense, void **out),
        (from, align, dense, out))
FORWARD(int, TVMFFITensorToDLPack, (void *tensor, void **out), (tensor, out))
FORWARD(int, TVMFFITensorToDLPackVersioned, (void *tensor, void **out), (tensor, out))

// Services for kernels
FORWARD(void *, TVMBackendAllocWorkspace, (int type, int id, uint64_t bytes, int code, int bits),
        (type, id, bytes, code, bits))
FORWARD(int, TVMBackendFreeWorkspace, (int type, int id, void *data), (type, id, data))
FORWARD(int, TVMBackendParallelLaunch, (int (*task)(int, void *, void *), void *data, int n), (task, data, n))
FORWARD(int, TVMBackendParallelBarrier, (int id, void *group), (id, group))

// Lists of values
FORWARD(int, TVMBackendAnyListSetPackedArg, (void *list, int index, void *args, int place), (list, index, args, place))
FORWARD(int, TVMBackendAnyListResetItem, (void *list, int index), (list, index))
FORWARD(int, TVMBackendAnyListMoveFromPackedReturn, (void *list, int index, void *args, int place),
        (list, index, args, place))
