// __ffi_convert__ of tvm-ffi's own types: implicit conversions of arguments and fields.
#include "compat/tvm_ffi/define.h"
#include "compat/tvm_ffi/list.h"

namespace opd {
namespace {

bool fits(const View &v, int32_t type) {
  if (type == OPD_STRING) return is_text(v);
  if (type == OPD_BYTES) return is_bytes(v);
  return is_object(v) && is_instance(type_at(v.type), type);
}

// Converts sequences and maps to the other kind, and numbers to a shape. Returns None if it cannot convert.
Value convert(const View &v, int32_t type) {
  const Array *sequence = try_sequence(v);
  const Map *map = try_map(v);
  if (type == OPD_ARRAY && sequence) return Array::make(sequence->views());
  if (type == kList && sequence) return List::make(sequence->views());
  if (type == OPD_SHAPE && sequence) {
    std::vector<int64_t> dims;
    for (const View &item : sequence->views()) {
      if (item.type != OPD_INT) return {};
      dims.push_back(item.u.int64);
    }
    return Shape::make(dims);
  }
  if ((type == OPD_MAP || type == kDict) && map) {
    const Ref<Map> made = type == kDict ? Ref<Map>(make_object<Dict>()) : make_object<Map>();
    for (uint64_t at = map->begin(); at != map->end(); at = map->next(at))
      made->insert(map->at(at).key, map->at(at).value);
    return made;
  }
  return {};
}

}  // namespace

void define_conversions() {
  for (const int32_t type :
       {int32_t{OPD_OBJECT}, int32_t{OPD_STRING}, int32_t{OPD_BYTES}, int32_t{OPD_ERROR}, int32_t{OPD_FUNCTION},
        int32_t{OPD_SHAPE}, int32_t{OPD_TENSOR}, int32_t{OPD_ARRAY}, int32_t{OPD_MAP}, kList, kDict})
    set_attribute(type, "__ffi_convert__", Value(checked_function("__ffi_convert__", 1, [type](Args args) {
                    if (fits(args[0], type)) return Value(args[0]);
                    if (Value made = convert(args[0], type); made.type() != OPD_NONE) return made;
                    fail_as("TypeError", OPD_INVALID_ARGUMENT, "Cannot cast from `", type_key(args[0].type), "` to `",
                            type_key(type), "`");
                  })));
}

}  // namespace opd
