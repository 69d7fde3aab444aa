// Calls of functions through memory that Java has filled: the natives of Area.java and Calls.java.
#include <new>

#include "area.h"
#include "core.h"

namespace opdjava {
namespace {

// A plain pointer, for it is read by each callback. What the destructor leaves is made anew where a callback runs even
// later at the end of a thread.
thread_local CallbackArea *area_of_thread = nullptr;

CallbackArea *make_area() {
  struct End {
    ~End() {
      delete area_of_thread;
      area_of_thread = nullptr;
    }
  };
  static thread_local const End at_thread_end;
  static_cast<void>(at_thread_end);
  return area_of_thread = new (std::nothrow) CallbackArea;
}

}  // namespace

CallbackArea *CallbackArea::of_thread() { return area_of_thread ? area_of_thread : make_area(); }

}  // namespace opdjava

using namespace opdjava;

extern "C" JNIEXPORT jlong JNICALL Java_io_opdyno_Area_addressOf(JNIEnv *env, jclass, jobject memory) {
  return reinterpret_cast<jlong>(env->GetDirectBufferAddress(memory));
}

extern "C" JNIEXPORT jobject JNICALL Java_io_opdyno_Area_callbacksOfThread(JNIEnv *env, jclass) {
  CallbackArea *area = CallbackArea::of_thread();
  return env->NewDirectByteBuffer(area->memory(), CallbackArea::kBytes);
}

extern "C" JNIEXPORT void JNICALL Java_io_opdyno_Calls_call(JNIEnv *env, jclass, jlong function, jlong frame,
                                                            jint count) {
  auto *result = reinterpret_cast<opd_value *>(frame);
  const opd_value *args = result + 1;
  for (jint i = 0; i < count; ++i)
    if (args[i].type == OPD_TENSOR && !check_loan(env, reinterpret_cast<const opd_tensor *>(args[i].u.object))) return;
  const JavaStack stack(env);
  opd_error *error = opd_function_call(reinterpret_cast<opd_function *>(function), args, count, result);
  if (error) return raise(env, error);
  if (result->type != OPD_TENSOR) return;
  const uint64_t bytes = opd_tensor_bytes(reinterpret_cast<const opd_tensor *>(result->u.object));
  std::memcpy(result + 1, &bytes, sizeof bytes);
}
