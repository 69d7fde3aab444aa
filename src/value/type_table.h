// The object types of the process, with the fields, methods and attributes that foreign code registers. find_type()
// costs two loads, and its result lives as long as the process. Thread-safe, with one exception. While fields, methods
// or attributes of a type are registered, other threads must not read them. tvm-ffi has the same rule, because its C++
// reads them directly.
#pragma once
#include <vector>

#include "value/type_info.h"

namespace opd {

const TypeInfo *find_type(int32_t index) noexcept;         // null if there is none
const TypeInfo *find_type(std::string_view key) noexcept;  // null if there is none
std::vector<std::string> type_keys();                      // by index

struct NewType {
  std::string_view key;
  int32_t static_index = -1;  // -1: the table chooses one
  int32_t depth = 1;
  int32_t child_slots = 0;      // indices reserved for derived types
  bool may_overflow = true;     // if the slots are used up, derived types get other indices
  int32_t parent = OPD_OBJECT;  // -1: none; -2: only looks up the type
};
int32_t get_or_make_type(const NewType &type);  // -2 if `parent` is -2 and the type does not exist

void add_field(int32_t type, const FieldInfo &field);
void add_method(int32_t type, const MethodInfo &method);
void set_metadata(int32_t type, const TypeMetadata &metadata);
// If `type` is OPD_NONE, only makes the column.
void set_attribute(int32_t type, std::string_view name, const View &value);
const AttributeColumn *attribute_column(std::string_view name) noexcept;  // null if there is none

}  // namespace opd
