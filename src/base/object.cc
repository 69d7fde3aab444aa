#include "base/object.h"

namespace opd {

void release_shared(Object *object) {
  const uint64_t before = object->refs.fetch_sub(1, std::memory_order_acq_rel);
  if (before == Object::kSoleOwner) {
    if (object->deleter) object->deleter(object, kDestroy | kFree);
    // Weak references remain: destroys the object now; the last of them frees it.
  } else if (static_cast<uint32_t>(before) == 1) {
    if (object->deleter) object->deleter(object, kDestroy);
    release_weak(object);
  }
}

void release_weak(Object *object) {
  if (object->refs.fetch_sub(Object::kWeakOne, std::memory_order_acq_rel) >> 32 == 1 && object->deleter)
    object->deleter(object, kFree);
}

namespace {
struct Releases {
  int32_t depth = 0;
  Object *first = nullptr;  // list of objects that the outermost release_nested() will release
};
constinit thread_local Releases releases __attribute__((tls_model("initial-exec")));
}  // namespace

void release_nested(Object *object) noexcept {
  constexpr int32_t kMaxDepth = 32;
  Releases &state = releases;
  if (state.depth >= kMaxDepth && object->has_sole_owner()) {
    // No other thread can see the object any more, so its count can hold the pointer to the next list entry.
    object->refs.store(reinterpret_cast<uintptr_t>(state.first), std::memory_order_relaxed);
    state.first = object;
    return;
  }
  ++state.depth;
  release(object);
  while (state.depth == 1 && state.first) {
    Object *const next = state.first;
    state.first = reinterpret_cast<Object *>(static_cast<uintptr_t>(next->refs.load(std::memory_order_relaxed)));
    next->refs.store(Object::kSoleOwner, std::memory_order_relaxed);
    release(next);
  }
  --state.depth;
}

}  // namespace opd
