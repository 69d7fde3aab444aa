// Objects of types that are defined in Python: allocates them and accesses the fields by their offsets.
#include <cstdlib>
#include <cstring>
#include <new>

#include "compat/tvm_ffi/define.h"

namespace opd {
namespace {

enum class Storage { kPlain, kAny, kObject };

// In a parent class defined in C++, a field of any type may be stored as an object reference.
Storage storage_of(const FieldInfo &field) {
  if (field.static_type == -1) return field.size == sizeof(Object *) ? Storage::kObject : Storage::kAny;
  return field.static_type >= OPD_OBJECT ? Storage::kObject : Storage::kPlain;
}

template <class T>
T &place(void *object, const FieldInfo &field) {
  return *reinterpret_cast<T *>(static_cast<char *>(object) + field.offset);
}

void destroy(void *self, int flags) {
  if (flags & kDestroy) {
    for_each_field(type_at(static_cast<Object *>(self)->type_index), [&](const FieldInfo &field) {
      if (storage_of(field) == Storage::kAny) place<Value>(self, field).~Value();
      if (storage_of(field) == Storage::kObject) place<Ref<Object>>(self, field).~Ref();
    });
  }
  if (flags & kFree) std::free(self);
}

Ref<Object> allocate(const TypeInfo &type, size_t size) {
  void *memory = std::calloc(1, size);  // all zero: None, no object, 0
  if (!memory) throw std::bad_alloc();
  auto *object = new (memory) Object;
  object->type_index = type.index;
  object->deleter = destroy;
  return Ref<Object>::take(object);
}

Ref<Object> copy(const TypeInfo &type, size_t size, Object *from) {
  auto to = allocate(type, size);
  for_each_field(type, [&](const FieldInfo &field) {
    switch (storage_of(field)) {
      case Storage::kAny:
        place<Value>(to.get(), field) = place<Value>(from, field);
        break;
      case Storage::kObject:
        place<Ref<Object>>(to.get(), field) = place<Ref<Object>>(from, field);
        break;
      case Storage::kPlain:
        std::memcpy(&place<char>(to.get(), field), &place<char>(from, field), static_cast<size_t>(field.size));
    }
  });
  return to;
}

void register_class(int32_t index, int64_t given_size) {
  const TypeInfo &type = type_at(index);
  require(given_size >= static_cast<int64_t>(sizeof(Object)) && given_size < 1 << 30, "objects of type ",
          text_of(type.key), " cannot have ", given_size, " bytes");
  const auto size = static_cast<size_t>(given_size);
  register_init(index);
  set_attribute(index, "__ffi_new__",
                Value(checked_function("__ffi_new__", 0, [&type, size](Args) { return Value(allocate(type, size)); })));
  set_attribute(index, "__ffi_shallow_copy__",
                Value(checked_function("__ffi_shallow_copy__", 1, [&type, size](Args args) {
                  if (!is_object(args[0]) || !is_instance(type_at(args[0].type), type.index))
                    fail_type("what is copied", text_of(type.key), args[0]);
                  return Value(copy(type, size, object_of(args[0])));
                })));
}

template <class T>
int get(void *field, View *out) {
  *out = Value(*static_cast<T *>(field)).detach();
  return 0;
}
int get_pointer(void *field, View *out) {
  *out = opd_pointer(*static_cast<void **>(field));
  return 0;
}

FieldGetter getter_of(int64_t type) {
  switch (type) {
    case OPD_INT:
      return get<int64_t>;
    case OPD_FLOAT:
      return get<double>;
    case OPD_BOOL:
      return get<bool>;
    case OPD_POINTER:
      return get_pointer;
    case OPD_DTYPE:
      return get<DLDataType>;
    case OPD_DEVICE:
      return get<DLDevice>;
    case OPD_NONE:
    case -1:
      return get<Value>;
    default:
      if (type >= OPD_OBJECT) return get<Ref<Object>>;
      fail(OPD_INVALID_ARGUMENT, "Unsupported field type index for getter: ", type);
  }
}

template <class T>
void put(void *field, T value) {
  *static_cast<T *>(field) = std::move(value);
}

void store(void *field, int32_t type, Value value) {
  switch (type) {
    case OPD_INT:
      return put(field, as_int(value, "the field"));
    case OPD_FLOAT:
      return put(field, as_float(value, "the field"));
    case OPD_BOOL:
      return put(field, as_int(value, "the field") != 0);
    case OPD_POINTER:
      if (value.type() != OPD_POINTER && value.type() != OPD_NONE) fail_type("the field", "void*", value);
      return put(field, value.type() == OPD_NONE ? nullptr : value.view().u.pointer);
    case OPD_DTYPE:
      return put(field, as_dtype(value, "the field"));
    case OPD_DEVICE:
      if (value.type() != OPD_DEVICE) fail_type("the field", "Device", value);
      return put(field, value.view().u.device);
    case OPD_NONE:
    case -1:
      return put(field, std::move(value));
    default:
      if (type < OPD_OBJECT) fail(OPD_INVALID_ARGUMENT, "Unsupported field type index for setter: ", type);
      if (value.type() != OPD_NONE && !is_object(value)) fail_type("the field", "an object", value);
      return put(field, is_object(value) ? Ref<Object>::take(object_of(value.detach())) : Ref<Object>());
  }
}

// Makes a setter, which takes a place and a value. The front end converts the value first: int convert(converter,
// value, out).
Value make_setter(Args args) {
  using Convert = int (*)(void *converter, const View *value, View *out);
  const auto type = static_cast<int32_t>(as_int(args[0], "the type"));
  auto *converter = reinterpret_cast<void *>(as_int(args[1], "the converter"));
  const auto convert = reinterpret_cast<Convert>(as_int(args[2], "the converter's function"));
  require(convert, "ffi.MakeFieldSetter: the converter's function must not be NULL");
  return checked_function("a field's setter", 2, [=](Args given) {
    if (given[0].type != OPD_POINTER) fail_type("the place of a field", "void*", given[0]);
    View converted = opd_none();
    if (convert(converter, &given[1], &converted)) throw Exception(take_raised());
    return store(given[0].u.pointer, type, Value::take(converted)), Value();
  });
}

}  // namespace

void define_python_classes() {
  define("ffi.MakeFieldGetter", 1, [](Args args) {
    return Value(static_cast<int64_t>(reinterpret_cast<intptr_t>(getter_of(as_int(args[0], "the type")))));
  });
  define("ffi.MakeFieldSetter", 3, make_setter);
  define("ffi._PyClassRegisterTypeAttrColumns", 2, [](Args args) {
    return register_class(static_cast<int32_t>(as_int(args[0], "the type")), as_int(args[1], "the size")), Value();
  });
}

}  // namespace opd
