// Registers the properties of opdyno's types that Python uses: fields, methods, attributes.
#pragma once
#include <concepts>

#include "compat/tvm_ffi/define.h"

namespace opd {

enum StructuralKind : int32_t { kUnsupported, kTree, kFreeVariable, kDagNode, kConstantTree, kUnique };

template <class T>
struct FieldType {  // for fields of type Value
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

// Returns {"type_schema": schema} with the schema as text.
inline std::string metadata_of(std::string_view schema) {
  std::string text = R"({"type_schema":")";
  for (const char c : schema) text += c == '"' ? std::string("\\\"") : std::string(1, c);
  return text + "\"}";
}

inline std::string signature_of(std::initializer_list<const char *> types) {
  std::string result, params;
  for (const std::string_view type : types) {
    const std::string schema = type.starts_with('{') ? std::string(type) : concat(R"({"type":")", type, R"("})");
    if (result.empty()) result = schema;
    else params += concat(params.empty() ? "" : ",", schema);
  }
  return concat(R"({"type":"ffi.Function","named_args":{"return":[)", result, R"(],"params":[)", params, "]}}");
}

template <class T>
class TypeDescription {
 public:
  explicit TypeDescription(StructuralKind kind, int (*creator)(void **) = nullptr) {
    TypeMetadata metadata;
    metadata.creator = creator;
    metadata.total_size = sizeof(T);
    metadata.structural_kind = kind;
    set_metadata(T::type(), metadata);
    set_attribute(T::type(), "__ffi_type_final__", Value(std::is_final_v<T>));
  }

  // Adds a field that Python may read.
  template <auto member>
  const TypeDescription &field(const char *name, const char *schema = nullptr, int64_t flags = 0) const {
    using Field = std::remove_reference_t<decltype(std::declval<T &>().*member)>;
    alignas(T) static char room[sizeof(T)];
    const T *object = reinterpret_cast<const T *>(room);  // never dereferenced, only used for offsets
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
    const std::string text = metadata_of(schema ? schema : FieldType<Field>::kSchema);
    info.metadata = bytes_of(text);
    info.static_type = FieldType<Field>::kStatic;
    add_field(T::type(), info);
    return *this;
  }

  // `types`: the result's type, then the arguments' types, as type keys or JSON schemas.
  template <class F>
  void method(const char *name, std::initializer_list<const char *> types, F body, int64_t flags = 0) const {
    const Value function(checked_function(name, static_cast<int>(types.size()) - 1, std::move(body)));
    const std::string metadata = metadata_of(signature_of(types));
    MethodInfo info;
    info.name = bytes_of(name);
    info.metadata = bytes_of(metadata);
    info.flags = flags;
    info.method = function;
    add_method(T::type(), info);
  }
  template <class F>
  void attribute(const char *name, int arity, F body) const {
    set_attribute(T::type(), name, Value(checked_function(name, arity, std::move(body))));
  }
};

}  // namespace opd
