// Values between Java's arrays and the library, and the natives of Values.java and Tensor.java.
#include "core.h"

#include <string>

#include "loans.h"

namespace opdjava {

void Texts::read(JNIEnv *env, jobjectArray array) {
  const jsize count = array ? env->GetArrayLength(array) : 0;
  for (jsize i = 0; i < count; ++i) {
    auto text = static_cast<jbyteArray>(env->GetObjectArrayElement(array, i));
    Bytes bytes;
    bytes.read(env, text);
    texts_.emplace_back(bytes.data(), bytes.data() + bytes.size());
  }
  for (const auto &text : texts_) pointers_.push_back(text.empty() ? nullptr : text.data());
}

jbyteArray bytes_of(JNIEnv *env, const char *data, size_t size) {
  jbyteArray bytes = data ? env->NewByteArray(static_cast<jsize>(size)) : nullptr;
  if (bytes) env->SetByteArrayRegion(bytes, 0, static_cast<jsize>(size), reinterpret_cast<const jbyte *>(data));
  return bytes;
}

DLTensor *dltensor_of(jlong tensor) {
  return tensor ? opd_tensor_view(reinterpret_cast<const opd_tensor *>(tensor)) : nullptr;
}

void throw_new(JNIEnv *env, const char *kind, const char *message) {
  if (const jclass found = env->FindClass(kind)) env->ThrowNew(found, message);
}

void refuse_null(JNIEnv *env, const char *what) {
  throw_new(env, "java/lang/NullPointerException", (std::string(what) + " must not be null").c_str());
}

void refuse_argument(JNIEnv *env, const char *why) { throw_new(env, "java/lang/IllegalArgumentException", why); }

bool check_loan(JNIEnv *env, const opd_tensor *tensor) {
  if (!opd_tensor_has_ended(tensor)) return true;
  throw_new(env, "java/lang/IllegalStateException",
            "the tensor was lent for a call that has ended; copy what is to be kept");
  return false;
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

// A tensor that a caller lends for the call. Its memory is the caller's: Callbacks.call() ends the loan.
opd_error *lend(const DLTensor &lent, opd_value *out) {
  opd_tensor *made = nullptr;
  opd_error *error = opd_tensor_borrow(&lent, &made);
  if (!error) *out = opd_value_of_object(made);
  return error;
}

const opd_tensor *tensor_at(jlong pointer) { return reinterpret_cast<const opd_tensor *>(pointer); }

}  // namespace
}  // namespace opdjava

using namespace opdjava;

// A string or byte string as an owned value.
OPDJAVA_NATIVE(void, Values, makeText, jbyteArray data, jboolean is_text, jlongArray out) {
  Bytes bytes;
  bytes.read(env, data);
  opd_value made = opd_none();
  opd_error *error = is_text ? opd_string_create(bytes.data(), bytes.size(), &made)
                             : opd_bytes_create(bytes.data(), bytes.size(), &made);
  if (error) raise(env, error);
  else give_value(env, out, made);
}

// The bytes of a string or byte string; null for other values.
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

// Makes a view owned, in place.
OPDJAVA_NATIVE(void, Values, retain, jlongArray value) {
  Words words;
  words.read(env, value);
  opd_value made = opd_none();
  const opd_value &view = *words.values();
  opd_error *error = view.type == OPD_DLTENSOR ? lend(*view.u.dltensor, &made) : opd_value_retain(&view, &made);
  if (error) raise(env, error);
  else give_value(env, value, made);
}

// Makes the result of a callback owned, in place. A tensor of memory that the caller lent is copied.
OPDJAVA_NATIVE(void, Values, own, jlongArray value) {
  Words words;
  words.read(env, value);
  opd_value made = opd_none();
  opd_error *error = opdrules::own_result(*words.values(), &made);
  if (error) raise(env, error);
  else give_value(env, value, made);
}

OPDJAVA_NATIVE(void, Values, endBorrow, jlong pointer) {
  static_cast<void>(env);
  opd_tensor_end_borrow(reinterpret_cast<opd_tensor *>(pointer));
}

OPDJAVA_NATIVE(void, Values, checkLoan, jlong pointer) { check_loan(env, tensor_at(pointer)); }

