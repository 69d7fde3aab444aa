// Conversion of values between Java arrays and the library, and native methods of Values.java and Tensor.java.
#include "core.h"

#include <string>

#include "loans.h"

namespace opdjava {

void Texts::read(JNIEnv *env, jobjectArray array) {
  const jsize count = array ? env->GetArrayLength(array) : 0;
  for (jsize i = 0; i < count; ++i) {
    auto text = static_cast<jbyteArray>(env->GetObjectArrayElement(array, i));
    {
      Bytes bytes;
      bytes.read(env, text);
      texts_.emplace_back(bytes.data(), bytes.data() + bytes.size());
    }
    env->DeleteLocalRef(text);  // a JNI frame has room for only a few local references
  }
  for (const auto &text : texts_) pointers_.push_back(text.empty() ? nullptr : text.data());
}

jsize array_count(JNIEnv *env, uint64_t count, size_t size) {
  if (count <= INT32_MAX) return static_cast<jsize>(count);
  const uint64_t bytes = count * size;
  throw_new(env, "java/lang/IllegalStateException",
            (std::to_string(bytes) + " bytes do not fit into an array of Java, which has at most " +
             std::to_string(uint64_t{INT32_MAX} * size))
                .c_str());
  return -1;
}

jbyteArray bytes_of(JNIEnv *env, const char *data, size_t size) {
  const jsize count = data ? array_count(env, size) : -1;
  jbyteArray bytes = count >= 0 ? env->NewByteArray(count) : nullptr;
  if (bytes) env->SetByteArrayRegion(bytes, 0, count, reinterpret_cast<const jbyte *>(data));
  return bytes;
}

jbyteArray text_of(JNIEnv *env, const char *text) { return bytes_of(env, text, text ? strlen(text) : 0); }

DLTensor *dltensor_of(jlong tensor) {
  return tensor ? opd_tensor_view(reinterpret_cast<const opd_tensor *>(tensor)) : nullptr;
}

void give_words(JNIEnv *env, jlongArray out, const jlong *words, size_t count) {
  if (!env->ExceptionCheck()) env->SetLongArrayRegion(out, 0, static_cast<jsize>(count), words);
}

void give_value(JNIEnv *env, jlongArray out, opd_value value) {
  if (env->ExceptionCheck()) opd_value_release(&value);
  else give_words(env, out, reinterpret_cast<const jlong *>(&value), 2);
}

void give_buffer(JNIEnv *env, jobjectArray out, opd_buffer *buffer) {
  if (!buffer) return;
  if (!env->ExceptionCheck()) {
    jbyteArray bytes = bytes_of(env, opd_buffer_data(buffer), opd_buffer_size(buffer));
    if (bytes) env->SetObjectArrayElement(out, 0, bytes);
  }
  opd_buffer_release(buffer);
}

namespace {

// Makes a tensor of memory that a caller lends for the call. The caller owns the memory. Callbacks.call() ends the
// loan.
opd_error *lend(const DLTensor &lent, opd_value *out) {
  opd_tensor *made = nullptr;
  opd_error *error = opd_tensor_borrow(&lent, &made);
  if (!error) *out = opd_value_of_object(made);
  return error;
}

const opd_tensor *tensor_at(jlong pointer) { return reinterpret_cast<const opd_tensor *>(pointer); }

constexpr char kIllegalState[] = "java/lang/IllegalStateException";

// Returns false with an exception if Java must not access the memory after the call.
bool check_shown(JNIEnv *env, jlong pointer) {
  const opd_tensor *const tensor = tensor_at(pointer);
  if (!check_loan(env, tensor)) return false;
  const char *why = nullptr;
  if (opd_tensor_is_borrowed(tensor)) why = "the tensor is lent for a call; copy what is to be kept";
  else if (dltensor_of(pointer)->device.device_type != kDLCPU) why = "the tensor does not lie on the CPU";
  else if (!opd_tensor_is_contiguous(tensor)) why = "the tensor has gaps between its elements";
  if (why) throw_new(env, kIllegalState, why);
  return !why;
}

void *memory_of(jlong pointer) {
  static char none;
  const DLTensor *view = dltensor_of(pointer);
  return view->data ? static_cast<char *>(view->data) + view->byte_offset : &none;
}

// The shape or the strides of a tensor.
jlongArray axes_of(JNIEnv *env, jlong pointer, int64_t *DLTensor::*numbers) {
  if (!check_loan(env, tensor_at(pointer))) return nullptr;
  const DLTensor *view = dltensor_of(pointer);
  jlongArray axes = env->NewLongArray(view->ndim);
  if (axes) give_words(env, axes, reinterpret_cast<const jlong *>(view->*numbers), static_cast<size_t>(view->ndim));
  return axes;
}

// Counts the bytes of the tensors in a list or map, including nested ones. Of a very large one, only a part is counted.
class HeldBytes {
 public:
  uint64_t of(const opd_value &value, int depth = 0) {
    if (value.type == OPD_TENSOR) return opd_tensor_bytes(reinterpret_cast<const opd_tensor *>(value.u.object));
    uint64_t sum = 0;
    if (depth == kDeepest) return sum;
    if (value.type == OPD_ARRAY) {
      const auto *list = reinterpret_cast<const opd_array *>(value.u.object);
      for (int32_t i = 0; i < opd_array_count(list) && looks_ > 0; ++i)
        sum += of_item([&](opd_value *item) { return opd_array_get(list, i, item); }, depth);
    } else if (value.type == OPD_MAP) {
      const auto *map = reinterpret_cast<const opd_map *>(value.u.object);
      for (int32_t i = 0; i < opd_map_count(map) && looks_ > 0; ++i) {
        opd_value key = opd_none();
        sum += of_item([&](opd_value *item) { return opd_map_entry(map, i, &key, item); }, depth);
        opd_value_release(&key);
      }
    }
    return sum;
  }

