// Conversion of the library's errors to Java exceptions and back.
#include <cstdlib>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core.h"

namespace opdjava {

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

void raise_current(JNIEnv *env) {
  if (env->ExceptionCheck()) return;
  try {
    throw;
  } catch (const std::bad_alloc &) {
    throw_new(env, "java/lang/OutOfMemoryError", "there is no memory outside of Java's heap");
  } catch (const std::length_error &) {
    throw_new(env, "java/lang/OutOfMemoryError", "the requested size exceeds any memory");
  } catch (const std::exception &failed) {
    raise(env, opd_error_create(OPD_INTERNAL, "RuntimeError", failed.what()));
  } catch (...) { raise(env, opd_error_create(OPD_INTERNAL, "RuntimeError", "native code failed")); }
}

namespace {

// A Java exception that passes through native code as an error. The reference to the error prevents reuse of its
// address. Few such pairs exist at a time; the oldest ones are those whose errors native code has swallowed.
struct Crossing {
  opd_error *error;
  jobject thrown;
};
constexpr size_t kMostCrossing = 64;
struct Crossings {
  std::mutex mutex;
  std::vector<Crossing> all;
};
Crossings &crossings() {
  static Crossings *const made = [] {
    auto *crossings = new Crossings;
    crossings->all.reserve(kMostCrossing);
    return crossings;
  }();
  return *made;
}

// Removes and returns the exception of an error, as a global reference; null if there is none.
jobject take_crossing(const opd_error *error) {
  auto &under_way = crossings();
  const std::lock_guard lock(under_way.mutex);
  for (const opd_error *e = error; e; e = opd_error_cause(e))
    for (size_t i = 0; i < under_way.all.size(); ++i)
      if (const Crossing found = under_way.all[i]; found.error == e) {
        under_way.all.erase(under_way.all.begin() + static_cast<std::ptrdiff_t>(i));
        opd_error_release(found.error);
        return found.thrown;
      }
  return nullptr;
}

void add_crossing(JNIEnv *env, opd_error *error, jthrowable thrown) {
  auto &under_way = crossings();
  const std::lock_guard lock(under_way.mutex);
  if (under_way.all.size() == kMostCrossing) {
    env->DeleteGlobalRef(under_way.all.front().thrown);
    opd_error_release(under_way.all.front().error);
    under_way.all.erase(under_way.all.begin());
  }
  under_way.all.push_back({static_cast<opd_error *>(opd_object_retain(error)), env->NewGlobalRef(thrown)});
}

constexpr jsize kMostCauses = 64;

}  // namespace

jthrowable thrown_by(JNIEnv *env, opd_error *error) {
  jobject crossed = take_crossing(error);
  jint codes[kMostCauses];
  jsize count = 0;
  for (const opd_error *each = error; each && count < kMostCauses; each = opd_error_cause(each))
    codes[count++] = static_cast<jint>(opd_error_code(each));
  jintArray code_array = env->NewIntArray(count);
  jobjectArray texts = code_array ? env->NewObjectArray(3 * count, java.bytes, nullptr) : nullptr;
  if (texts) env->SetIntArrayRegion(code_array, 0, count, codes);
  const opd_error *each = error;
  for (jsize i = 0; texts && i < count && !env->ExceptionCheck(); ++i, each = opd_error_cause(each)) {
    const char *const parts[] = {opd_error_kind(each), opd_error_message(each), opd_error_backtrace(each)};
    for (jsize part = 0; part < 3 && !env->ExceptionCheck(); ++part) {
      jbyteArray text = text_of(env, parts[part]);
      if (text) env->SetObjectArrayElement(texts, 3 * i + part, text), env->DeleteLocalRef(text);
    }
  }
  jobject thrown = nullptr;
  if (!env->ExceptionCheck())
    thrown = env->CallStaticObjectMethod(java.exception, java.make, crossed, code_array, texts);
  if (crossed) env->DeleteGlobalRef(crossed);
  opd_error_release(error);
  return env->ExceptionCheck() ? nullptr : static_cast<jthrowable>(thrown);
}

void raise(JNIEnv *env, opd_error *error) {
  if (env->ExceptionCheck()) return opd_error_release(error);  // Java lacked memory for the arguments
  if (jthrowable thrown = thrown_by(env, error)) env->Throw(thrown);
}

opd_error *error_of(JNIEnv *env, jthrowable thrown) try {
  auto parts = static_cast<jobjectArray>(env->CallStaticObjectMethod(java.exception, java.describe, thrown));
  Texts texts;
  if (env->ExceptionCheck()) env->ExceptionClear();
  else texts.read(env, parts);
  const bool told = texts.size() == 3;
  const auto code = told ? static_cast<opd_code>(std::atoi(texts.data()[2])) : OPD_CALL_FAILED;
  opd_error *error = opd_error_create(code, told ? texts.data()[0] : "RuntimeError", told ? texts.data()[1] : "");
  add_crossing(env, error, thrown);
  return error;
} catch (const std::bad_alloc &) {
  return opd_error_create(OPD_OUT_OF_MEMORY, nullptr, "there is no memory for an error's text");
}

}  // namespace opdjava
