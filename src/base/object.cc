#include "base/object.h"

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

}  // namespace opd
