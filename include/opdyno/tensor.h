/** @file tensor.h  Tensors: DLPack memory with a shape and a dtype on a device. */
#ifndef OPDYNO_TENSOR_H_
#define OPDYNO_TENSOR_H_

#include <opdyno/device.h>

OPD_BEGIN_DECLS

/** A tensor. Its shape, dtype and device are immutable. opdyno does not synchronise access to its data. If several
 * threads of a program read and write it, the program must synchronise them.
 *
 * A tensor is read-only if it was made of a DLPack tensor with DLPACK_FLAG_BITMASK_READ_ONLY, or is a view of one that
 * is. opdyno never writes to a read-only tensor: a copy into it is OPD_INVALID_ARGUMENT, and so is its use as an
 * output. docs/tensors.md says which functions take it as an input. */
typedef struct opd_tensor opd_tensor;
OPD_HANDLE(opd_tensor);

/** Makes a tensor with its own memory: compact, 64-byte aligned, not initialised.
 * @param dims       Borrowed, @p ndim sizes, each at least 0.
 * @param dtype      Type of the elements.
 * @param device     Device of its memory.
 * @param out_tensor New reference.
 * @return NULL, or OPD_INVALID_ARGUMENT for a negative size, too many elements or a dtype without a size;
 *         OPD_OUT_OF_MEMORY; OPD_UNSUPPORTED device.
 * Threads: safe. Blocks. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_tensor_create(const int64_t *dims, int32_t ndim, DLDataType dtype, DLDevice device,
                                                   opd_tensor **out_tensor);

/** Returns the DLPack view of a tensor. Strides are always given.
 * @return Borrowed: valid while the tensor lives. NULL for NULL. Threads: safe. Since: 0.1 */
OPD_API DLTensor *opd_tensor_view(const opd_tensor *tensor);

/** Returns the size of the elements in bytes. Threads: safe. Since: 0.1 */
OPD_API uint64_t opd_tensor_bytes(const opd_tensor *tensor);

/** Returns 1 if the elements lie compactly in row-major order, else 0. Threads: safe. Since: 0.1 */
OPD_API int32_t opd_tensor_is_contiguous(const opd_tensor *tensor);

/** Returns 1 if the elements must not be written, else 0. A function that you register must check this before it writes
 * a tensor. Threads: safe. Since: 0.2. Source: DLPack 1.3 DLPACK_FLAG_BITMASK_READ_ONLY. */
OPD_API int32_t opd_tensor_is_read_only(const opd_tensor *tensor);

/** Copies the elements of a tensor to another one of the same shape and dtype. Strides and devices may differ. If one
 * side is memory of the host, the function waits for the copy. The exception is a copy from pinned memory (cuda_host)
 * to a device whose current stream the program made. Then the source must not be written until the program has
 * synchronised that stream.
 * @param from Borrowed.
 * @param to   Borrowed; its elements are written.
 * @return NULL, or OPD_INVALID_ARGUMENT: the shapes or dtypes differ (the message has both), or @p to is read-only;
 *         OPD_UNSUPPORTED device.
 * Threads: one at a time per @p to. Blocks. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_tensor_copy(const DLTensor *from, opd_tensor *to);

/** Copies bytes into a contiguous tensor.
 * @param to   Borrowed; its elements are written.
 * @param data Borrowed.
 * @param size The tensor's size in bytes.
 * @return NULL, or OPD_INVALID_ARGUMENT for another size, strides or a read-only tensor; OPD_UNSUPPORTED device.
 * Threads: one at a time per @p to. Blocks. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_tensor_copy_from_bytes(opd_tensor *to, const void *data, size_t size);

/** Copies the bytes of a contiguous tensor to memory.
 * @param from Borrowed.
 * @param data Written: @p size bytes.
 * @param size The tensor's size in bytes.
 * @return NULL, or OPD_INVALID_ARGUMENT for another size or strides; OPD_UNSUPPORTED device.
 * Threads: safe. Blocks. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_tensor_copy_to_bytes(const opd_tensor *from, void *data, size_t size);

/** Makes a tensor with the same elements and another shape. It shares the data of @p tensor, which must be contiguous.
 * @param dims       Borrowed, @p ndim sizes, each at least 0.
 * @param out_tensor New reference.
 * @return NULL, or OPD_INVALID_ARGUMENT for another number of elements or for strides.
 * Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_tensor_reshape(opd_tensor *tensor, const int64_t *dims, int32_t ndim,
                                                    opd_tensor **out_tensor);

/** Makes a tensor of borrowed memory, valid until opd_tensor_end_borrow(). With it, a callback can pass an OPD_DLTENSOR
 * argument, whose memory belongs to the caller, to functions that take tensors, not views.
 * @param from       Borrowed, like its memory.
 * @param out_tensor New reference. Its views, as opd_tensor_reshape() makes them, belong to the same loan.
 * @return NULL, or OPD_INVALID_ARGUMENT as opd_tensor_from_dlpack(). Threads: safe. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_tensor_borrow(const DLTensor *from, opd_tensor **out_tensor);

/** Ends a loan. Remaining references to the tensor or its views then have shape [0] and the same dtype, without data.
 * DLPack exports must have ended before. For other tensors, the function does nothing.
 * Threads: not while another thread uses a tensor of the loan. Since: 0.2 */
