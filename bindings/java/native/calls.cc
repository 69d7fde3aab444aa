// Native methods of Area.java and Calls.java, which call functions with arguments in shared memory.
#include <new>

#include "area.h"
#include "core.h"

namespace opdjava {
namespace {

// A plain pointer, because each callback reads it. If a callback runs after the thread-local destructors of its thread,
// it makes a new area.
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

OPDJAVA_NATIVE(jlong, Area, addressOf, jobject memory) {
  return reinterpret_cast<jlong>(env->GetDirectBufferAddress(memory));
}
OPDJAVA_CATCH(jlong)

OPDJAVA_NATIVE(jobject, Area, callbacksOfThread) {
  CallbackArea *area = CallbackArea::of_thread();
  if (!area) throw std::bad_alloc();
  return env->NewDirectByteBuffer(area->memory(), CallbackArea::kBytes);
}
OPDJAVA_CATCH(jobject)

OPDJAVA_NATIVE(void, Calls, call, jlong function, jlong frame, jint count) {
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
OPDJAVA_CATCH(void)

OPDJAVA_NATIVE(jboolean, Interrupts, trySetDefault, jlong token) {
  opd_error *error = opd_cancel_token_set_default(reinterpret_cast<opd_cancel_token *>(token));
  if (!error) return JNI_TRUE;
  opd_error_release(error);
  return JNI_FALSE;
}
OPDJAVA_CATCH(jboolean)
