// Textual signatures of C functions, such as `f64(f64, {i32, ptr}, ...)`. include/opdyno/function.h has the grammar.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace opd {

enum class CKind : uint8_t {
  kVoid,
  kBool,
  kI8,
  kI16,
  kI32,
  kI64,
  kU8,
  kU16,
  kU32,
  kU64,
  kF32,
  kF64,
  kPtr,
  kStr,
  kTensor,
  kStruct
};

struct CType {
  CKind kind = CKind::kVoid;
  std::vector<CType> fields;  // for a struct, never empty
};

struct Signature {
  CType result;
  std::vector<CType> arguments;
  bool variadic = false;
};

Signature parse_signature(std::string_view text);  // throws OPD_INVALID_ARGUMENT with the position of the mistake
const char *kind_name(CKind kind);
bool contains(const CType &type, CKind kind);  // whether the type or one of its fields, at any depth, has the kind

}  // namespace opd
