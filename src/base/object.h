// The header of tvm-ffi's reference-counted objects, and smart pointers to them. Cost: retain is one relaxed add.
// Release by a sole owner is a load and a compare, without a read-modify-write.
#pragma once
#include <atomic>
#include <cstdint>
#include <new>
#include <utility>

namespace opd {

enum DeleteFlag : int { kDestroy = 1, kFree = 2 };

// Layout of TVMFFIObject. Each object has the deleter of the library that made it, so objects may cross libraries.
struct Object {
  static constexpr uint64_t kSoleOwner = 0x1'0000'0001;  // high half: weak count, low half: strong count
  static constexpr uint64_t kWeakOne = 0x1'0000'0000;

  std::atomic<uint64_t> refs{kSoleOwner};
  int32_t type_index = 0;
  uint32_t reserved = 0;
  void (*deleter)(void *self, int flags) = nullptr;

  bool has_sole_owner() const { return refs.load(std::memory_order_acquire) == kSoleOwner; }
};
static_assert(sizeof(Object) == 24);

inline void retain(Object *object) { object->refs.fetch_add(1, std::memory_order_relaxed); }

void release_shared(Object *object);
void release_weak(Object *object);

// Releases a member that may own further objects. A program may nest these deeper than the stack allows. So beyond a
// depth of 32 they are destroyed one after another, without recursion.
void release_nested(Object *object) noexcept;

inline void release(Object *object) {
  // If this is the only reference, no other thread can add one, so a plain load decides.
  if (object->has_sole_owner()) {
    if (object->deleter) object->deleter(object, kDestroy | kFree);
  } else {
    release_shared(object);
  }
}

template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  Ref(const Ref &other) : object_(other.object_) {
    if (object_) opd::retain(object_);
  }
  Ref(Ref &&other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  template <class U>
  Ref(const Ref<U> &other) : object_(other.get()) {
    if (object_) opd::retain(object_);
  }
  template <class U>
  Ref(Ref<U> &&other) noexcept : object_(other.detach()) {}
  ~Ref() {
    if (object_) opd::release(object_);
  }
  Ref &operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }

  static Ref take(T *object) {
    Ref ref;
    ref.object_ = object;
    return ref;
  }
  static Ref share(T *object) {
    if (object) opd::retain(object);
    return take(object);
  }

  T *get() const { return object_; }
  T *detach() { return std::exchange(object_, nullptr); }
  T *operator->() const { return object_; }
  T &operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  friend bool operator==(const Ref &a, const Ref &b) { return a.object_ == b.object_; }

 private:
  T *object_ = nullptr;
};

// Keeps an object's memory, but not the object: after the last owner's end, lock() returns null.
template <class T>
class WeakRef {
 public:
  WeakRef() = default;
  explicit WeakRef(T *object) : object_(object) {
    header()->refs.fetch_add(Object::kWeakOne, std::memory_order_relaxed);
  }
  WeakRef(WeakRef &&other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  ~WeakRef() {
    if (object_) release_weak(header());
  }

  Ref<T> lock() const {
    uint64_t refs = object_ ? header()->refs.load(std::memory_order_relaxed) : 0;
    while (static_cast<uint32_t>(refs) != 0)
      if (header()->refs.compare_exchange_weak(refs, refs + 1, std::memory_order_acquire)) return Ref<T>::take(object_);
    return {};
  }

 private:
  Object *header() const { return object_; }
  T *object_ = nullptr;
};

// The deleter of objects made by make_object_sized(). Its address shows that an object is a T of this library.
template <class T>
void delete_object(void *self, int flags) {
  T *whole = static_cast<T *>(static_cast<Object *>(self));  // a T with virtual functions starts before its Object
  if (flags & kDestroy) whole->~T();
  if (flags & kFree) ::operator delete(whole);
}

// Makes a T of kind T::type(). `trailing` bytes follow it, for data stored inline.
template <class T, class... Args>
Ref<T> make_object_sized(size_t trailing, Args &&...args) {
  const int32_t type = T::type();  // first, because registering the kind may throw
  void *memory = ::operator new(sizeof(T) + trailing);
  T *object;
  try {
    object = new (memory) T(std::forward<Args>(args)...);
  } catch (...) {
    ::operator delete(memory);
    throw;
  }
  Object *header = object;  // T may have members with the same names
  header->type_index = type;
  header->deleter = &delete_object<T>;
  return Ref<T>::take(object);
}

template <class T, class... Args>
Ref<T> make_object(Args &&...args) {
  return make_object_sized<T>(0, std::forward<Args>(args)...);
}

}  // namespace opd
