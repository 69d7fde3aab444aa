// Helpers that define tvm-ffi's global functions and read their arguments.
#pragma once
#include <string_view>

#include "value/function.h"
#include "value/map.h"
#include "value/type_table.h"

namespace opd {

// Calls `body` with exactly `arity` arguments; -1: any number. A reference to move from (rvalue) is passed as its
// object.
template <class F>
Ref<Function> checked_function(std::string name, int arity, F body) {
  return make_function([name = std::move(name), arity, body = std::move(body)](Args args) mutable -> Value {
    if (arity >= 0 && args.size() != static_cast<size_t>(arity))
      fail_as("TypeError", OPD_INVALID_ARGUMENT, name, " takes ", counted(static_cast<uint64_t>(arity), "argument"),
              ", but was given ", args.size());
    std::vector<View> plain;
    for (size_t i = 0; i < args.size(); ++i) {
      if (args[i].type != kRvalueReference) continue;
      if (plain.empty()) plain.assign(args.begin(), args.end());
      plain[i] = view_of(*static_cast<Object **>(args[i].u.pointer));
    }
    return body(plain.empty() ? args : Args(plain));
  });
}

// A name may be defined again, because two copies of this library may be in one process.
template <class F>
void define(const std::string &name, int arity, F body) {
  register_function(name, checked_function(name, arity, std::move(body)), true);
}

// Returns the text of a value. It may be empty but not missing.
inline std::string text_argument(const View &v, std::string_view what) { return std::string(as_text(v, what)); }

Ref<Object> missing_object();  // the result for "no such item"
Ref<Object> kwargs_object();   // marks the start of keyword arguments

// ---- registered properties of a type; the nearest ancestor comes first

View attribute_of(int32_t type, const AttributeColumn *column);  // returns None if there is none
// Visits the ancestors' fields, then the type's own.
template <class F>
void for_each_field(const TypeInfo &type, F &&visit) {
  for (int32_t i = 0; i < type.depth; ++i)
    for (int32_t k = 0; k < type.ancestors[i]->num_fields; ++k) visit(type.ancestors[i]->fields[k]);
  for (int32_t k = 0; k < type.num_fields; ++k) visit(type.fields[k]);
}
const TypeInfo &type_at(int32_t index);  // throws if the type does not exist
Value get_field(const Object &object, const FieldInfo &field);
void set_field(Object &object, const FieldInfo &field, const View &value);  // throws the setter's error
void set_field_to_default(Object &object, const FieldInfo &field);
Ref<Object> create_empty(const TypeInfo &type);
void register_init(int32_t type);  // registers a constructor that takes the fields as arguments

std::string repr(const View &value);
Value parse_json(std::string_view text);  // throws an error with the problem and its position
std::string json_text(const View &value, int indent = 0);
// Compares two integers, each big or plain: the result is negative if a < b, 0 if they are equal, else positive.
int compare_big_ints(const View &a, const View &b);
constexpr size_t kMaxNesting = 2000;  // limit for objects within objects

// ---- functions that define a group of functions and types once, when the library is loaded
void define_containers();
void define_values();
void define_repr();
void define_comparisons();
void define_deep_copy();
void define_graphs();
void define_conversions();
void define_creation();
void define_python_classes();
void define_access_paths();
void define_enums();

}  // namespace opd
