// Handles memory that a caller lends to a callback, which is an argument of kind OPD_DLTENSOR. The callback gets a
// tensor from opd_tensor_borrow(). After the callback has returned, the binding ends the loan by
// opd_tensor_end_borrow().
#pragma once
#include <opdyno/opdyno.h>

namespace opdrules {

// Makes the result of a callback owned. A tensor of lent memory is copied, because the caller owns the memory.
inline opd_error *own_result(const opd_value &view, opd_value *out) {
  const auto *tensor = view.type == OPD_TENSOR ? reinterpret_cast<const opd_tensor *>(view.u.object) : nullptr;
  if (!opd_tensor_is_borrowed(tensor)) return opd_value_retain(&view, out);
  const DLTensor &from = *opd_tensor_view(tensor);
  opd_tensor *made = nullptr;
  opd_error *error = opd_tensor_create(from.shape, from.ndim, from.dtype, from.device, &made);
  if (!error) error = opd_tensor_copy(&from, made);
  if (error) opd_tensor_release(made);
  else *out = opd_value_of_object(made);
  return error;
}

}  // namespace opdrules
