// The headers for C code that TVM generated, for machines without TVM. They declare only what generated code uses, as
// tvm-ffi's C interface and DLPack define it. If the flags name a directory of the real headers, these are found first.
#include <sys/stat.h>

#include <cerrno>

#include "base/file.h"
#include "module/toolchain/toolchain.h"

namespace opd {
namespace {

constexpr const char *kDlpack = R"(#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_
#include <stddef.h>
#include <stdint.h>
typedef enum { kDLCPU = 1, kDLCUDA = 2, kDLCUDAHost = 3, kDLOpenCL = 4, kDLVulkan = 7, kDLMetal = 8, kDLROCM = 10 } DLDeviceType;
typedef enum { kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLOpaqueHandle = 3, kDLBfloat = 4, kDLComplex = 5, kDLBool = 6 } DLDataTypeCode;
typedef struct { int32_t device_type; int32_t device_id; } DLDevice;
typedef struct { uint8_t code; uint8_t bits; uint16_t lanes; } DLDataType;
typedef struct {
  void *data; DLDevice device; int32_t ndim; DLDataType dtype; int64_t *shape; int64_t *strides; uint64_t byte_offset;
} DLTensor;
#endif
)";

constexpr const char *kFfi = R"(#ifndef TVM_FFI_C_API_H_
#define TVM_FFI_C_API_H_
#include <dlpack/dlpack.h>
#define TVM_FFI_DLL __attribute__((visibility("default")))
#define TVM_FFI_DLL_EXPORT __attribute__((visibility("default")))
enum {
  kTVMFFINone = 0, kTVMFFIInt = 1, kTVMFFIBool = 2, kTVMFFIFloat = 3, kTVMFFIOpaquePtr = 4, kTVMFFIDataType = 5,
  kTVMFFIDevice = 6, kTVMFFIDLTensorPtr = 7, kTVMFFIRawStr = 8, kTVMFFIByteArrayPtr = 9, kTVMFFIObjectRValueRef = 10,
  kTVMFFISmallStr = 11, kTVMFFISmallBytes = 12, kTVMFFIStaticObjectBegin = 64, kTVMFFIObject = 64, kTVMFFIStr = 65,
  kTVMFFIBytes = 66, kTVMFFIError = 67, kTVMFFIFunction = 68, kTVMFFIShape = 69, kTVMFFITensor = 70, kTVMFFIArray = 71,
  kTVMFFIMap = 72, kTVMFFIModule = 73
};
typedef void *TVMFFIObjectHandle;
typedef struct { const char *data; size_t size; } TVMFFIByteArray;
typedef struct {
  int32_t type_index;
  union { uint32_t zero_padding; uint32_t small_str_len; };
  union {
    int64_t v_int64; double v_float64; void *v_ptr; const char *v_c_str; void *v_obj; DLDataType v_dtype;
    DLDevice v_device; char v_bytes[8]; uint64_t v_uint64;
  };
} TVMFFIAny;
typedef int (*TVMFFISafeCallType)(void *handle, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result);
#ifdef __cplusplus
extern "C" {
#endif
int TVMFFIFunctionCall(TVMFFIObjectHandle func, TVMFFIAny *args, int32_t num_args, TVMFFIAny *result);
int TVMFFIObjectIncRef(TVMFFIObjectHandle obj);
int TVMFFIObjectDecRef(TVMFFIObjectHandle obj);
void TVMFFIErrorSetRaised(TVMFFIObjectHandle error);
void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message);
void TVMFFIErrorSetRaisedFromCStrParts(const char *kind, const char **message_parts, int32_t num_parts);
int TVMFFIHandleInitOnce(void **handle_addr, int (*init_func)(void **result));
int TVMFFIHandleDeinitOnce(void **handle_addr, int (*deinit_func)(void *handle));
#ifdef __cplusplus
}
#endif
#endif
)";

constexpr const char *kEnvironment = R"(#ifndef TVM_FFI_EXTRA_C_ENV_API_H_
#define TVM_FFI_EXTRA_C_ENV_API_H_
#include <tvm/ffi/c_api.h>
#ifdef __cplusplus
extern "C" {
#endif
int TVMFFIEnvModLookupFromImports(TVMFFIObjectHandle library_ctx, const char *func_name, TVMFFIObjectHandle *out);
int TVMFFIEnvModRegisterSystemLibSymbol(const char *name, void *symbol);
int TVMFFIEnvSetStream(int32_t device_type, int32_t device_id, void *stream, void **out_original);
void *TVMFFIEnvGetStream(int32_t device_type, int32_t device_id);
int TVMFFIEnvTensorAlloc(DLTensor *prototype, TVMFFIObjectHandle *out);
#ifdef __cplusplus
}
#endif
#endif
)";

constexpr const char *kBase = R"(#ifndef TVM_RUNTIME_BASE_H_
#define TVM_RUNTIME_BASE_H_
#include <tvm/ffi/c_api.h>
#define TVM_DLL __attribute__((visibility("default")))
#define TVM_DLL_EXPORT __attribute__((visibility("default")))
#define TVM_RUNTIME_DLL __attribute__((visibility("default")))
#endif
)";

// Pointers to structures are void pointers here, because generated code only passes them on.
constexpr const char *kBackend = R"(#ifndef TVM_RUNTIME_C_BACKEND_API_H_
#define TVM_RUNTIME_C_BACKEND_API_H_
#include <tvm/runtime/base.h>
typedef struct { void *sync_handle; int32_t num_task; } TVMParallelGroupEnv;
typedef int (*FTVMParallelLambda)(int task_id, TVMParallelGroupEnv *penv, void *cdata);
#ifdef __cplusplus
extern "C" {
#endif
int TVMBackendGetFuncFromEnv(void *mod_node, const char *func_name, TVMFFIObjectHandle *out);
void *TVMBackendAllocWorkspace(int device_type, int device_id, uint64_t nbytes, int dtype_code_hint, int dtype_bits_hint);
int TVMBackendFreeWorkspace(int device_type, int device_id, void *ptr);
int TVMBackendParallelLaunch(FTVMParallelLambda flambda, void *cdata, int num_task);
int TVMBackendParallelBarrier(int task_id, TVMParallelGroupEnv *penv);
int TVMBackendAnyListSetPackedArg(void *list, int index, void *args, int offset);
int TVMBackendAnyListResetItem(void *list, int index);
int TVMBackendAnyListMoveFromPackedReturn(void *list, int index, void *args, int offset);
#ifdef __cplusplus
}
#endif
#endif
)";

}  // namespace

std::vector<std::string> write_tvm_headers(const BuildDirectory &build) {
  const std::string root = build.file("include");
  for (const char *directory : {"", "/dlpack", "/tvm", "/tvm/ffi", "/tvm/ffi/extra", "/tvm/runtime"})
    if (::mkdir((root + directory).c_str(), 0700) && errno != EEXIST)
      fail_errno("cannot make a directory in", build.path(), errno);
  write_scratch_file(root + "/dlpack/dlpack.h", kDlpack);
  write_scratch_file(root + "/tvm/ffi/c_api.h", kFfi);
  write_scratch_file(root + "/tvm/ffi/extra/c_env_api.h", kEnvironment);
  write_scratch_file(root + "/tvm/runtime/base.h", kBase);
  write_scratch_file(root + "/tvm/runtime/c_backend_api.h", kBackend);
  return {"-idirafter", root};
}

}  // namespace opd
