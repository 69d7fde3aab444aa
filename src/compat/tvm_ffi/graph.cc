// ffi.ToJSONGraph and its inverse: {"root_index": i, "nodes": [{"type": key, "data": …}, …]}. Each value appears once
// and refers to its parts by number. tvm-ffi's serialization has the same format.

#include "compat/tvm_ffi/define.h"
#include "compat/tvm_ffi/list.h"
#include "value/dtype.h"

namespace opd {
namespace {

constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string to_base64(std::string_view bytes) {
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t word = 0;
    for (size_t k = 0; k < 3; ++k) word = word << 8 | (i + k < bytes.size() ? static_cast<uint8_t>(bytes[i + k]) : 0);
    for (size_t k = 0; k < 4; ++k) out += i + k <= bytes.size() ? kDigits[word >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

std::string from_base64(std::string_view text) {
  std::string out;
  uint32_t word = 0;
  int bits = 0;
  const size_t end = text.find('=');
  for (const char c : text.substr(0, end)) {
    const size_t digit = std::string_view(kDigits).find(c);
    if (digit == std::string_view::npos) fail(OPD_BAD_FORMAT, "bytes in JSON text are not in base 64");
    word = word << 6 | static_cast<uint32_t>(digit);
    if ((bits += 6) >= 8) out += static_cast<char>(word >> (bits -= 8));
  }
  return out;
}

Value array_of(const std::vector<Value> &items) { return Array::make(views_of(items)); }

bool is_enum(int32_t type, const char *key) {
  const TypeInfo *base = find_type(get_or_make_type({.key = key, .parent = -2}));
  return base && is_instance(type_at(type), base->index);
}

bool is_inline(int32_t static_type) {  // whether a value is stored in the object's data itself
  return static_type >= OPD_NONE && static_type <= OPD_DTYPE && static_type != OPD_POINTER;
}

class Encoder {
 public:
  Value encode(const View &root, const View &metadata) {
    const Value index = node_of(root);
    auto graph = make_object<Map>();
    graph->insert(Value("root_index"), index);
    graph->insert(Value("nodes"), array_of(nodes_));
    if (metadata.type != OPD_NONE) graph->insert(Value("metadata"), metadata);
    return graph;
  }

 private:
  Value node_of(const View &v) {
    if (const Value *known = numbers_->find(v)) return *known;
    if (++depth_ > kMaxNesting) fail(OPD_INVALID_ARGUMENT, "objects are nested more than ", kMaxNesting, " deep");
    const bool may_hold_itself = v.type == kList || v.type == kDict;
    if (may_hold_itself && !open_->find(v)) open_->insert(v, Value());
    else if (may_hold_itself)
      fail(OPD_INVALID_ARGUMENT, "Cycle detected during serialization: a ", v.type == kList ? "List" : "Dict",
           " contains itself");
    auto node = make_object<Map>();
    const std::string key(is_text(v) ? "ffi.String" : v.type == OPD_SMALL_BYTES ? "ffi.Bytes" : type_key(v.type));
    node->insert(Value("type"), Value(key));
    if (v.type != OPD_NONE) node->insert(Value("data"), data_of(v));
    if (may_hold_itself) open_->erase(v);
    --depth_;
    const Value number(static_cast<int64_t>(nodes_.size()));
    nodes_.emplace_back(std::move(node));
    numbers_->insert(v, number);
    return number;
  }

  Value data_of(const View &v) {
    switch (v.type) {
      case OPD_BOOL:
      case OPD_INT:
      case OPD_FLOAT:
        return Value(v);
      case OPD_DTYPE:
        return dtype_name(v.u.dtype);
      case OPD_DEVICE:
        return array_of({Value(int64_t{v.u.device.device_type}), Value(int64_t{v.u.device.device_id})});
      case OPD_SMALL_BYTES:
      case OPD_BYTES:
        return to_base64(as_text(v, ""));
      case OPD_SHAPE: {
        const auto dims = static_cast<Shape *>(object_of(v))->dims();
        return array_of({dims.begin(), dims.end()});
      }
      default:
        break;
    }
    if (is_text(v)) return Value(v);
    std::vector<Value> numbers;
    if (const Array *sequence = try_sequence(v)) {
      for (const View &item : sequence->views()) numbers.push_back(node_of(item));
      return array_of(numbers);
    }
    if (const Map *map = try_map(v)) {
      for (uint64_t at = map->begin(); at != map->end(); at = map->next(at)) {
        numbers.push_back(node_of(map->at(at).key));
        numbers.push_back(node_of(map->at(at).value));
      }
      return array_of(numbers);
    }
    if (v.type < OPD_OBJECT) fail_as("RuntimeError", OPD_UNSUPPORTED, "Cannot serialize type `", type_key(v.type), "`");
    return fields_of(v);
  }

  Value fields_of(const View &v) {
    const TypeInfo &type = type_at(v.type);
    if (is_enum(v.type, "ffi.Enum")) {
      const char *name = is_enum(v.type, "ffi.IntEnum") ? "_int_index" : "_str_index";
      Value found;
      for_each_field(type, [&](const FieldInfo &field) {
        if (text_of(field.name) == name) found = get_field(*object_of(v), field);
      });
      return found;
    }
    if (auto *hook = try_as<Function>(attribute_of(v.type, attribute_column("__data_to_json__"))))
      return call(*hook, {&v, 1});
    if (!(type.metadata && type.metadata->creator) &&
        attribute_of(v.type, attribute_column("__ffi_new__")).type == OPD_NONE)
      fail_as("TypeError", OPD_UNSUPPORTED, "Type `", text_of(type.key),
              "` does not support ToJSONGraph (no native creator or __ffi_new__ type attr)");
    auto data = make_object<Map>();
    for_each_field(type, [&](const FieldInfo &field) {
      const Value part = get_field(*object_of(v), field);
      data->insert(Value(text_of(field.name)), !is_inline(field.static_type) ? node_of(part)
                                               : field.static_type == OPD_DTYPE
                                                   ? Value(dtype_name(as_dtype(part, "a dtype")))
                                                   : part);
    });
    return data;
  }

  size_t depth_ = 0;
  std::vector<Value> nodes_;
  Ref<Map> numbers_ = make_object<Map>(), open_ = make_object<Map>();
};

class Decoder {
 public:
  explicit Decoder(const View &graph) {
    const Map *parts = try_map(graph);
    if (!parts) fail(OPD_BAD_FORMAT, "Invalid JSON Object Graph, expected an object");
    const Value *root = parts->find(Value("root_index")), *nodes = parts->find(Value("nodes"));
    if (!root || root->type() != OPD_INT)
      fail(OPD_BAD_FORMAT, "Invalid JSON Object Graph, expected `root_index` integer field");
    if (!nodes || !try_sequence(*nodes))
      fail(OPD_BAD_FORMAT, "Invalid JSON Object Graph, expected `nodes` array field");
    root_ = *root;
    nodes_ = try_sequence(*nodes)->views();
    made_.resize(nodes_.size());
    state_.resize(nodes_.size());
  }

  Value decode() { return node(root_); }

 private:
  Value node(const View &number) {
    const int64_t i = as_int(number, "the number of a node");
    if (i < 0 || static_cast<size_t>(i) >= nodes_.size())
      fail(OPD_BAD_FORMAT, "Invalid JSON Object Graph: invalid node index ", i);
    const auto place = static_cast<size_t>(i);
    if (state_[place] == kMade) return made_[place];
    if (state_[place] == kOpen) fail(OPD_BAD_FORMAT, "Invalid JSON Object Graph: node ", i, " contains itself");
    if (++depth_ > kMaxNesting) fail(OPD_BAD_FORMAT, "Invalid JSON Object Graph: nodes are nested too deep");
    state_[place] = kOpen;
    made_[place] = make(as_map(nodes_[place], "a node"));
    state_[place] = kMade;
    --depth_;
    return made_[place];
  }

  static const Map &as_map(const View &v, std::string_view what) {
    if (const Map *map = try_map(v)) return *map;
    fail_type(what, "an object", v);
  }

  Value make(const Map &node) {
    const Value *key = node.find(Value("type")), *found = node.find(Value("data"));
    if (!key) fail_as("KeyError", OPD_BAD_FORMAT, "a node of a JSON Object Graph has no type");
    const std::string name(as_text(*key, "a node's type"));
    const TypeInfo *type = find_type(get_or_make_type({.key = name, .parent = -2}));
    if (!type) fail_as("RuntimeError", OPD_NOT_FOUND, "Cannot find type `", name, "`");
    if (type->index == OPD_NONE) return {};
    if (!found) fail_as("KeyError", OPD_BAD_FORMAT, "a node of type ", name, " has no data");
    const View &data = *found;
    switch (type->index) {
      case OPD_BOOL:
      case OPD_INT:
      case OPD_FLOAT:
      case OPD_DTYPE:
        return plain(type->index, data);
      case OPD_DEVICE: {
        const Array &parts = as_sequence(data, "a device");
        if (parts.size() != 2)
          fail(OPD_BAD_FORMAT,
               "Invalid JSON Object Graph: Device data must be an array of [device_type, device_id], got ",
               parts.size(), " element(s)");
        return DLDevice{static_cast<DLDeviceType>(as_int(parts.items()[0], "a device's type")),
                        static_cast<int32_t>(as_int(parts.items()[1], "a device's number"))};
      }
      case OPD_STRING:
        return as_text(data, "a string");
      case OPD_BYTES:
        return make_bytes(from_base64(as_text(data, "bytes")));
      case OPD_SHAPE: {
        std::vector<int64_t> dims;
        for (const View &dim : as_sequence(data, "a shape").views()) dims.push_back(as_int(dim, "a size"));
        return Shape::make(dims);
      }
      case OPD_ARRAY:
        return array_of(all(data));
      case kList: {
        const auto items = all(data);
        return List::make(views_of(items));
      }
      case OPD_MAP:
        return fill(make_object<Map>(), data);
      case kDict:
        return fill(make_object<Dict>(), data);
      default:
        return make_object_of(*type, data);
    }
  }

  static Value plain(int32_t type, const View &data) {
    if (type == OPD_BOOL && data.type != OPD_BOOL) fail_type("a value in a JSON Object Graph", "bool", data);
    if (type == OPD_BOOL) return data.u.int64 != 0;
    if (type == OPD_INT) return as_int(data, "a value in a JSON Object Graph");
    if (type == OPD_FLOAT) return as_float(data, "a value in a JSON Object Graph");
    if (type == OPD_DTYPE) return as_dtype(data, "a value in a JSON Object Graph");
    return {};
  }

  std::vector<Value> all(const View &numbers) {
    std::vector<Value> items;
    for (const View &number : as_sequence(numbers, "a node's data").views()) items.push_back(node(number));
    return items;
  }

  template <class T>
  Value fill(Ref<T> map, const View &data) {
    const auto items = all(data);
    if (items.size() % 2)
      fail(OPD_BAD_FORMAT,
           "Invalid JSON Object Graph: Map/Dict data must contain an even number of [key, value] entries, "
           "got ",
           items.size());
    for (size_t i = 0; i < items.size(); i += 2) map->insert(items[i], items[i + 1]);
    return map;
  }

  Value make_object_of(const TypeInfo &type, const View &data) {
    if (is_enum(type.index, "ffi.Enum")) return enum_item(type, data);
    if (auto *hook = try_as<Function>(attribute_of(type.index, attribute_column("__data_from_json__"))))
      return call(*hook, {&data, 1});
    auto object = create_empty(type);
    const Map &parts = as_map(data, "an object's data");
    for_each_field(type, [&](const FieldInfo &field) {
      if (const Value *part = parts.find(Value(text_of(field.name))))
        set_field(*object, field, is_inline(field.static_type) ? plain(field.static_type, *part) : node(*part));
      else if (field.flags & kFieldHasDefault) set_field_to_default(*object, field);
      else
        fail_as("TypeError", OPD_BAD_FORMAT, "Required field `", text_of(field.name), "` not set in type `",
                text_of(type.key), "`");
    });
    return object;
  }

  // Returns the enum item with a number or name. The type's state has the items.
  static Value enum_item(const TypeInfo &type, const View &index) {
    const View state = attribute_of(type.index, attribute_column("__ffi_enum__"));
    Value found;
    if (is_object(state))
      for_each_field(type_at(state.type), [&](const FieldInfo &field) {
        if (text_of(field.name) != "indexes") return;
        const Value indexes = get_field(*object_of(state), field);
        const Map *map = try_map(indexes);
        if (const Value *item = map ? map->find(index) : nullptr) found = *item;
      });
    if (found.type() == OPD_NONE)
      fail_as("RuntimeError", OPD_NOT_FOUND, "enum `", text_of(type.key), "` has no member ", repr(index));
    return found;
  }

  enum State : uint8_t { kUnmade, kOpen, kMade };
  View root_ = opd_none();
  Args nodes_;
  size_t depth_ = 0;
  std::vector<Value> made_;
  std::vector<uint8_t> state_;
};

}  // namespace

void define_graphs() {
  for (const char *name : {"__data_to_json__", "__data_from_json__"}) set_attribute(OPD_NONE, name, opd_none());
  define("ffi.ToJSONGraph", 2, [](Args args) { return Encoder().encode(args[0], args[1]); });
  define("ffi.ToJSONGraphString", 2, [](Args args) { return Value(json_text(Encoder().encode(args[0], args[1]))); });
  define("ffi.FromJSONGraph", 1, [](Args args) { return Decoder(args[0]).decode(); });
  define("ffi.FromJSONGraphString", 1, [](Args args) {
    const Value graph = parse_json(as_text(args[0], "the JSON text"));
    return Decoder(graph).decode();
  });
  define("ffi.json.Parse", 1, [](Args args) { return parse_json(as_text(args[0], "the JSON text")); });
  define("ffi.json.Stringify", -1, [](Args args) {
    require(args.size() == 1 || args.size() == 2, "ffi.json.Stringify takes a value, and an indent");
    const int64_t indent = args.size() == 2 && args[1].type != OPD_NONE ? as_int(args[1], "the indent") : 0;
    require(indent >= 0 && indent <= 64, "an indent of ", indent, " is none of 0 to 64");
    return Value(json_text(args[0], static_cast<int>(indent)));
  });
}

}  // namespace opd
