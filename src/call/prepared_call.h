// A signature that is prepared once for libffi: types with their memory layout, and the call interface (ffi_cif).
#pragma once
#include <ffi.h>

#include <memory>
#include <vector>

#include "call/signature.h"

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

}  // namespace opd
