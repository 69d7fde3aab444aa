// Uses the fields that types registered: makes objects, fills them from positional and keyword arguments, reads them.
#include <algorithm>
#include <memory>

#include "compat/tvm_ffi/define.h"

namespace opd {
namespace {

struct InitField {
  const FieldInfo *info;
  bool takes_argument, keyword_only, has_default;
};

// The parameters of a type's constructor.
struct Signature {
  const TypeInfo &type;
  std::vector<InitField> fields;
  std::vector<size_t> positions;  // positional parameters; those without a default come first

  explicit Signature(const TypeInfo &t) : type(t) {
    for_each_field(type, [&](const FieldInfo &field) {
      fields.push_back({&field, !(field.flags & kFieldInitOff), (field.flags & kFieldKwOnly) != 0,
                        (field.flags & kFieldHasDefault) != 0});
      if (fields.back().takes_argument && !fields.back().keyword_only) positions.push_back(fields.size() - 1);
    });
    std::stable_partition(positions.begin(), positions.end(), [&](size_t i) { return !fields[i].has_default; });
  }

  template <class... Parts>
  [[noreturn]] void bad(const Parts &...parts) const {
    fail_as("TypeError", OPD_INVALID_ARGUMENT, text_of(type.key), ".__ffi_init__() ", parts...);
  }

  void set(Object &object, size_t i, const View *value) const {
    const FieldInfo &field = *fields[i].info;
    try {
      value ? set_field(object, field, *value) : set_field_to_default(object, field);
    } catch (const Exception &e) {
      std::string inner;  // on separate, indented lines
      for (const char c : "\n" + e.error()->message) inner += c == '\n' ? std::string("\n  ") : std::string(1, c);
      auto error = make_error(e.error()->code,
                              concat(text_of(type.key), ".__ffi_init__() ", value ? "field" : "default for field", " '",
                                     text_of(field.name), "':", inner),
                              e.error()->kind);
      error->set_cause(e.error());
      throw Exception(std::move(error));
    }
  }

  void bind(Object &object, Args args) const {
    std::vector<bool> is_set(fields.size());
    const auto give = [&](size_t i, const View &value) { set(object, i, &value), is_set[i] = true; };
    const Value mark(kwargs_object());
    size_t plain = 0;
    while (plain < args.size() && !(is_object(args[plain]) && object_of(args[plain]) == object_of(mark))) ++plain;
    if (plain > positions.size())
      bad("takes at most ", positions.size(), " positional argument(s), but ", plain, " were given");
    for (size_t i = 0; i < plain; ++i) give(positions[i], args[i]);
    if (plain < args.size()) {
      const Args named = args.subspan(plain + 1);
      if (named.size() % 2) bad("KWARGS requires an even number of key-value arguments");
      for (size_t i = 0; i < named.size(); i += 2) {
        const size_t field = find(as_text(named[i], "a keyword"));
        if (is_set[field]) bad("got multiple values for argument '", as_text(named[i], "a keyword"), "'");
        give(field, named[i + 1]);
      }
    }
    for (size_t i = 0; i < fields.size(); ++i) {
      if (is_set[i]) continue;
      if (fields[i].has_default) set(object, i, nullptr);
      else if (fields[i].takes_argument)
        bad("missing required ", fields[i].keyword_only ? "keyword-only " : "", "argument: '",
            text_of(fields[i].info->name), "'");
    }
  }

