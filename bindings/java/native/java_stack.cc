// Reads the Java methods on the calling thread's stack, for the stacks that profilers record.
#include <algorithm>
#include <new>

#include "core.h"

namespace opdjava {

std::vector<opd_stack_frame> java_stack(JNIEnv *env) {
  constexpr jsize kWords = 3, kMost = 256;
  static_assert(sizeof(opd_stack_frame) == kWords * sizeof(jint));
  std::vector<opd_stack_frame> frames;
  if (env->ExceptionCheck()) return frames;  // Java must not be called while an exception of the caller is pending
  auto words = static_cast<jintArray>(env->CallStaticObjectMethod(java.host_stack, java.frames));
  if (env->ExceptionCheck()) {  // Java lacks memory or the thread lacks stack for the walk
    env->ExceptionClear();
    return frames;
  }
  const jsize count = std::min(env->GetArrayLength(words) / kWords, kMost);
  try {
    frames.resize(static_cast<size_t>(count));
    env->GetIntArrayRegion(words, 0, kWords * count, reinterpret_cast<jint *>(frames.data()));
  } catch (const std::bad_alloc &) {}
  env->DeleteLocalRef(words);
  return frames;
}

}  // namespace opdjava
