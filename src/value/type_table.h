// The object types of the process, with the fields, methods and attributes that foreign code registers. find_type()
// costs two loads, and its result lives as long as the process. Thread-safe, with one exception. While fields, methods
// or attributes of a type are registered, other threads must not read them. tvm-ffi has the same rule, because its C++
// reads them directly.
#pragma once
#include <vector>

#include "value/value.h"

namespace opd {

// ---- descriptions of object types for tvm-ffi's C++ and Python; the layouts equal those of its c_api.h

enum FieldFlag : int64_t {
  kFieldHasDefault = 1 << 1,
  kFieldStaticMethod = 1 << 2,
  kFieldDefaultFromFactory = 1 << 5,
  kFieldReprOff = 1 << 6,
  kFieldCompareOff = 1 << 7,
  kFieldHashOff = 1 << 8,
  kFieldInitOff = 1 << 9,
  kFieldKwOnly = 1 << 10,
  kFieldSetterIsFunction = 1 << 11,
};

using FieldGetter = int (*)(void *field, View *out);
using FieldSetter = int (*)(void *field, const View *value);

struct FieldInfo {
  ByteArray name, doc, metadata;
  int64_t flags = 0, size = 0, alignment = 0, offset = 0;
  FieldGetter getter = nullptr;
  void *setter = nullptr;  // a FieldSetter, or a Function if kFieldSetterIsFunction
  View default_value = opd_none();
  int32_t static_type = 0;
};

struct MethodInfo {
  ByteArray name, doc, metadata;
  int64_t flags = 0;
  View method = opd_none();
};

struct TypeMetadata {
  ByteArray doc;
  int (*creator)(void **out_object) = nullptr;
  int32_t total_size = 0;
  int32_t structural_kind = 0;
};

struct AttributeColumn {
  const View *data = nullptr;  // indexed by type index - begin
  int32_t size = 0;
  int32_t begin = 0;
};

struct TypeInfo {
  int32_t index = 0;
  int32_t depth = 0;
  ByteArray key;
  const TypeInfo **ancestors = nullptr;  // `depth` entries, the root first
  uint64_t key_hash = 0;
  int32_t num_fields = 0, num_methods = 0;
  const FieldInfo *fields = nullptr;
  const MethodInfo *methods = nullptr;
  const TypeMetadata *metadata = nullptr;
};

static_assert(sizeof(FieldInfo) == 120 && offsetof(FieldInfo, getter) == 80 && offsetof(FieldInfo, static_type) == 112);
static_assert(sizeof(MethodInfo) == 72 && sizeof(TypeMetadata) == 32 && sizeof(AttributeColumn) == 16);
static_assert(sizeof(TypeInfo) == 72 && offsetof(TypeInfo, ancestors) == 24 && offsetof(TypeInfo, fields) == 48);

inline bool is_instance(const TypeInfo &type, int32_t of) {
  if (type.index == of) return true;
  for (int32_t i = 0; i < type.depth; ++i)
    if (type.ancestors[i]->index == of) return true;
  return false;
}

// ---- the table

const TypeInfo *find_type(int32_t index) noexcept;         // null if there is none
const TypeInfo *find_type(std::string_view key) noexcept;  // null if there is none
std::vector<std::string> type_keys();                      // ordered by index

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