 private:
  size_t find(std::string_view name) const {
    for (size_t i = fields.size(); i-- > 0;)  // a type's own fields come before its ancestors' fields
      if (fields[i].takes_argument && text_of(fields[i].info->name) == name) return i;
    bad("got an unexpected keyword argument '", name, "'");
  }
};

// ffi.MakeObjectFromPackedArgs(type, name, value, name, value …)
Value make_from_named(Args args) {
  require(args.size() % 2 == 1, "ffi.MakeObjectFromPackedArgs takes a type, then names and values");
  const TypeInfo *type = is_text(args[0]) ? find_type(get_or_make_type({.key = as_text(args[0], ""), .parent = -2}))
                                          : &type_at(static_cast<int32_t>(as_int(args[0], "the type")));
  if (!type) fail_as("RuntimeError", OPD_NOT_FOUND, "Cannot find type `", as_text(args[0], ""), "`");
  auto object = create_empty(*type);
  std::vector<bool> used(args.size());
  for_each_field(*type, [&](const FieldInfo &field) {
    for (size_t i = 1; i < args.size(); i += 2) {
      if (used[i] || as_text(args[i], "a field's name") != text_of(field.name)) continue;
      used[i] = true;
      return set_field(*object, field, args[i + 1]);
    }
    if (!(field.flags & kFieldHasDefault))
      fail_as("TypeError", OPD_INVALID_ARGUMENT, "Required field `", text_of(field.name), "` not set in type `",
              text_of(type->key), "`");
    set_field_to_default(*object, field);
  });
  for (size_t i = 1; i < args.size(); i += 2)
    if (!used[i])
      fail_as("TypeError", OPD_INVALID_ARGUMENT, "Type `", text_of(type->key), "` does not have field `",
              as_text(args[i], "a field's name"), "`");
  return object;
}

}  // namespace

void register_init(int32_t index) {
  const auto signature = std::make_shared<Signature>(type_at(index));
  set_attribute(index, "__ffi_init__", Value(make_function([signature](Args args) -> Value {
                  auto object = create_empty(signature->type);
                  signature->bind(*object, args);
                  return object;
                })));
}

const TypeInfo &type_at(int32_t index) {
  if (const TypeInfo *type = find_type(index)) return *type;
  fail_as("RuntimeError", OPD_NOT_FOUND, "there is no type of index ", index);
}

View attribute_of(int32_t type, const AttributeColumn *column) {
  if (!column || type < column->begin || type - column->begin >= column->size) return opd_none();
  return column->data[type - column->begin];
}

Value get_field(const Object &object, const FieldInfo &field) {
  View value = opd_none();
  if (!field.getter) fail_as("TypeError", OPD_UNSUPPORTED, "field `", text_of(field.name), "` cannot be read");
  if (field.getter(reinterpret_cast<char *>(const_cast<Object *>(&object)) + field.offset, &value))
    throw Exception(take_raised());
  return Value::take(value);
}

void set_field(Object &object, const FieldInfo &field, const View &value) {
  void *place = reinterpret_cast<char *>(&object) + field.offset;
  if (!field.setter) fail_as("TypeError", OPD_UNSUPPORTED, "field `", text_of(field.name), "` cannot be set");
  if (field.flags & kFieldSetterIsFunction) {
    const View args[] = {opd_pointer(place), value};
    call(*static_cast<Function *>(static_cast<Object *>(field.setter)), args);
  } else if (reinterpret_cast<FieldSetter>(field.setter)(place, &value)) {
    throw Exception(take_raised());
  }
}

void set_field_to_default(Object &object, const FieldInfo &field) {
  if (field.flags & kFieldDefaultFromFactory)
    set_field(object, field, call(as<Function>(field.default_value, "a default's factory"), {}));
  else set_field(object, field, field.default_value);
}

Ref<Object> create_empty(const TypeInfo &type) {
  if (type.metadata && type.metadata->creator) {
    void *object = nullptr;
    if (type.metadata->creator(&object)) throw Exception(take_raised());
    return Ref<Object>::take(static_cast<Object *>(object));
  }
  if (auto *make = try_as<Function>(attribute_of(type.index, attribute_column("__ffi_new__")))) {
    const Value made = call(*make, {});
    if (is_object(made)) return Ref<Object>::share(object_of(made));
  }
  fail_as("RuntimeError", OPD_UNSUPPORTED, "Type `", text_of(type.key),
          "` does not support reflection creation (no native creator or __ffi_new__ type attr)");
}

void define_creation() {
  for (const char *name : {"__ffi_new__", "__ffi_init__", "__ffi_shallow_copy__", "__ffi_hash__", "__ffi_eq__",
                           "__ffi_compare__", "__ffi_convert__"})
    set_attribute(OPD_NONE, name, opd_none());  // only makes the columns
  define("ffi._RegisterFFIInit", 1,
         [](Args args) { return register_init(static_cast<int32_t>(as_int(args[0], "the type"))), Value(); });
  define("ffi.MakeObjectFromPackedArgs", -1, make_from_named);
}

}  // namespace opd
