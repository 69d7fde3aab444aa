#include "base/object.h"

#include "base/thread_state.h"

namespace opd {

void release_shared(Object *object) {
  const uint64_t before = object->refs.fetch_sub(1, std::memory_order_acq_rel);
  if (before == Object::kSoleOwner) {
    if (object->deleter) object->deleter(object, kDestroy | kFree);
  } else if (static_cast<uint32_t>(before) == 1) {  // weak references remain: destroy now, free with the last of them
    if (object->deleter) object->deleter(object, kDestroy);
    release_weak(object);
  }
}

void release_weak(Object *object) {
  if (object->refs.fetch_sub(Object::kWeakOne, std::memory_order_acq_rel) >> 32 == 1 && object->deleter)
    object->deleter(object, kFree);
}

void release_nested(Object *object) noexcept {
  constexpr int32_t kMaxDepth = 32;
  ThreadState &state = thread_state();
  if (state.release_depth >= kMaxDepth && object->has_sole_owner()) {
    // Nobody else sees the object any more, so its count is free to point at the next that waits.
    object->refs.store(reinterpret_cast<uintptr_t>(state.releases), std::memory_order_relaxed);
    state.releases = object;
    return;
  }
  ++state.release_depth;
  release(object);
  while (state.release_depth == 1 && state.releases) {
    Object *const next = state.releases;
    state.releases = reinterpret_cast<Object *>(static_cast<uintptr_t>(next->refs.load(std::memory_order_relaxed)));
    next->refs.store(Object::kSoleOwner, std::memory_order_relaxed);
    release(next);
  }
  --state.release_depth;
}

}  // namespace opd
