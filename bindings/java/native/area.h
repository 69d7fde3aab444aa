// The memory by which native code passes values to Java callbacks; see Area.java.
#pragma once
#include <jni.h>
#include <opdyno/opdyno.h>

#include <cstddef>

namespace opdjava {

// A stack of frames for one native thread, which owns it until it ends. Frames of nested callbacks follow each other.
class CallbackArea {
 public:
  static CallbackArea *of_thread();  // null if there is no memory

  opd_value *memory() { return values_; }
  static constexpr jlong kBytes = 128 * sizeof(opd_value);

  // Opens a frame with room for a result and the arguments; null if there is no room.
  opd_value *open(int32_t num_args) {
    if (num_args >= kValues - top_) return nullptr;
    opd_value *frame = values_ + top_;
    top_ += num_args + 1;
    return frame;
  }
  void close(const opd_value *frame) { top_ = static_cast<int32_t>(frame - values_); }
  jint place_of(const opd_value *frame) const { return static_cast<jint>((frame - values_) * sizeof(opd_value)); }

 private:
  static constexpr int32_t kValues = kBytes / sizeof(opd_value);
  opd_value values_[kValues];
  int32_t top_ = 0;
};

}  // namespace opdjava
