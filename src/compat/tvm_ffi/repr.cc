// ffi.ReprPrint: prints values like Python, with the hooks and fields that types registered.
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <unordered_map>

#include "compat/tvm_ffi/define.h"
#include "compat/tvm_ffi/list.h"
#include "value/tensor.h"

namespace opd {
namespace {

__extension__ using Wide = unsigned __int128;

void append_hex(std::string &out, uint32_t number, int digits) {
  for (int i = digits; i-- > 0;) out += "0123456789abcdef"[number >> 4 * i & 15];
}

// Returns the UTF-8 length of a character that \u can write, and its code. Returns 1 if the byte does not start one.
size_t wide_character(std::string_view text, uint32_t &code) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : 0u; };
  const auto follows = [&](size_t i) { return (byte(i) & 0xc0) == 0x80; };
  const uint32_t c = byte(0);
  if ((c & 0xe0) == 0xc0 && follows(1)) return code = (c & 0x1f) << 6 | (byte(1) & 0x3f), 2;
  if ((c & 0xf0) == 0xe0 && follows(1) && follows(2))
    return code = (c & 0xf) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f), 3;
  if ((c & 0xf8) == 0xf0 && follows(1) && follows(2) && follows(3))
    return code = (c & 7) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f), 4;
  return code = c, 1;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const char c = text.front();
    uint32_t code = 0;
    const size_t size = wide_character(text, code);
    const char *const special = "\n\t\r\\\"", *const letter = "ntr\\\"";
    if (const char *found = c ? std::strchr(special, c) : nullptr) {
      out += {'\\', letter[found - special]};
    } else if (size == 1 && (code < 0x20 || code >= 0x7f)) {
      append_hex(out += "\\x", code, 2);
    } else if (size == 1) {
      out += c;
    } else {
      append_hex(out += size == 4 ? "\\U" : "\\u", code, size == 4 ? 8 : 4);
    }
    text.remove_prefix(size);
  }
  return out += '"';
}

std::string quoted_bytes(std::string_view bytes) {
  std::string out = "b\"";
  for (const char c : bytes) {
    if (c >= 32 && c < 127 && c != '"' && c != '\\') out += c;
    else append_hex(out += "\\x", static_cast<uint8_t>(c), 2);
  }
  return out += '"';
}

std::string number(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::general, 6).ptr;
  return {text, end};
}

class Printer {
 public:
  Printer() {
    const char *wanted = std::getenv("TVM_FFI_REPR_WITH_ADDR");
    shows_address_ = wanted && std::string_view(wanted) == "1";
  }

  std::string print(const View &v) {
    if (v.type >= OPD_OBJECT && !object_of(v)) return "None";
    switch (v.type) {
      case OPD_NONE:
        return "None";
      case OPD_INT:
        return concat(v.u.int64);
      case OPD_BOOL:
        return v.u.int64 ? "True" : "False";
      case OPD_FLOAT:
        return number(v.u.float64);
      case OPD_DTYPE:
        return dtype_name(v.u.dtype);
      case OPD_DEVICE:
        return device_name(v.u.device);
      case OPD_CSTRING:
      case OPD_SMALL_STRING:
      case OPD_STRING:
        return quoted(as_text(v, ""));
      case OPD_BYTES_VIEW:
      case OPD_SMALL_BYTES:
      case OPD_BYTES:
        return quoted_bytes(as_text(v, ""));
      default:
        return v.type < OPD_OBJECT ? std::string(type_key(v.type)) : print_object(*object_of(v), v);
    }
  }

 private:
  std::string address(const Object &object) const {
    if (!shows_address_) return {};
    char text[20];
    const auto end = std::to_chars(text, text + sizeof text, reinterpret_cast<uintptr_t>(&object), 16).ptr;
    return concat("@0x", std::string_view(text, static_cast<size_t>(end - text)));
  }

  std::string print_object(const Object &object, const View &v) {
    if (&object == missing_object().get()) return "<MISSING>";
    if (&object == kwargs_object().get()) return "<KWARGS>";
    if (const auto *tensor = try_as<Tensor>(v)) {
      std::string dims;
      append_dims(dims, dims_of(tensor->dl));
      return concat(dtype_name(tensor->dl.dtype), dims, "@", device_name(tensor->dl.device), address(object));
    }
    if (const auto *shape = try_as<Shape>(v)) return concat("Shape(", joined(shape->dims()), ")");
    if (v.type == kBigInt) return big_number(v);
    const auto [place, fresh] = done_.try_emplace(&object, concat("...", address(object)));
    if (!fresh) return place->second;  // "..." for an object within itself
    if (++depth_ > kMaxNesting) fail(OPD_INVALID_ARGUMENT, "objects are nested more than ", kMaxNesting, " deep");
    std::string text = print_inside(object, v);
    --depth_;
    return done_[&object] = std::move(text);
  }

