#include "call/prepared_call.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>

#include "base/error.h"
#include "value/tensor.h"

namespace opd {
namespace {

// libffi's types of the kinds before kPtr, in the order of CKind. All later kinds are pointers, except structs: CLayout
// makes their types.
ffi_type *const kPlainTypes[] = {&ffi_type_void,   &ffi_type_uint8,  &ffi_type_sint8, &ffi_type_sint16,
                                 &ffi_type_sint32, &ffi_type_sint64, &ffi_type_uint8, &ffi_type_uint16,
                                 &ffi_type_uint32, &ffi_type_uint64, &ffi_type_float, &ffi_type_double};
static_assert(std::size(kPlainTypes) == static_cast<size_t>(CKind::kPtr));

ffi_type *plain_type(CKind kind) {
  return kind < CKind::kPtr ? kPlainTypes[static_cast<size_t>(kind)] : &ffi_type_pointer;
}

void check(ffi_status status) {
  if (status != FFI_OK)
    fail(OPD_UNSUPPORTED, "libffi cannot call such a function on this machine (status ", static_cast<int>(status), ")");
}

}  // namespace

CLayout::CLayout(const CType &type) : kind(type.kind), ffi(plain_type(type.kind)) {
  if (kind != CKind::kStruct) return;
  for (const CType &field : type.fields) {
    fields.push_back(std::make_unique<CLayout>(field));
    elements_.push_back(fields.back()->ffi);
  }
  elements_.push_back(nullptr);
  own_.type = FFI_TYPE_STRUCT;
  own_.elements = elements_.data();
  ffi = &own_;
  offsets.resize(fields.size());
  check(ffi_get_struct_offsets(FFI_DEFAULT_ABI, &own_, offsets.data()));  // also sets size and alignment
}

const CLayout &CLayout::plain(CKind kind) {
  static const auto *all = [] {
    auto *made = new std::vector<std::unique_ptr<CLayout>>;
    for (int k = 0; k < static_cast<int>(CKind::kStruct); ++k)
      made->push_back(std::make_unique<CLayout>(CType{static_cast<CKind>(k), {}}));
    return made;
  }();
  return *(*all)[static_cast<size_t>(kind)];
}

PreparedCall::PreparedCall(const Signature &signature)
    : result_(std::make_unique<CLayout>(signature.result)), variadic_(signature.variadic) {
  for (const CType &argument : signature.arguments) {
    arguments_.push_back(std::make_unique<CLayout>(argument));
    types_.push_back(arguments_.back()->ffi);
  }
  check(ffi_prep_cif(&cif_, FFI_DEFAULT_ABI, static_cast<unsigned>(types_.size()), result_->ffi, types_.data()));
}

void PreparedCall::prepare_variadic(std::vector<const CLayout *> further, std::vector<ffi_type *> &types,
                                    ffi_cif &out_cif) const {
  types = types_;
  for (const CLayout *layout : further) types.push_back(layout->ffi);
  check(ffi_prep_cif_var(&out_cif, FFI_DEFAULT_ABI, static_cast<unsigned>(types_.size()),
                         static_cast<unsigned>(types.size()), result_->ffi, types.data()));
}

// ---- conversions

static_assert(std::endian::native == std::endian::little,
              "small results are read from the low bytes of libffi's wide ones");

std::string Place::text() const {
  if (outer) {
    const std::string whole = outer->text();
    const size_t of = whole.find(" of ");  // turns "args[0] of f" into "args[0][2] of f"
    return concat(std::string_view(whole).substr(0, of), "[", index, "]", std::string_view(whole).substr(of));
  }
  if (is_result) return concat("the result of ", function);
  return concat("args[", index, "] of ", function);
}

namespace {

[[noreturn]] void fail_range(CKind kind, const View &value, const Place &place) {
  fail_as("OverflowError", OPD_OUT_OF_RANGE, place.text(), " must fit ", kind_name(kind), ", but is ", to_text(value));
}
[[noreturn]] void fail_kind(CKind kind, const View &value, const Place &place) {
  fail_type(place.text(), kind_name(kind), value);
}

template <class T>
void put(char *to, T value) {
  std::memcpy(to, &value, sizeof value);
}
template <class T>
T get(const char *from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
void store_integer(CKind kind, const View &value, char *to, const Place &place) {
  // Only a pointer value can have all 64 bits of an unsigned number.
  if (value.type == OPD_POINTER && kind == CKind::kU64) return put(to, value.u.pointer);
  if (value.type != OPD_INT && value.type != OPD_BOOL) fail_kind(kind, value, place);
  const int64_t number = value.u.int64;
  if (!std::in_range<T>(number)) fail_range(kind, value, place);
  put(to, static_cast<T>(number));
}

void store_bool(const View &value, char *to, const Place &place) {
  if (value.type != OPD_INT && value.type != OPD_BOOL) fail_kind(CKind::kBool, value, place);
  if (value.u.int64 != 0 && value.u.int64 != 1) fail_range(CKind::kBool, value, place);
  put(to, static_cast<uint8_t>(value.u.int64));
}

// Rounds float64 to float32 like C. Refuses a value that would become infinite, and an integer that would change.
template <class T>
void store_float(CKind kind, const View &value, char *to, const Place &place) {
  if (value.type == OPD_FLOAT) {
    const auto number = static_cast<T>(value.u.float64);
    if (std::isinf(number) && std::isfinite(value.u.float64)) fail_range(kind, value, place);
    return put(to, number);
  }
  if (value.type != OPD_INT && value.type != OPD_BOOL) fail_kind(kind, value, place);
  const auto number = static_cast<T>(value.u.int64);
  // 2^63 is representable but not an int64, so casting it back would be undefined.
  if (number >= static_cast<T>(0x1p63) || static_cast<int64_t>(number) != value.u.int64) fail_range(kind, value, place);
  put(to, number);
}

void store_pointer(const View &value, char *to, const Place &place) {
  if (value.type != OPD_POINTER && value.type != OPD_NONE) fail_kind(CKind::kPtr, value, place);
  put(to, value.type == OPD_NONE ? nullptr : value.u.pointer);
}

void store_text(const View &value, char *to, char *&texts, const Place &place) {
  if (!is_text(value)) fail_kind(CKind::kStr, value, place);
  if (value.type == OPD_CSTRING) {
    require(value.u.cstring, place.text(), " must be a string, but is NULL; the type ptr takes NULL");
    return put(to, value.u.cstring);
  }
  const std::string_view text = as_text(value, "");
  require(text.find('\0') == std::string_view::npos, place.text(),
          " must not hold a NUL byte, for C would end the string there");
  if (value.type != OPD_SMALL_STRING) return put(to, text.data());  // heap strings end with a NUL
  std::memcpy(texts, text.data(), text.size());
  texts[text.size()] = '\0';
  put(to, texts);
  texts += kShortText;
}

void store_tensor(const View &value, char *to, const Place &place) {
  DLTensor *tensor = try_dltensor(value);
  if (!tensor) fail_kind(CKind::kTensor, value, place);
  if (value.type == OPD_TENSOR && is_read_only(*static_cast<Tensor *>(object_of(value))))
    fail(OPD_INVALID_ARGUMENT, place.text(), " is ", describe(*tensor),
         ", which is read-only, and a C function may write it; pass a copy, or a DLTensor view of the tensor if the "
         "function only reads it");
  put(to, tensor);
}

void store_struct(const CLayout &layout, const View &value, char *to, char *&texts, const Place &place) {
  const auto *array = try_as<Array>(value);
  if (!array) fail_type(place.text(), "an array of the struct's fields", value);
  require(array->size() == layout.fields.size(), place.text(), " must have ", layout.fields.size(), " fields, but has ",
          array->size());
  for (size_t i = 0; i < array->size(); ++i)
    store(*layout.fields[i], array->items()[i], to + layout.offsets[i], texts, {place.function, i, &place});
}

Value load_struct(const CLayout &layout, const char *from, bool borrow, const Place &place) {
  std::vector<Value> fields;
  for (size_t i = 0; i < layout.fields.size(); ++i)
    fields.push_back(load(*layout.fields[i], from + layout.offsets[i], borrow, {place.function, i, &place}));
  return Value(Array::make({&fields.data()->view(), fields.size()}));
}

Value load_unsigned(uint64_t number, const Place &place) {
  if (number > static_cast<uint64_t>(INT64_MAX))
    fail_as("OverflowError", OPD_OUT_OF_RANGE, place.text(), " is ", number, ", which is more than an int value holds");
  return Value(static_cast<int64_t>(number));
}

}  // namespace

void store(const CLayout &layout, const View &value, char *to, char *&texts, const Place &place) {
  switch (layout.kind) {
    case CKind::kVoid:
      return;
    case CKind::kBool:
      return store_bool(value, to, place);
    case CKind::kI8:
      return store_integer<int8_t>(layout.kind, value, to, place);
    case CKind::kI16:
      return store_integer<int16_t>(layout.kind, value, to, place);
    case CKind::kI32:
      return store_integer<int32_t>(layout.kind, value, to, place);
    case CKind::kI64:
      return store_integer<int64_t>(layout.kind, value, to, place);
    case CKind::kU8:
      return store_integer<uint8_t>(layout.kind, value, to, place);
    case CKind::kU16:
      return store_integer<uint16_t>(layout.kind, value, to, place);
    case CKind::kU32:
      return store_integer<uint32_t>(layout.kind, value, to, place);
    case CKind::kU64:
      return store_integer<uint64_t>(layout.kind, value, to, place);
    case CKind::kF32:
      return store_float<float>(layout.kind, value, to, place);
    case CKind::kF64:
      return store_float<double>(layout.kind, value, to, place);
    case CKind::kPtr:
      return store_pointer(value, to, place);
    case CKind::kStr:
      return store_text(value, to, texts, place);
    case CKind::kTensor:
      return store_tensor(value, to, place);
    case CKind::kStruct:
      return store_struct(layout, value, to, texts, place);
  }
}

size_t text_count(const CLayout &layout) {
  size_t count = layout.kind == CKind::kStr;
  for (const auto &field : layout.fields) count += text_count(*field);
  return count;
}

Value load(const CLayout &layout, const char *from, bool borrow, const Place &place) {
  switch (layout.kind) {
    case CKind::kVoid:
      return {};
    case CKind::kBool:
      return Value(get<uint8_t>(from) != 0);
    case CKind::kI8:
      return Value(int64_t{get<int8_t>(from)});
    case CKind::kI16:
      return Value(int64_t{get<int16_t>(from)});
    case CKind::kI32:
      return Value(int64_t{get<int32_t>(from)});
    case CKind::kI64:
      return Value(get<int64_t>(from));
    case CKind::kU8:
      return Value(int64_t{get<uint8_t>(from)});
    case CKind::kU16:
      return Value(int64_t{get<uint16_t>(from)});
    case CKind::kU32:
      return Value(int64_t{get<uint32_t>(from)});
    case CKind::kU64:
      return load_unsigned(get<uint64_t>(from), place);
    case CKind::kF32:
      return Value(double{get<float>(from)});
    case CKind::kF64:
      return Value(get<double>(from));
    case CKind::kStruct:
      return load_struct(layout, from, borrow, place);
    default:
      break;
  }
  void *pointer = get<void *>(from);
  if (!pointer) return {};
  if (layout.kind == CKind::kPtr) return Value::take(opd_pointer(pointer));
  if (layout.kind == CKind::kTensor) return Value::take(opd_dltensor(static_cast<DLTensor *>(pointer)));
  const char *text = static_cast<const char *>(pointer);
  return borrow ? Value::take(opd_cstring(text)) : Value(text);
}

const CLayout &variadic_layout(const View &value, const Place &place) {
  switch (value.type) {
    case OPD_INT:
      return CLayout::plain(CKind::kI64);
    case OPD_BOOL:
      return CLayout::plain(CKind::kI32);  // C promotes it
    case OPD_FLOAT:
      return CLayout::plain(CKind::kF64);
    case OPD_NONE:
    case OPD_POINTER:
      return CLayout::plain(CKind::kPtr);
    case OPD_TENSOR:
    case OPD_DLTENSOR:
      return CLayout::plain(CKind::kTensor);
    default:
      break;
  }
  if (!is_text(value))
    fail_type(place.text(), "int, float, a string, a pointer or a tensor after the fixed arguments", value);
  return CLayout::plain(CKind::kStr);
}

}  // namespace opd