OPDJAVA_NATIVE(jlong, Tensor, sizeOf, jlong pointer) {
  static_cast<void>(env);
  return static_cast<jlong>(opd_tensor_bytes(tensor_at(pointer)));
}

OPDJAVA_NATIVE(void, Values, release, jlongArray value) {
  Words words;
  words.read(env, value);
  opd_value copy = *words.values();
  opd_value_release(&copy);
}

OPDJAVA_NATIVE(void, Handle, releaseObject, jlong pointer) { opd_object_release(reinterpret_cast<void *>(pointer)); }

OPDJAVA_NATIVE(jlongArray, Values, dimsOf, jlong pointer) {
  const auto *shape = reinterpret_cast<const opd_shape *>(pointer);
  size_t ndim = 0;
  const int64_t *sizes = opd_shape_dims(shape, &ndim);
  const auto count = static_cast<jsize>(ndim);
  jlongArray dims = env->NewLongArray(count);
  if (dims) give_words(env, dims, reinterpret_cast<const jlong *>(sizes), static_cast<size_t>(count));
  return dims;
}

// A metric of the call that ends; the name is a C string.
OPDJAVA_NATIVE(void, Callbacks, setMetric, jlong metrics, jbyteArray name, jint kind, jlongArray value) {
  Bytes name_bytes;
  name_bytes.read(env, name);
  Words words;
  words.read(env, value);
  opd_error *error = opd_metrics_set(reinterpret_cast<opd_metrics *>(metrics), name_bytes.data(),
                                     static_cast<opd_metric_kind>(kind), words.values());
  if (error) raise(env, error);
}

// The memory of a tensor, and a reference to the tensor, which Java ends with the buffer.
OPDJAVA_NATIVE(jobject, Tensor, bufferOf, jlong pointer) {
  const opd_tensor *const tensor = tensor_at(pointer);
  if (!check_loan(env, tensor)) return nullptr;
  const DLTensor *view = dltensor_of(pointer);
  const char *why = nullptr;
  if (opd_tensor_is_borrowed(tensor)) why = "the tensor is lent for a call; copy what is to be kept";
  else if (view->device.device_type != kDLCPU) why = "the tensor does not lie on the CPU";
  else if (!opd_tensor_is_contiguous(tensor)) why = "the tensor has gaps between its elements";
  else if (opd_tensor_bytes(tensor) > INT32_MAX) why = "the tensor is larger than a buffer of Java can be";
  if (why) {
    throw_new(env, "java/lang/IllegalStateException", why);
    return nullptr;
  }
  static char none;
  void *data = view->data ? static_cast<char *>(view->data) + view->byte_offset : &none;
  jobject buffer = env->NewDirectByteBuffer(data, static_cast<jlong>(opd_tensor_bytes(tensor)));
  if (buffer) opd_object_retain(reinterpret_cast<opd_object *>(pointer));
  return buffer;
}

OPDJAVA_NATIVE(jlongArray, Tensor, dimsOf, jlong pointer) {
  if (!check_loan(env, tensor_at(pointer))) return nullptr;
  const DLTensor *view = dltensor_of(pointer);
  jlongArray dims = env->NewLongArray(view->ndim);
  if (dims) give_words(env, dims, reinterpret_cast<const jlong *>(view->shape), static_cast<size_t>(view->ndim));
  return dims;
}

OPDJAVA_NATIVE(jlong, Tensor, dtypeOf, jlong pointer) {
  if (!check_loan(env, tensor_at(pointer))) return 0;
  return pack(dltensor_of(pointer)->dtype);
}

OPDJAVA_NATIVE(jbyteArray, Tensor, bytesOf, jlong pointer) {
  const opd_tensor *const tensor = tensor_at(pointer);
  if (!check_loan(env, tensor)) return nullptr;
  std::vector<char> copy(opd_tensor_bytes(tensor));
  opd_error *error = opd_tensor_copy_to_bytes(tensor, copy.data(), copy.size());
  if (!error) return bytes_of(env, copy.data() ? copy.data() : "", copy.size());
  raise(env, error);
  return nullptr;
}

OPDJAVA_NATIVE(jint, Values, typeOf, jlong pointer) {
  static_cast<void>(env);
  return opd_object_type(reinterpret_cast<const void *>(pointer));
}