OPD_API void opd_tensor_end_borrow(opd_tensor *tensor);

/** Returns 1 for a tensor of opd_tensor_borrow() and its views, even after the end of the loan; else 0.
 * Threads: safe. Since: 0.2 */
OPD_API int32_t opd_tensor_is_borrowed(const opd_tensor *tensor);

/** Returns 1 if the tensor is borrowed and opd_tensor_end_borrow() was called, else 0. Threads: safe. Since: 0.2 */
OPD_API int32_t opd_tensor_has_ended(const opd_tensor *tensor);

/** Returns 1 if this is the only reference to the tensor and, as far as opdyno knows, to its memory; else 0. If it is
 * 1, no other part of the program can read or write the tensor through opdyno. Memory that came through DLPack may have
 * further users that opdyno does not know. A borrowed tensor is never unique: its memory is the caller's.
 * Threads: safe. Since: 0.2 */
OPD_API int32_t opd_tensor_is_unique(const opd_tensor *tensor);

/** Makes a tensor of a DLPack tensor, without a copy, and takes ownership of the latter.
 * @param managed    Taken over on success only. Its deleter runs after the last reference.
 * @param out_tensor New reference.
 * @return NULL, or OPD_INVALID_ARGUMENT: padded elements smaller than a byte, no data, a dtype of 0 lanes, elements not
 *         at a multiple of their size; OPD_UNSUPPORTED: a tensor of OpenCL or Vulkan. Threads: safe. Since: 0.1.
 *         Source: DLPack 1.3. */
OPD_API OPD_NODISCARD opd_error *opd_tensor_from_dlpack(DLManagedTensor *managed, opd_tensor **out_tensor);

/** Takes ownership of a versioned DLPack tensor, as opd_tensor_from_dlpack() does of an old one. Its flag READ_ONLY
 * stays with the tensor and its views.
 * @param managed    Taken over on success only.
 * @param out_tensor New reference.
 * @return NULL, or OPD_INVALID_ARGUMENT as there; OPD_UNSUPPORTED for another major version.
 * Threads: safe. Since: 0.1. Source: DLPack 1.3. */
OPD_API OPD_NODISCARD opd_error *opd_tensor_from_dlpack_versioned(DLManagedTensorVersioned *managed,
                                                                  opd_tensor **out_tensor);

/** Gives a tensor to a DLPack consumer without a copy.
 * @param out_managed New; its own deleter ends it.
 * @return NULL, or OPD_UNSUPPORTED for a read-only tensor, because this struct has no flag for it; OPD_OUT_OF_MEMORY.
 * Threads: safe. Since: 0.1. Source: DLPack 1.3. */
OPD_API OPD_NODISCARD opd_error *opd_tensor_to_dlpack(opd_tensor *tensor, DLManagedTensor **out_managed);

/** Gives a tensor to a DLPack consumer as the versioned struct, version 1.3, with the flag READ_ONLY
 * of a read-only tensor.
 * @param out_managed New; its own deleter ends it.
 * @return NULL, or OPD_OUT_OF_MEMORY. Threads: safe. Since: 0.1. Source: DLPack 1.3. */
OPD_API OPD_NODISCARD opd_error *opd_tensor_to_dlpack_versioned(opd_tensor *tensor,
                                                                DLManagedTensorVersioned **out_managed);

OPD_END_DECLS
#endif
