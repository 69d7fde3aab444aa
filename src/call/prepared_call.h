// A signature prepared for libffi, once: types with their memory layout, and the call interface (ffi_cif).
#pragma once
#include <ffi.h>

#include <memory>
#include <vector>

#include "call/signature.h"

namespace opd {

// A C type for libffi and the converters. Must not move: libffi keeps its address.
struct CLayout {
  explicit CLayout(const CType &type);
  CLayout(const CLayout &) = delete;
  CLayout &operator=(const CLayout &) = delete;

  CKind kind;
  ffi_type *ffi;
  std::vector<std::unique_ptr<CLayout>> fields;
  std::vector<size_t> offsets;  // of the fields

  static const CLayout &plain(CKind kind);  // for all kinds but struct; static storage

 private:
  ffi_type own_{};  // of a struct
  std::vector<ffi_type *> elements_;
};

class PreparedCall {
 public:
  explicit PreparedCall(const Signature &signature);  // throws if libffi cannot make such calls

  const CLayout &result() const { return *result_; }
  const std::vector<std::unique_ptr<CLayout>> &arguments() const { return arguments_; }
  bool is_variadic() const { return variadic_; }
  ffi_cif &cif() { return cif_; }  // libffi takes it without const, but only reads it

  // Prepares a call with these arguments after the fixed ones; `types` must live as long as `out_cif`.
  void prepare_variadic(std::vector<const CLayout *> further, std::vector<ffi_type *> &types, ffi_cif &out_cif) const;

 private:
  std::unique_ptr<CLayout> result_;
  std::vector<std::unique_ptr<CLayout>> arguments_;
  std::vector<ffi_type *> types_;
  bool variadic_;
  ffi_cif cif_{};
};

}  // namespace opd
