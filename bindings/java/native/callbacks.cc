// Java callbacks for the library: packed functions, logs and collectors. They run on the thread on which native code
// calls them. Also initialises the native library.
#include <algorithm>
#include <memory>
#include <mutex>
#include <new>

#include "area.h"
#include "core.h"

namespace opdjava {

Java java;

namespace {

// JNIEnv of the calling thread. A native thread is attached at first use and stays attached until it exits.
JNIEnv *environment() {
  void *env = nullptr;
  if (java.vm->GetEnv(&env, JNI_VERSION_10) == JNI_OK) return static_cast<JNIEnv *>(env);
  if (java.vm->AttachCurrentThreadAsDaemon(&env, nullptr) != JNI_OK) return nullptr;
  struct Detach {
    ~Detach() { java.vm->DetachCurrentThread(); }
  };
  static thread_local const Detach at_thread_end;
  static_cast<void>(at_thread_end);
  return static_cast<JNIEnv *>(env);
}

struct LocalFrame {
  JNIEnv *env;
  const bool good;
  explicit LocalFrame(JNIEnv *entered) : env(entered), good(entered->PushLocalFrame(16) == 0) {}
  LocalFrame(const LocalFrame &) = delete;
  ~LocalFrame() {
    if (good) env->PopLocalFrame(nullptr);
  }
};

opd_error *java_has_ended() { return opd_error_create(OPD_FAILED_PRECONDITION, "RuntimeError", "Java has ended"); }

opd_error *take_exception(JNIEnv *env) {
  jthrowable thrown = env->ExceptionOccurred();
  env->ExceptionClear();
  return thrown ? error_of(env, thrown)
                : opd_error_create(OPD_OUT_OF_MEMORY, nullptr, "Java has no memory for a callback");
}

}  // namespace

namespace {

opd_error *thrown_of(JNIEnv *env) {
  const LocalFrame frame(env);
  return take_exception(env);
}

// Calls a Java function with newly allocated memory, because the thread's memory for callbacks has no room.
opd_error *call_beside(JNIEnv *env, void *function, const opd_value *args, int32_t num_args, opd_value *out_result) {
  const LocalFrame frame(env);
  const size_t count = static_cast<size_t>(num_args) + 1;
  const std::unique_ptr<opd_value[]> values(new (std::nothrow) opd_value[count]);
  jobject memory = frame.good && values
                       ? env->NewDirectByteBuffer(values.get(), static_cast<jlong>(count * sizeof(opd_value)))
                       : nullptr;
  if (!memory) return take_exception(env);
  std::copy_n(args, num_args, values.get() + 1);
  values[0] = opd_none();
  env->CallStaticVoidMethod(java.callbacks, java.call, static_cast<jobject>(function), memory, jint(0),
                            static_cast<jint>(num_args));
  if (env->ExceptionCheck()) return take_exception(env);
  *out_result = values[0];  // Java has made the value owned
  return nullptr;
}

}  // namespace

opd_error *call_packed(void *function, const opd_value *args, int32_t num_args, opd_value *out_result) {
  JNIEnv *env = environment();
  if (!env) return java_has_ended();
  CallbackArea *area = CallbackArea::of_thread();
  opd_value *frame = area ? area->open(num_args) : nullptr;
  if (!frame) return call_beside(env, function, args, num_args, out_result);
  std::copy_n(args, num_args, frame + 1);
  *frame = opd_none();
  env->CallStaticVoidMethod(java.callbacks, java.call_through, static_cast<jobject>(function),
                            reinterpret_cast<jlong>(area->memory()), area->place_of(frame),
                            static_cast<jint>(num_args));
  area->close(frame);
  if (env->ExceptionCheck()) return thrown_of(env);
  *out_result = *frame;  // Java has made the value owned
  return nullptr;
}

void call_log(void *logger, opd_log_level level, const char *message) {
  JNIEnv *env = environment();
  if (!env) return;
  const LocalFrame frame(env);
  jthrowable pending = env->ExceptionOccurred();
  env->ExceptionClear();
  if (jbyteArray text = text_of(env, message))
    env->CallStaticVoidMethod(java.callbacks, java.log, static_cast<jobject>(logger), static_cast<jint>(level), text);
  env->ExceptionClear();
  if (pending) env->Throw(pending);
}

void end_callback(void *object) {
  JNIEnv *env = object ? environment() : nullptr;
  if (env) env->DeleteGlobalRef(static_cast<jobject>(object));
}

// ---- collectors: a call's state is a global reference to a Java object

namespace {

opd_error *init_collector(void *collector, const DLDevice *devices, int32_t num_devices) {
  JNIEnv *env = environment();
  if (!env) return java_has_ended();
  const LocalFrame frame(env);
  jlongArray words = frame.good ? env->NewLongArray(num_devices) : nullptr;
  if (!words) return take_exception(env);
  for (jsize i = 0; i < num_devices; ++i) {
    const jlong word = pack(devices[i]);
    env->SetLongArrayRegion(words, i, 1, &word);
  }
  env->CallStaticVoidMethod(java.callbacks, java.init, static_cast<jobject>(collector), words);
  return env->ExceptionCheck() ? take_exception(env) : nullptr;
}

opd_error *start_collector(void *collector, DLDevice device, void **out_state) {
  JNIEnv *env = environment();
  if (!env) return java_has_ended();
  const LocalFrame frame(env);
  if (!frame.good) return take_exception(env);
  jobject state =
      env->CallStaticObjectMethod(java.callbacks, java.start, static_cast<jobject>(collector), pack(device));
  if (env->ExceptionCheck()) return take_exception(env);
  if (state && !(*out_state = env->NewGlobalRef(state))) return take_exception(env);
  return nullptr;
}

opd_error *stop_collector(void *collector, void *state, opd_metrics *metrics) {
  JNIEnv *env = environment();
  if (!env) return java_has_ended();
  const LocalFrame frame(env);
  if (frame.good)
    env->CallStaticVoidMethod(java.callbacks, java.stop, static_cast<jobject>(collector), static_cast<jobject>(state),
                              reinterpret_cast<jlong>(metrics));
  opd_error *error = env->ExceptionCheck() ? take_exception(env) : nullptr;
  env->DeleteGlobalRef(static_cast<jobject>(state));
  return error;
}

}  // namespace

opd_collector_table collector_table(JNIEnv *env, jobject collector) {
  return {sizeof(opd_collector_table),  0,           init_collector, start_collector, stop_collector,
          env->NewGlobalRef(collector), end_callback};
}

}  // namespace opdjava

