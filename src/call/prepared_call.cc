#include "call/prepared_call.h"

#include "base/error.h"

namespace opd {
namespace {

ffi_type *plain_type(CKind kind) {
  switch (kind) {
    case CKind::kVoid:
      return &ffi_type_void;
    case CKind::kBool:
      return &ffi_type_uint8;
    case CKind::kI8:
      return &ffi_type_sint8;
    case CKind::kI16:
      return &ffi_type_sint16;
    case CKind::kI32:
      return &ffi_type_sint32;
    case CKind::kI64:
      return &ffi_type_sint64;
    case CKind::kU8:
      return &ffi_type_uint8;
    case CKind::kU16:
      return &ffi_type_uint16;
    case CKind::kU32:
      return &ffi_type_uint32;
    case CKind::kU64:
      return &ffi_type_uint64;
    case CKind::kF32:
      return &ffi_type_float;
    case CKind::kF64:
      return &ffi_type_double;
    default:
      return &ffi_type_pointer;
  }
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

}  // namespace opd
