// Makes strings, bytes, shapes, big integers and functions from Python's values.
#include <algorithm>

#include "compat/tvm_ffi/c_api.h"
#include "compat/tvm_ffi/define.h"
#include "value/hash.h"

namespace opd {
namespace {

Ref<Object> sentinel() {
  struct Plain final : Object {
    static int32_t type() { return OPD_OBJECT; }
  };
  return make_object<Plain>();
}

// Returns the words of a big integer (tvm-ffi's cell: a count, then the words) or of a plain integer.
std::span<const int64_t> words_of(const View &v) {
  if (v.type != kBigInt) return {&v.u.int64, 1};
  const auto *count = reinterpret_cast<const size_t *>(object_of(v) + 1);
  return {reinterpret_cast<const int64_t *>(count + 1), *count};
}

bool same_words(const View &a, const View &b) { return std::ranges::equal(words_of(a), words_of(b)); }

int64_t hash_words(const View &v) {
  const auto words = words_of(v);
  return static_cast<int64_t>(stable_hash({reinterpret_cast<const char *>(words.data()), words.size_bytes()}));
}

void define_big_int() {
  const auto attribute = [](const char *name, size_t arity, auto body) {
    set_attribute(kBigInt, name, Value(checked_function(name, static_cast<int>(arity), body)));
  };
  attribute("__any_hash__", 1, [](Args args) { return Value(hash_words(args[0])); });
  attribute("__any_equal__", 2, [](Args args) { return Value(same_words(args[0], args[1])); });
  // The last argument, a function for contained values, is unused.
  attribute("__ffi_hash__", 2, [](Args args) { return Value(hash_words(args[0])); });
  attribute("__ffi_eq__", 3, [](Args args) { return Value(same_words(args[0], args[1])); });
  attribute("__ffi_compare__", 3, [](Args args) { return Value(compare_big_ints(args[0], args[1])); });
}

Value make_shape(Args args) {
  int64_t *dims = nullptr;
  auto shape = Shape::make_uninitialised(args.size(), dims);
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].type != OPD_INT && args[i].type != OPD_BOOL)
      fail(OPD_INVALID_ARGUMENT, "Expect shape to take list of int arguments, but argument ", i, " is ",
           type_key(args[i].type));
    dims[i] = args[i].u.int64;
  }
  return shape;
}

Value make_extern_function(Args args) {
  const auto pointer = [&](size_t i) { return args[i].type == OPD_NONE ? nullptr : args[i].u.pointer; };
  for (const View &arg : args)
    if (arg.type != OPD_POINTER && arg.type != OPD_NONE) fail_type("ffi.FunctionFromExternC's argument", "void*", arg);
  void *function = nullptr;
  if (TVMFFIFunctionCreate(pointer(0), pointer(1), reinterpret_cast<void (*)(void *)>(pointer(2)), &function))
    throw Exception(take_raised());
  return Ref<Object>::take(static_cast<Object *>(function));
}

}  // namespace

int compare_big_ints(const View &a, const View &b) {
  const auto x = words_of(a), y = words_of(b);
  const bool negative = x.back() < 0;
  if (negative != (y.back() < 0)) return negative ? -1 : 1;
  if (x.size() != y.size()) return (x.size() < y.size()) != negative ? -1 : 1;
  if (x.back() != y.back()) return x.back() < y.back() ? -1 : 1;
  for (size_t i = x.size() - 1; i-- > 0;)
    if (x[i] != y[i]) return static_cast<uint64_t>(x[i]) < static_cast<uint64_t>(y[i]) ? -1 : 1;
  return 0;
}

Ref<Object> missing_object() {
  static const auto &object = *new Ref<Object>(sentinel());
  return object;
}
Ref<Object> kwargs_object() {
  static const auto &object = *new Ref<Object>(sentinel());
  return object;
}

void define_values() {
  define("ffi.GetInvalidObject", 0, [](Args) { return Value(missing_object()); });
  define("ffi.GetKwargsObject", 0, [](Args) { return Value(kwargs_object()); });
  define("ffi.String", 1, [](Args args) { return Value(as_text(args[0], "the string")); });
  define("ffi.Bytes", 1, [](Args args) { return make_bytes(as_text(args[0], "the bytes")); });
  define("ffi.Shape", -1, make_shape);
  define("ffi.FunctionFromExternC", 3, make_extern_function);
  define_big_int();
}

}  // namespace opd
