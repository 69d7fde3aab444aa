// A signature that is prepared once for libffi: types with their memory layout, and the call interface (ffi_cif). Also
// the conversions between packed values and C values. Nothing is truncated: if a value does not fit, the error names
// its place.
#pragma once
#include <ffi.h>

#include <memory>
#include <vector>

#include "call/signature.h"
#include "value/value.h"

namespace opd {

// A C type for libffi and the converters. It must not move, because libffi keeps its address.
struct CLayout {
  explicit CLayout(const CType &type);
  CLayout(const CLayout &) = delete;
  CLayout &operator=(const CLayout &) = delete;

  CKind kind;
  ffi_type *ffi;
  std::vector<std::unique_ptr<CLayout>> fields;
  std::vector<size_t> offsets;  // one per field

  static const CLayout &plain(CKind kind);  // static; for all kinds but struct

 private:
  ffi_type own_{};  // for a struct
  std::vector<ffi_type *> elements_;
};

class PreparedCall {
 public:
  explicit PreparedCall(const Signature &signature);  // throws if libffi does not support such calls

  const CLayout &result() const { return *result_; }
  const std::vector<std::unique_ptr<CLayout>> &arguments() const { return arguments_; }
  bool is_variadic() const { return variadic_; }
  ffi_cif &cif() { return cif_; }  // libffi's parameter is not const, but it only reads

  // Prepares a call with `further` arguments after the fixed ones. `types` must live as long as `out_cif`.
  void prepare_variadic(std::vector<const CLayout *> further, std::vector<ffi_type *> &types, ffi_cif &out_cif) const;

 private:
  std::unique_ptr<CLayout> result_;
  std::vector<std::unique_ptr<CLayout>> arguments_;
  std::vector<ffi_type *> types_;
  bool variadic_;
  ffi_cif cif_{};
};

// ---- conversions

// A value's place for messages, such as "args[1] of pow", "args[0][2] of f", "the result of f".
struct Place {
  std::string_view function;
  size_t index;
  const Place *outer = nullptr;  // the struct that contains this field
  bool is_result = false;

  std::string text() const;
};

inline constexpr size_t kShortText = 8;  // bytes of a small string's copy

// Writes `value` as the C value of `layout` to `to`. `texts` has kShortText bytes for each str of the layout. Small
// strings are copied there, because C needs a NUL at the end, and `texts` is advanced.
void store(const CLayout &layout, const View &value, char *to, char *&texts, const Place &place);
size_t text_count(const CLayout &layout);

// Reads a C value. If `borrow`, strings are views of C's memory; otherwise they are copied. Tensors are always views.
Value load(const CLayout &layout, const char *from, bool borrow, const Place &place);

// Returns the C type of a value that follows the fixed arguments of a variadic function.
const CLayout &variadic_layout(const View &value, const Place &place);

}  // namespace opd
