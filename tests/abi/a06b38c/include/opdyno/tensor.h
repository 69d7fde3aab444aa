/** @file tensor.h  Tensors: DLPack memory with a shape and a dtype on a device. */
#ifndef OPDYNO_TENSOR_H_
#define OPDYNO_TENSOR_H_

#include <opdyno/device.h>

OPD_BEGIN_DECLS

/** A tensor. Its shape, dtype and device are immutable; its data is the user's to guard. */
typedef struct opd_tensor opd_tensor;

/** Makes a tensor with memory of its own: compact, 64-byte aligned, not initialised.
 * @param dims Borrowed, @p ndim sizes, each ≥ 0. @param out_tensor New reference. OPD_INVALID_ARGUMENT for a negative
 * size, too many elements or a dtype without a size; OPD_OUT_OF_MEMORY; OPD_UNSUPPORTED device. Threads: safe. Since:
 * 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_tensor_create(const int64_t *dims, int32_t ndim, DLDataType dtype, DLDevice device,
                                                   opd_tensor **out_tensor);
/** Returns the DLPack view, valid while the tensor lives; strides are always given. Threads: safe. Since: 0.1 */
OPD_API DLTensor *opd_tensor_view(const opd_tensor *tensor);
/** Returns the size of the elements in bytes. Threads: safe. Since: 0.1 */
OPD_API uint64_t opd_tensor_bytes(const opd_tensor *tensor);
/** Returns whether the elements lie compactly in row-major order. Threads: safe. Since: 0.1 */
OPD_API int opd_tensor_is_contiguous(const opd_tensor *tensor);
/** Ends a reference. Threads: safe. Since: 0.1 */
OPD_API void opd_tensor_release(opd_tensor *tensor);

/** Copies elements between tensors of one shape and dtype, strided or not, on any devices, and waits.
 * @param from Borrowed. @param to Borrowed; written. OPD_INVALID_ARGUMENT names both shapes. Threads: one at a time per
 * @p to. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_tensor_copy(const DLTensor *from, DLTensor *to);
/** Copies @p size bytes into a contiguous tensor, which must have that size. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_tensor_copy_from_bytes(opd_tensor *to, const void *data, size_t size);
/** Copies a contiguous tensor out; @p size must be its size. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_tensor_copy_to_bytes(const opd_tensor *from, void *data, size_t size);
/** Makes a tensor of the same elements with another shape; shares the data of a contiguous tensor.
 * OPD_INVALID_ARGUMENT. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_tensor_reshape(opd_tensor *tensor, const int64_t *dims, int32_t ndim,
                                                    opd_tensor **out_tensor);

/** Takes over a DLPack tensor without copying.
 * @param managed Taken over on success only; its deleter runs after the last reference. Sub-byte padded data and NULL
 *        data with elements are OPD_INVALID_ARGUMENT. @param out_tensor New reference. Threads: safe. Since: 0.1.
 * Source: DLPack 1.3. */
OPD_API OPD_NODISCARD opd_error *opd_tensor_from_dlpack(DLManagedTensor *managed, opd_tensor **out_tensor);
/** The same for the versioned struct; another major version is OPD_UNSUPPORTED. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_tensor_from_dlpack_versioned(DLManagedTensorVersioned *managed,
                                                                  opd_tensor **out_tensor);
/** Gives a tensor to a DLPack consumer without copying. @param out_managed Ended by its own deleter. Threads: safe.
 * Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_tensor_to_dlpack(opd_tensor *tensor, DLManagedTensor **out_managed);
/** The same for the versioned struct, version 1.3. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_tensor_to_dlpack_versioned(opd_tensor *tensor,
                                                                DLManagedTensorVersioned **out_managed);

OPD_END_DECLS
#endif
