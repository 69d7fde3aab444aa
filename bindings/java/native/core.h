// Declarations of the Java binding's native code. SWIG's typemaps use them to read Java arrays during a call, to write
// results into arrays, and to throw errors as exceptions. Also declares callbacks and Java stacks.
#pragma once
#include <jni.h>
#include <opdyno/opdyno.h>

#include <cstring>
#include <forward_list>
#include <initializer_list>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "options.h"

// Begins a static native method of a Java class. OPDJAVA_CATCH ends its body, because a C++ exception that leaves the
// method ends the JVM. make.py adds the same handler to SWIG's code.
#define OPDJAVA_NATIVE(RESULT, CLASS, METHOD, ...)                                                            \
  extern "C" JNIEXPORT RESULT JNICALL Java_io_opdyno_##CLASS##_##METHOD([[maybe_unused]] JNIEnv *env, jclass, \
                                                                        ##__VA_ARGS__) try
#define OPDJAVA_CATCH(RESULT)    \
  catch (...) {                  \
    opdjava::raise_current(env); \
    return RESULT();             \
  }

namespace opdjava {

// The numbers of a long[] during a call; empty for null.
class Words {
 public:
  Words() = default;
  Words(const Words &) = delete;
  ~Words() {
    if (words_) env_->ReleaseLongArrayElements(array_, words_, JNI_ABORT);
  }
  void read(JNIEnv *env, jlongArray array) {
    if (!array) return;
    env_ = env, array_ = array, words_ = env->GetLongArrayElements(array, nullptr);
    if (!words_) throw std::bad_alloc();
    size_ = env->GetArrayLength(array);
  }
  const int64_t *data() const { return reinterpret_cast<const int64_t *>(words_); }
  jsize size() const { return size_; }
  const opd_value *values() const { return reinterpret_cast<const opd_value *>(words_); }  // two words for each value
  jsize count() const { return size_ / 2; }

 private:
  JNIEnv *env_ = nullptr;
  jlongArray array_ = nullptr;
  jlong *words_ = nullptr;
  jsize size_ = 0;
};
static_assert(sizeof(opd_value) == 2 * sizeof(jlong) && sizeof(int64_t) == sizeof(jlong));

// The bytes of a byte[] during a call; data() is null for null.
class Bytes {
 public:
  Bytes() = default;
  Bytes(const Bytes &) = delete;
  ~Bytes() {
    if (bytes_) env_->ReleaseByteArrayElements(array_, bytes_, JNI_ABORT);
  }
  void read(JNIEnv *env, jbyteArray array) {
    if (!array) return;
    env_ = env, array_ = array, bytes_ = env->GetByteArrayElements(array, nullptr);
    if (!bytes_) throw std::bad_alloc();
    size_ = static_cast<size_t>(env->GetArrayLength(array));
  }
  const char *data() const { return reinterpret_cast<const char *>(bytes_); }
  size_t size() const { return size_; }

 private:
  JNIEnv *env_ = nullptr;
  jbyteArray array_ = nullptr;
  jbyte *bytes_ = nullptr;
  size_t size_ = 0;
};

// The C strings of a byte[][] during a call.
class Texts {
 public:
  void read(JNIEnv *env, jobjectArray array);
  const char **data() { return pointers_.data(); }
  size_t size() const { return pointers_.size(); }

 private:
  std::vector<std::vector<char>> texts_;
  std::vector<const char *> pointers_;
};

// Reads options from alternating names and values into a struct that has its defaults. Pointers in the struct are valid
// as long as this object and the values exist.
class Options {
 public:
  // Returns false with an exception that names the wrong option. `what` names the struct. `num_args` is the number of
  // the call's arguments.
  bool read(JNIEnv *env, jlongArray pairs, const opdrules::Fields &fields, const char *what, void *options,
            int32_t num_args);

 private:
  const char *text(const opd_value &value);
  void set(const opdrules::Field &field, const opd_value &value, void *options);
  template <class T, class Read>
  void set_list(const opdrules::Field &field, const opd_value &value, void *options, Read read);
  void check_likes(const opdrules::Fields &fields, const void *options, int32_t num_args) const;

