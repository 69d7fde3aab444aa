// The object types of the process, with the fields, methods and attributes that foreign code registers for them. Cost:
// find_type is two loads. Its result lives as long as the process. Threads: safe, except to read the fields, methods or
// attributes of a type while others are registered for it (as in tvm-ffi, whose C++ reads them in place).
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
  bool may_overflow = true;     // derived types beyond the slots get other indices
  int32_t parent = OPD_OBJECT;  // -1: none; -2: only look the type up
};
int32_t get_or_make_type(const NewType &type);  // -2 if there is no such type and `parent` is -2

void add_field(int32_t type, const FieldInfo &field);
void add_method(int32_t type, const MethodInfo &method);
void set_metadata(int32_t type, const TypeMetadata &metadata);
// If `type` is OPD_NONE, only makes the column.
void set_attribute(int32_t type, std::string_view name, const View &value);
const AttributeColumn *attribute_column(std::string_view name) noexcept;  // null if there is none

}  // namespace opd