  std::string print_inside(const Object &object, const View &v) {
    static const AttributeColumn *const hooks = attribute_column("__ffi_repr__");
    if (const auto *hook = try_as<Function>(attribute_of(v.type, hooks))) {
      const Value inner(checked_function("the repr of a part", 1, [this](Args args) { return Value(print(args[0])); }));
      const View args[] = {v, inner.view()};
      return text_argument(call(const_cast<Function &>(*hook), args), "the result of __ffi_repr__");
    }
    if (const Array *sequence = try_sequence(v)) {
      std::vector<std::string> items;
      for (const View &item : sequence->views()) items.push_back(print(item));
      const bool one = v.type == OPD_ARRAY && items.size() == 1;
      return concat(v.type == OPD_ARRAY ? "(" : "[", joined(items), one ? "," : "", v.type == OPD_ARRAY ? ")" : "]",
                    address(object));
    }
    if (const Map *map = try_map(v)) {
      std::vector<std::string> items;
      for (uint64_t at = map->begin(); at != map->end(); at = map->next(at)) {
        std::string key = print(map->at(at).key);
        items.push_back(concat(key, ": ", print(map->at(at).value)));
      }
      return concat("{", joined(items), "}", address(object));
    }
    return print_fields(object, type_at(v.type));
  }

  std::string print_fields(const Object &object, const TypeInfo &type) {
    static const TypeInfo *const enums = find_type(get_or_make_type({.key = "ffi.Enum", .parent = -2}));
    std::vector<std::pair<std::string_view, std::string>> fields;
    std::string name_in_enum;
    for_each_field(type, [&](const FieldInfo &field) {
      if (enums && text_of(field.name) == "_str_index")
        name_in_enum = text_argument(get_field(object, field), "the name in an enum");
      if (field.flags & kFieldReprOff) return;
      std::string text = print(get_field(object, field));
      for (const auto &[name, shown] : fields)
        if (name == text_of(field.name)) return;  // the ancestor's field is already shown
      fields.emplace_back(text_of(field.name), std::move(text));
    });
    if (enums && is_instance(type, enums->index)) return concat(text_of(type.key), ".", name_in_enum, address(object));
    std::vector<std::string> items;
    for (const auto &[name, shown] : fields) items.push_back(concat(name, "=", shown));
    const std::string head = concat(text_of(type.key), address(object));
    return items.empty() ? head : concat(head, "(", joined(items), ")");
  }

  // Divides repeatedly by the largest power of ten that fits 64 bits.
  static std::string big_number(const View &v) {
    const auto *count = reinterpret_cast<const size_t *>(object_of(v) + 1);
    std::vector<uint64_t> words(count + 1, count + 1 + *count);
    const bool negative = words.back() >> 63;
    Wide carry = 1;
    for (uint64_t &word : words)
      if (negative) carry += static_cast<uint64_t>(~word), word = static_cast<uint64_t>(carry), carry >>= 64;
    std::string digits;
    constexpr uint64_t kBase = 10000000000000000000u;
    while (!words.empty()) {
      Wide rest = 0;
      for (size_t i = words.size(); i-- > 0;) {
        rest = rest << 64 | words[i];
        words[i] = static_cast<uint64_t>(rest / kBase);
        rest %= kBase;
      }
      while (!words.empty() && !words.back()) words.pop_back();
      std::string part = concat(static_cast<uint64_t>(rest));
      if (!words.empty()) part.insert(0, 19 - part.size(), '0');
      digits.insert(0, part);
    }
    return negative ? "-" + digits : digits;
  }

  bool shows_address_ = false;
  size_t depth_ = 0;
  std::unordered_map<const Object *, std::string> done_;
};

}  // namespace

std::string repr(const View &value) { return Printer().print(value); }

void define_repr() {
  set_attribute(OPD_NONE, "__ffi_repr__", opd_none());  // makes the column, so that the first print finds it
  define("ffi.ReprPrint", 1, [](Args args) { return Value(repr(args[0])); });
}

}  // namespace opd
