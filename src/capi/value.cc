// Implements include/opdyno/value.h.
#include "value/value.h"

#include "capi/handles.h"
#include "value/dtype.h"
#include "value/map.h"

using namespace opd;

opd_value opd_value_of_object(const void *object_handle) { return view_of(static_cast<const Object *>(object_handle)); }

opd_error *opd_value_retain(const opd_value *value, opd_value *out_value) {
  return guard([&] {
    OPD_REQUIRE(value, out_value);
    *out_value = Value(*value).detach();
  });
}

void opd_value_release(opd_value *value) {
  if (value && !lacks_object(*value)) Value::take(std::exchange(*value, opd_none()));
  else if (value) *value = opd_none();
}

const char *opd_type_key(int32_t type) { return type_key(type); }

opd_error *opd_string_create(const char *data, size_t size, opd_value *out_value) {
  return guard([&] {
    OPD_REQUIRE(out_value);
    OPD_REQUIRE_ITEMS(data, size);
    *out_value = Value(std::string_view(data, size)).detach();
  });
}

opd_error *opd_bytes_create(const void *data, size_t size, opd_value *out_value) {
  return guard([&] {
    OPD_REQUIRE(out_value);
    OPD_REQUIRE_ITEMS(data, size);
    *out_value = Value(BytesObject::make({static_cast<const char *>(data), size})).detach();
  });
}

opd_error *opd_string_get(const opd_value *value, const char **out_data, size_t *out_size) {
  return guard([&] {
    OPD_REQUIRE(value, out_data, out_size);
    const std::string_view text = as_text(*value, "value");
    *out_data = text.data();
    *out_size = text.size();
  });
}

opd_error *opd_shape_create(const int64_t *dims, int32_t ndim, opd_shape **out_shape) {
  return guard([&] {
    OPD_REQUIRE(out_shape);
    *out_shape = wrap<opd_shape>(Shape::make(OPD_REQUIRE_ITEMS(dims, ndim)));
  });
}

const int64_t *opd_shape_dims(const opd_shape *shape, int32_t *out_ndim) {
  if (out_ndim) *out_ndim = shape ? count_of_items(unwrap<Shape>(shape)->size) : 0;
  return shape ? unwrap<Shape>(shape)->data : nullptr;
}

opd_error *opd_array_create(const opd_value *items, int32_t count, opd_array **out_array) {
  return guard([&] {
    OPD_REQUIRE(out_array);
    *out_array = wrap<opd_array>(Array::make(OPD_REQUIRE_ITEMS(items, count)));
  });
}

int32_t opd_array_count(const opd_array *array) { return array ? count_of_items(unwrap<Array>(array)->size()) : 0; }

opd_error *opd_array_get(const opd_array *array, int32_t index, opd_value *out_item) {
  return guard([&] {
    OPD_REQUIRE(array, out_item);
    const auto *items = unwrap<Array>(array);
    require_index(index, items->size(), "an array", "items");
    *out_item = Value(items->items()[index]).detach();
  });
}

opd_error *opd_map_create(const opd_value *pairs, int32_t count, opd_map **out_map) {
  return guard([&] {
    OPD_REQUIRE(out_map);
    *out_map = wrap<opd_map>(Map::make({pairs, 2 * OPD_REQUIRE_ITEMS(pairs, count).size()}));
  });
}

int32_t opd_map_count(const opd_map *map) { return map ? count_of_items(unwrap<Map>(map)->count) : 0; }

opd_error *opd_map_get(const opd_map *map, const opd_value *key, opd_value *out_value) {
  return guard([&] {
    OPD_REQUIRE(map, key, out_value);
    const Value *found = unwrap<Map>(map)->find(*key);
    if (!found) fail_as("KeyError", OPD_NOT_FOUND, "the map has no key ", to_text(*key));
    *out_value = Value(*found).detach();
  });
}

opd_error *opd_map_entry(const opd_map *map, int32_t index, opd_value *out_key, opd_value *out_value) {
  return guard([&] {
    OPD_REQUIRE(map, out_key, out_value);
    const auto &entries = *unwrap<Map>(map);
    require_index(index, entries.count, "a map", "entries");
    uint64_t place = entries.begin();
    while (index--) place = entries.next(place);
    *out_key = Value(entries.at(place).key).detach();
    *out_value = Value(entries.at(place).value).detach();
  });
}

opd_error *opd_dtype_from_string(const char *text, DLDataType *out_dtype) {
  return guard([&] {
    OPD_REQUIRE(text, out_dtype);
    *out_dtype = parse_dtype(text);
  });
}

opd_error *opd_value_to_string(const opd_value *value, opd_buffer **out_text) {
  return guard([&] {
    OPD_REQUIRE(value, out_text);
    give_text(to_text(*value), out_text);
  });
}