  opdrules::Lists lists_;
  std::forward_list<std::string> texts_;
  std::vector<std::pair<const opdrules::Field *, size_t>> likes_;  // lists whose size another list determines
};

// Pack structs that fit into a long, which are dtypes and devices, and unpack them.
template <class T>
jlong pack(const T &plain) {
  jlong word = 0;
  static_assert(sizeof plain <= sizeof word);
  std::memcpy(&word, &plain, sizeof plain);
  return word;
}
template <class T>
void unpack(jlong word, T *out) {
  std::memcpy(out, &word, sizeof *out);
}

// Copies data to a new Java array; null for null. Returns null with an exception if Java lacks memory or the array
// would be too large.
jbyteArray bytes_of(JNIEnv *env, const char *data, size_t size);
jbyteArray text_of(JNIEnv *env, const char *text);  // the text without the 0 byte
// The number of elements of an array, each of which has `size` bytes. If no array can be that large: -1 with an
// exception.
jsize array_count(JNIEnv *env, uint64_t count, size_t size = 1);
DLTensor *dltensor_of(jlong tensor);

// Copies outputs into a Java array; does nothing while an exception is pending.
void give_words(JNIEnv *env, jlongArray out, const jlong *words, size_t count);
inline void give(JNIEnv *env, jlongArray out, std::initializer_list<jlong> words) {
  give_words(env, out, words.begin(), words.size());
}
void give_value(JNIEnv *env, jlongArray out, opd_value value);        // takes ownership of the value
void give_buffer(JNIEnv *env, jobjectArray out, opd_buffer *buffer);  // takes ownership of the buffer

void throw_new(JNIEnv *env, const char *kind, const char *message);  // kind: "java/lang/…"
void raise_current(JNIEnv *env);                                     // raises the C++ exception that is being handled
void refuse_null(JNIEnv *env, const char *what);                     // throws a NullPointerException
void refuse_argument(JNIEnv *env, const char *why);                  // throws an IllegalArgumentException
// Returns false with an IllegalStateException if the tensor was lent for a call that has ended.
bool check_loan(JNIEnv *env, const opd_tensor *tensor);
template <class T>
bool check_loan(JNIEnv *, const T *) {  // other handles are not lent
  return true;
}
void raise(JNIEnv *env, opd_error *error);            // throws the error as an exception; takes ownership
jthrowable thrown_by(JNIEnv *env, opd_error *error);  // the exception that raise() throws; null if Java lacks memory
opd_error *error_of(JNIEnv *env, jthrowable thrown);  // when the error is raised, this exception is thrown again

// Callbacks for the library. Their user_data is a global reference to a Java object.
opd_error *call_packed(void *function, const opd_value *args, int32_t num_args, opd_value *out_result);
void call_log(void *logger, opd_log_level level, const char *message);
void end_callback(void *object);
opd_collector_table collector_table(JNIEnv *env, jobject collector);

// The Java classes and methods that native code uses. They are looked up when the library is loaded.
struct Java {
  JavaVM *vm;
  jclass callbacks, exception, host_stack, bytes;
  jmethodID call, call_through, log, init, start, stop, describe, make, frames;
};
extern Java java;

// ---- the Java stack, in java_stack.cc

// The Java stack of the calling thread; empty while an exception is pending, or if Java fails to walk the stack.
std::vector<opd_stack_frame> java_stack(JNIEnv *env);

// While an object of this class exists, the stacks that profilers record contain the Java methods. The constructor is
// inlined, because the address of its caller separates this native frame from the outer frames of the interpreter and
// of compiled methods.
class JavaStack {
 public:
  [[gnu::always_inline]] explicit JavaStack(JNIEnv *env) {
    if (!opd_stack_is_recorded()) [[likely]]
      return;
    const std::vector<opd_stack_frame> frames = java_stack(env);
    opd_stack_push(frames.data(), static_cast<int32_t>(frames.size()));
    is_pushed_ = true;
  }
  JavaStack(const JavaStack &) = delete;
  ~JavaStack() {
    if (is_pushed_) opd_stack_pop();
  }

 private:
  bool is_pushed_ = false;
};

}  // namespace opdjava