// Returns and clears the first error that the C function could not return; null if there is none.
OPDJAVA_NATIVE(jthrowable, Closure, takeError, jlong closure) {
  opd_error *error = opd_closure_take_error(reinterpret_cast<opd_closure *>(closure));
  return error ? opdjava::thrown_by(env, error) : nullptr;
}
OPDJAVA_CATCH(jthrowable)

OPDJAVA_NATIVE(jthrowable, Callbacks, error, jint code, jbyteArray kind, jbyteArray message) {
  opdjava::Bytes kind_bytes, message_bytes;
  kind_bytes.read(env, kind);
  message_bytes.read(env, message);
  return opdjava::thrown_by(env,
                            opd_error_create(static_cast<opd_code>(code), kind_bytes.data(), message_bytes.data()));
}
OPDJAVA_CATCH(jthrowable)

extern "C" JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *vm, void *) {
  using opdjava::java;
  JNIEnv *env = nullptr;
  if (vm->GetEnv(reinterpret_cast<void **>(&env), JNI_VERSION_10) != JNI_OK) return JNI_ERR;
  const auto find = [&](const char *name) {
    jclass found = env->FindClass(name);
    // The reference is weak, so that the class loader can be collected. During a call, the called object keeps its
    // class alive.
    return found ? static_cast<jclass>(env->NewWeakGlobalRef(found)) : nullptr;
  };
  const auto method = [&](jclass owner, const char *name, const char *type) {
    return owner ? env->GetStaticMethodID(owner, name, type) : nullptr;
  };
  java.vm = vm;
  java.callbacks = find("io/opdyno/Callbacks");
  java.exception = find("io/opdyno/OpdynoException");
  java.host_stack = find("io/opdyno/HostStack");
  java.bytes = find("[B");
  java.call_through = method(java.callbacks, "callThrough", "(Lio/opdyno/PackedFunction;JII)V");
  java.call = method(java.callbacks, "call", "(Lio/opdyno/PackedFunction;Ljava/nio/ByteBuffer;II)V");
  java.log = method(java.callbacks, "log", "(Lio/opdyno/LogCallback;I[B)V");
  java.init = method(java.callbacks, "init", "(Lio/opdyno/MetricCollector;[J)V");
  java.start = method(java.callbacks, "start", "(Lio/opdyno/MetricCollector;J)Ljava/lang/Object;");
  java.stop = method(java.callbacks, "stop", "(Lio/opdyno/MetricCollector;Ljava/lang/Object;J)V");
  java.describe = method(java.exception, "describe", "(Ljava/lang/Throwable;)[[B");
  java.make = method(java.exception, "make", "(Ljava/lang/Throwable;[I[[B)Ljava/lang/Throwable;");
  java.frames = method(java.host_stack, "frames", "()[I");
  const bool good = java.bytes && java.call_through && java.call && java.log && java.init && java.start && java.stop &&
                    java.describe && java.make && java.frames;
  return good ? JNI_VERSION_10 : JNI_ERR;
}

// Called when the class loader is collected. The code stays loaded for the next class loader.
extern "C" JNIEXPORT void JNICALL JNI_OnUnload(JavaVM *vm, void *) {
  using opdjava::java;
  JNIEnv *env = nullptr;
  if (vm->GetEnv(reinterpret_cast<void **>(&env), JNI_VERSION_10) != JNI_OK) return;
  for (const jclass found : {java.callbacks, java.exception, java.host_stack, java.bytes})
    env->DeleteWeakGlobalRef(found);
}
