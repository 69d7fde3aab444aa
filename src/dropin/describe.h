// Registers what Python shows of a type of ours: fields, methods, attributes.
#pragma once
#include <concepts>

#include "dropin/define.h"

namespace opd {

enum StructuralKind : int32_t { kUnsupported, kTree, kFreeVariable, kDagNode, kConstantTree, kUnique };

template <class T>
struct FieldType {  // of values
  static constexpr int32_t kStatic = -1;
  static constexpr const char *kSchema = R"({"type":"Any"})";
  static void write(T &field, const View &value) { field = Value(value); }
};
template <std::integral T>
struct FieldType<T> {
  static constexpr int32_t kStatic = OPD_INT;
  static constexpr const char *kSchema = R"({"type":"int"})";
  static void write(T &field, const View &value) { field = static_cast<T>(as_int(value, "the field")); }
};
template <class T>
struct FieldType<Ref<T>> {
  static constexpr int32_t kStatic = OPD_OBJECT;
  static constexpr const char *kSchema = R"({"type":"Optional","args":[{"type":"ffi.Object"}]})";
  static void write(Ref<T> &field, const View &value) {
    field = value.type == OPD_NONE ? Ref<T>() : Ref<T>::share(&as<T>(value, "the field"));
  }
};

template <class T>
class TypeDescription {
 public:
  explicit TypeDescription(StructuralKind kind, int (*creator)(void **) = nullptr) {
    TypeMetadata metadata;
    metadata.creator = creator;
    metadata.total_size = sizeof(T);
    metadata.structural_kind = kind;
    set_metadata(T::type(), metadata);
  }

  // A field that Python may read.
  template <auto member>
  const TypeDescription &field(const char *name, const char *schema = nullptr, int64_t flags = 0) const {
    using Field = std::remove_reference_t<decltype(std::declval<T &>().*member)>;
    alignas(T) static char room[sizeof(T)];
    const T *object = reinterpret_cast<const T *>(room);  // only for addresses
    FieldInfo info;
    info.name = bytes_of(name);
    info.flags = flags;
    info.size = sizeof(Field);
    info.alignment = alignof(Field);
    info.offset = reinterpret_cast<const char *>(&(object->*member)) - room;
    info.getter = [](void *place, View *out) {
      const Field &field = *static_cast<const Field *>(place);
      if constexpr (std::is_integral_v<Field>) *out = opd_int(field);
      else *out = Value(field).detach();
      return 0;
    };
    FieldSetter setter = [](void *place, const View *value) {
      try {
        FieldType<Field>::write(*static_cast<Field *>(place), *value);
        return 0;
      } catch (...) {
        set_raised(current_error());
        return -1;
      }
    };
    info.setter = reinterpret_cast<void *>(setter);
    std::string text = R"({"type_schema":")";  // JSON in JSON
    for (const char c : std::string_view(schema ? schema : FieldType<Field>::kSchema))
      text += c == '"' ? std::string("\\\"") : std::string(1, c);
    text += "\"}";
    info.metadata = bytes_of(text);
    info.static_type = FieldType<Field>::kStatic;
    add_field(T::type(), info);
    return *this;
  }

  template <class F>
  void method(const char *name, int arity, F body, int64_t flags = 0) const {
    const Value function(checked_function(name, arity, std::move(body)));
    MethodInfo info;
    info.name = bytes_of(name);
    info.flags = flags;
    info.method = function;
    add_method(T::type(), info);
  }
  template <class F>
  void static_method(const char *name, int arity, F body) const {
    method(name, arity, std::move(body), kFieldStaticMethod);
  }
  template <class F>
  void attribute(const char *name, int arity, F body) const {
    set_attribute(T::type(), name, Value(checked_function(name, arity, std::move(body))));
  }
};

}  // namespace opd
