// The kinds of objects of the process, with the fields, methods and attributes that foreign code registers for them.
// Cost: find_type is two loads. What it gives lives as long as the process. Threads: safe, but for who reads the
// fields, methods or attributes of a type while others are registered for it (as in tvm-ffi, whose C++ reads them in
// place).
#pragma once
#include <vector>

#include "value/type_info.h"

namespace opd {

const TypeInfo *find_type(int32_t index) noexcept;         // null if there is none
const TypeInfo *find_type(std::string_view key) noexcept;  // null if there is none
std::vector<std::string> type_keys();                      // by index

struct NewType {
  std::string_view key;
  int32_t static_index = -1;  // -1: one is found
  int32_t depth = 1;
  int32_t child_slots = 0;  // indices kept for types derived from it
  bool may_overflow = true;
  int32_t parent = OPD_OBJECT;  // -1: none; -2: do not make it
};
int32_t get_or_make_type(const NewType &type);  // -2 if it is not there and shall not be made

void add_field(int32_t type, const FieldInfo &field);
void add_method(int32_t type, const MethodInfo &method);
void set_metadata(int32_t type, const TypeMetadata &metadata);
// For OPD_NONE only the column is made.
void set_attribute(int32_t type, std::string_view name, const View &value);
const AttributeColumn *attribute_column(std::string_view name) noexcept;  // null if there is none

}  // namespace opd
