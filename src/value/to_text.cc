// Converts values to text for people.
#include "base/json_writer.h"
#include "value/dtype.h"
#include "value/function.h"
#include "value/map.h"
#include "value/tensor.h"
#include "value/value.h"

namespace opd {
namespace {

constexpr int kMaxDepth = 32;         // nesting depth of containers
constexpr size_t kMaxItems = 1000;    // per container
constexpr size_t kMaxSize = 1 << 20;  // nested tuples that share items grow exponentially

void append_value(std::string &out, const View &v, int depth);

void append_items(std::string &out, const Array &array, int depth) {
  out += '[';
  for (size_t i = 0; i < array.size(); ++i) {
    if (i) out += ", ";
    if (i == kMaxItems) {
      out += "...";
      break;
    }
    append_value(out, array.items()[i], depth + 1);
  }
  out += ']';
}

void append_entries(std::string &out, const Map &map, int depth) {
  out += '{';
  size_t i = 0;
  for (uint64_t at = map.begin(); at != map.end(); at = map.next(at), ++i) {
    if (i) out += ", ";
    if (i == kMaxItems) {
      out += "...";
      break;
    }
    append_value(out, map.at(at).key, depth + 1);
    out += ": ";
    append_value(out, map.at(at).value, depth + 1);
  }
  out += '}';
}

void append_tensor(std::string &out, const DLTensor &tensor) {
  out += concat("Tensor(", type_text(tensor.dtype, dims_of(tensor)), ", ", device_name(tensor.device), ")");
}

void append_value(std::string &out, const View &v, int depth) {
  if (depth > kMaxDepth || out.size() > kMaxSize) return append(out, "...");
  if (lacks_object(v)) return append(out, "NULL");
  if (v.type == OPD_NONE) return append(out, "None");
  if (v.type == OPD_INT) return append(out, v.u.int64);
  if (v.type == OPD_BOOL) return append(out, v.u.int64 ? "true" : "false");
  if (v.type == OPD_FLOAT) return append(out, v.u.float64);
  if (v.type == OPD_DTYPE) return append(out, v.u.dtype);
  if (v.type == OPD_DEVICE) return append(out, v.u.device);
  if (v.type == OPD_DLTENSOR && !v.u.dltensor) return append(out, "NULL");
  if (v.type == OPD_DLTENSOR && !has_shape(*v.u.dltensor)) return append(out, "a DLTensor without a shape");
  if (v.type == OPD_DLTENSOR) return append_tensor(out, *v.u.dltensor);
  if (v.type == OPD_TENSOR) return append_tensor(out, static_cast<Tensor *>(object_of(v))->dl);
  if (const auto *shape = try_as<Shape>(v)) return append_dims(out, shape->dims());
  if (v.type == OPD_ARRAY || v.type == kList) return append_items(out, *static_cast<Array *>(object_of(v)), depth);
  if (const Map *map = try_map(v)) return append_entries(out, *map, depth);
  if (const auto *error = try_as<Error>(v))
    return append(out, concat(text_of(error->kind_view), ": ", text_of(error->message_view)));
  if (is_text(v)) return append_json_string(out, as_text(v, ""));
  out += concat("<", type_key(v.type), ">");
}

}  // namespace

std::string to_text(const View &v) {
  std::string out;
  append_value(out, v, 0);
  return out;
}

}  // namespace opd