 private:
  static constexpr int kDeepest = 8;
  int looks_ = 10'000;

  template <class Get>
  uint64_t of_item(Get get, int depth) {
    --looks_;
    opd_value item = opd_none();
    if (opd_error *error = get(&item)) {
      opd_error_release(error);
      return 0;
    }
    const uint64_t bytes = of(item, depth + 1);
    opd_value_release(&item);
    return bytes;
  }
};

}  // namespace
}  // namespace opdjava

using namespace opdjava;

// Makes an owned string or byte string.
OPDJAVA_NATIVE(void, Values, makeText, jbyteArray data, jboolean is_text, jlongArray out) {
  Bytes bytes;
  bytes.read(env, data);
  opd_value made = opd_none();
  opd_error *error = is_text ? opd_string_create(bytes.data(), bytes.size(), &made)
                             : opd_bytes_create(bytes.data(), bytes.size(), &made);
  if (error) raise(env, error);
  else give_value(env, out, made);
}
OPDJAVA_CATCH(void)

// Returns the bytes of a string or byte string; null for other values.
OPDJAVA_NATIVE(jbyteArray, Values, bytesOf, jlongArray value) {
  Words words;
  words.read(env, value);
  const char *data = nullptr;
  size_t size = 0;
  opd_error *error = opd_string_get(words.values(), &data, &size);
  if (!error) return bytes_of(env, data, size);
  raise(env, error);
  return nullptr;
}
OPDJAVA_CATCH(jbyteArray)

// Makes a borrowed value owned, in place.
OPDJAVA_NATIVE(void, Values, retain, jlongArray value) {
  Words words;
  words.read(env, value);
  opd_value made = opd_none();
  const opd_value &view = *words.values();
  opd_error *error = view.type == OPD_DLTENSOR ? lend(*view.u.dltensor, &made) : opd_value_retain(&view, &made);
  if (error) raise(env, error);
  else give_value(env, value, made);
}
OPDJAVA_CATCH(void)

// Makes the result of a callback owned, in place. A tensor that the caller lent is copied.
OPDJAVA_NATIVE(void, Values, own, jlongArray value) {
  Words words;
  words.read(env, value);
  opd_value made = opd_none();
  opd_error *error = opdrules::own_result(*words.values(), &made);
  if (error) raise(env, error);
  else give_value(env, value, made);
}
OPDJAVA_CATCH(void)

OPDJAVA_NATIVE(void, Values, endBorrow, jlong pointer) {
  opd_tensor_end_borrow(reinterpret_cast<opd_tensor *>(pointer));
}
OPDJAVA_CATCH(void)

OPDJAVA_NATIVE(void, Values, checkLoan, jlong pointer) { check_loan(env, tensor_at(pointer)); }
OPDJAVA_CATCH(void)

OPDJAVA_NATIVE(jlong, Tensor, sizeOf, jlong pointer) {
  return static_cast<jlong>(opd_tensor_bytes(tensor_at(pointer)));
}
OPDJAVA_CATCH(jlong)

OPDJAVA_NATIVE(void, Values, release, jlongArray value) {
  Words words;
  words.read(env, value);
  opd_value copy = *words.values();
  opd_value_release(&copy);
}
OPDJAVA_CATCH(void)

OPDJAVA_NATIVE(void, Handle, releaseObject, jlong pointer) { opd_object_release(reinterpret_cast<void *>(pointer)); }
OPDJAVA_CATCH(void)

