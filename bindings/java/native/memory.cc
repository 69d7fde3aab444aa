// Native methods that pass memory as an address or a buffer: DLPack tensors, bytes of files, times of benchmarks.
#include <memory>

#include "core.h"

using namespace opdjava;

OPDJAVA_NATIVE(jlong, Tensor, fromDlpack, jlong managed, jboolean is_versioned) {
  opd_tensor *made = nullptr;
  opd_error *error =
      is_versioned ? opd_tensor_from_dlpack_versioned(reinterpret_cast<DLManagedTensorVersioned *>(managed), &made)
                   : opd_tensor_from_dlpack(reinterpret_cast<DLManagedTensor *>(managed), &made);
  if (error) raise(env, error);
  return reinterpret_cast<jlong>(made);
}
OPDJAVA_CATCH(jlong)

namespace {

// A DLPack tensor of a Java buffer, with its shape and a global reference that keeps the buffer alive.
struct OfBuffer {
  DLManagedTensorVersioned managed{};
  std::vector<int64_t> shape;
  jobject buffer = nullptr;

  static void end(DLManagedTensorVersioned *managed) { delete static_cast<OfBuffer *>(managed->manager_ctx); }
  ~OfBuffer() { end_callback(buffer); }
};

}  // namespace

OPDJAVA_NATIVE(jlong, Tensor, ofBuffer, jobject buffer, jlong dtype, jlongArray shape, jboolean is_read_only) {
  auto made = std::make_unique<OfBuffer>();
  Words dims;
  dims.read(env, shape);
  made->shape.assign(dims.data(), dims.data() + dims.size());
  made->buffer = env->NewGlobalRef(buffer);
  made->managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  made->managed.manager_ctx = made.get();
  made->managed.deleter = OfBuffer::end;
  made->managed.flags = is_read_only ? DLPACK_FLAG_BITMASK_READ_ONLY : 0;
  DLTensor &tensor = made->managed.dl_tensor;
  tensor.data = env->GetDirectBufferAddress(buffer);
  tensor.device = {kDLCPU, 0};
  tensor.ndim = static_cast<int32_t>(made->shape.size());
  tensor.shape = made->shape.data();
  unpack(dtype, &tensor.dtype);
  opd_tensor *out = nullptr;
  opd_error *error = opd_tensor_from_dlpack_versioned(&made->managed, &out);
  if (error) return raise(env, error), 0;
  static_cast<void>(made.release());  // the tensor's deleter frees it
  return reinterpret_cast<jlong>(out);
}
OPDJAVA_CATCH(jlong)

// Refuses a tensor that is lent for a call, because the consumer would keep the memory after the call.
OPDJAVA_NATIVE(jlong, Tensor, toDlpack, jlong pointer, jboolean is_versioned) {
  auto *tensor = reinterpret_cast<opd_tensor *>(pointer);
  if (!check_loan(env, tensor)) return 0;
  if (opd_tensor_is_borrowed(tensor)) {
    throw_new(env, "java/lang/IllegalStateException", "the tensor is lent for a call; copy what is to be kept");
    return 0;
  }
  DLManagedTensor *managed = nullptr;
  DLManagedTensorVersioned *versioned = nullptr;
  opd_error *error =
      is_versioned ? opd_tensor_to_dlpack_versioned(tensor, &versioned) : opd_tensor_to_dlpack(tensor, &managed);
  if (error) raise(env, error);
  return is_versioned ? reinterpret_cast<jlong>(versioned) : reinterpret_cast<jlong>(managed);
}
OPDJAVA_CATCH(jlong)

// A global reference keeps the buffer alive as long as the set or a view of the buffer exists.
OPDJAVA_NATIVE(jlong, Params, openBytes, jobject bytes, jlongArray pairs) {
  opd_params_options options;
  opd_params_options_init(&options);
  Options reader;
  if (!reader.read(env, pairs, opdrules::fields_of(&options), "opd_params_options", &options, 0)) return 0;
  jobject kept = env->NewGlobalRef(bytes);
  opd_params *made = nullptr;
  opd_error *error = opd_params_open_bytes(env->GetDirectBufferAddress(bytes),
                                           static_cast<size_t>(env->GetDirectBufferCapacity(bytes)), &options, kept,
                                           end_callback, &made);
  if (error) {
    end_callback(kept);
    raise(env, error);
  }
  return reinterpret_cast<jlong>(made);
}
OPDJAVA_CATCH(jlong)

OPDJAVA_NATIVE(jlong, Params, heldBytes, jlong pointer) {
  const auto *params = reinterpret_cast<const opd_params *>(pointer);
  uint64_t sum = 0;
  for (int32_t i = 0; i < opd_params_count(params); ++i) {
    opd_tensor_info info;
    info.struct_size = sizeof info;
    if (opd_error *error = opd_params_get_info(params, i, &info)) opd_error_release(error);
    else if (!info.is_view) sum += info.bytes;
  }
  return static_cast<jlong>(sum);
}
OPDJAVA_CATCH(jlong)

OPDJAVA_NATIVE(jlong, Benchmark, create, jdoubleArray seconds) {
  const jsize count = env->GetArrayLength(seconds);
  std::vector<double> copy(static_cast<size_t>(count));
  env->GetDoubleArrayRegion(seconds, 0, count, copy.data());
  opd_benchmark *made = nullptr;
  opd_error *error = opd_benchmark_create(copy.data(), count, &made);
  if (error) raise(env, error);
  return reinterpret_cast<jlong>(made);
}
OPDJAVA_CATCH(jlong)

OPDJAVA_NATIVE(jdoubleArray, Benchmark, secondsOf, jlong pointer) {
  int32_t count = 0;
  const double *seconds = opd_benchmark_seconds(reinterpret_cast<const opd_benchmark *>(pointer), &count);
  const jsize size = array_count(env, static_cast<size_t>(count), sizeof(jdouble));
  jdoubleArray made = size >= 0 ? env->NewDoubleArray(size) : nullptr;
  if (made) env->SetDoubleArrayRegion(made, 0, size, seconds);
  return made;
}
OPDJAVA_CATCH(jdoubleArray)
