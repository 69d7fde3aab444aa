// Signatures of C functions as text, `f64(f64, {i32, ptr}, ...)`; the grammar is that of include/opdyno/function.h.
#pragma once
#include <cstdint>
#include <string>
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
  std::vector<CType> fields;  // of a struct, never empty
};

struct Signature {
  CType result;
  std::vector<CType> arguments;
  bool variadic = false;
};

Signature parse_signature(std::string_view text);  // throws OPD_INVALID_ARGUMENT with the place of the mistake
const char *kind_name(CKind kind);
bool contains(const CType &type, CKind kind);  // the type itself or a field, at any depth

}  // namespace opd