OPDJAVA_NATIVE(jlongArray, Values, dimsOf, jlong pointer) {
  const auto *shape = reinterpret_cast<const opd_shape *>(pointer);
  int32_t ndim = 0;
  const int64_t *sizes = opd_shape_dims(shape, &ndim);
  const jsize count = array_count(env, static_cast<size_t>(ndim), sizeof(jlong));
  jlongArray dims = count >= 0 ? env->NewLongArray(count) : nullptr;
  if (dims) give_words(env, dims, reinterpret_cast<const jlong *>(sizes), static_cast<size_t>(count));
  return dims;
}
OPDJAVA_CATCH(jlongArray)

// Sets a metric of the call that ends. The name is a C string.
OPDJAVA_NATIVE(void, Callbacks, setMetric, jlong metrics, jbyteArray name, jint kind, jlongArray value) {
  Bytes name_bytes;
  name_bytes.read(env, name);
  Words words;
  words.read(env, value);
  opd_error *error = opd_metrics_set(reinterpret_cast<opd_metrics *>(metrics), name_bytes.data(),
                                     static_cast<opd_metric_kind>(kind), words.values());
  if (error) raise(env, error);
}
OPDJAVA_CATCH(void)

// Returns the memory of a tensor as a buffer and adds a reference to the tensor. Java releases the reference after the
// buffer.
OPDJAVA_NATIVE(jobject, Tensor, bufferOf, jlong pointer) {
  if (!check_shown(env, pointer)) return nullptr;
  const uint64_t bytes = opd_tensor_bytes(tensor_at(pointer));
  if (bytes > INT32_MAX)
    return throw_new(env, kIllegalState, "the tensor is larger than a buffer of Java can be"), nullptr;
  jobject buffer = env->NewDirectByteBuffer(memory_of(pointer), static_cast<jlong>(bytes));
  if (buffer) opd_object_retain(reinterpret_cast<opd_object *>(pointer));
  return buffer;
}
OPDJAVA_CATCH(jobject)

// Adds a reference to a tensor whose memory Java may access, and returns its address.
OPDJAVA_NATIVE(jlong, Tensor, share, jlong pointer) {
  if (!check_shown(env, pointer)) return 0;
  opd_object_retain(reinterpret_cast<opd_object *>(pointer));
  return pointer;
}
OPDJAVA_CATCH(jlong)

OPDJAVA_NATIVE(jlong, Tensor, addressOf, jlong pointer) { return reinterpret_cast<jlong>(memory_of(pointer)); }
OPDJAVA_CATCH(jlong)

OPDJAVA_NATIVE(jlongArray, Tensor, dimsOf, jlong pointer) { return axes_of(env, pointer, &DLTensor::shape); }
OPDJAVA_CATCH(jlongArray)

OPDJAVA_NATIVE(jlongArray, Tensor, stridesOf, jlong pointer) { return axes_of(env, pointer, &DLTensor::strides); }
OPDJAVA_CATCH(jlongArray)

OPDJAVA_NATIVE(jlong, Tensor, deviceOf, jlong pointer) {
  if (!check_loan(env, tensor_at(pointer))) return 0;
  return pack(dltensor_of(pointer)->device);
}
OPDJAVA_CATCH(jlong)

OPDJAVA_NATIVE(jlong, Tensor, dtypeOf, jlong pointer) {
  if (!check_loan(env, tensor_at(pointer))) return 0;
  return pack(dltensor_of(pointer)->dtype);
}
OPDJAVA_CATCH(jlong)

OPDJAVA_NATIVE(jbyteArray, Tensor, bytesOf, jlong pointer) {
  const opd_tensor *const tensor = tensor_at(pointer);
  if (!check_loan(env, tensor)) return nullptr;
  const uint64_t size = opd_tensor_bytes(tensor);
  if (array_count(env, size) < 0) return nullptr;
  const DLTensor *view = dltensor_of(pointer);
  const bool is_plain = view->device.device_type == kDLCPU && opd_tensor_is_contiguous(tensor);
  if (is_plain && view->data) return bytes_of(env, static_cast<char *>(view->data) + view->byte_offset, size);
  std::vector<char> room(size + 1);  // one byte more, so that it is not empty without elements
  opd_error *error = opd_tensor_copy_to_bytes(tensor, room.data(), size);
  if (!error) return bytes_of(env, room.data(), size);
  raise(env, error);
  return nullptr;
}
OPDJAVA_CATCH(jbyteArray)

OPDJAVA_NATIVE(jlong, Values, heldBytes, jlong pointer) {
  return static_cast<jlong>(HeldBytes().of(opd_value_of_object(reinterpret_cast<void *>(pointer))));
}
OPDJAVA_CATCH(jlong)

OPDJAVA_NATIVE(jint, Values, typeOf, jlong pointer) { return opd_object_type(reinterpret_cast<const void *>(pointer)); }
OPDJAVA_CATCH(jint)
