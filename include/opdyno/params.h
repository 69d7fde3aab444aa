/** @file params.h  Named tensors in a file or in memory: TVM param dicts, NumPy .npy and .npz. */
#ifndef OPDYNO_PARAMS_H_
#define OPDYNO_PARAMS_H_

#include <opdyno/tensor.h>

OPD_BEGIN_DECLS

/** Tensors by name, in order. One at a time while it is added to; else immutable. */
typedef struct opd_params opd_params;

/** Makes an empty set. @param out_params New reference. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_params_create(opd_params **out_params);
/** Reads a file; its content tells the format: TVM param dict, .npy (one tensor, named ""), .npz.
 * @param path Borrowed. @param out_params New reference. OPD_NOT_FOUND, OPD_IO, OPD_BAD_FORMAT with the offset. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_params_load(const char *path, opd_params **out_params);
/** The same from memory. @param data Borrowed for the call. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_params_load_bytes(const void *data, size_t size, opd_params **out_params);
/** Writes a file; its suffix tells the format: .npz, .npy (exactly one tensor), else a TVM param dict. Replaces it as a whole. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_params_save(const opd_params *params, const char *path);
/** Writes a TVM param dict to memory. @param out_bytes New reference. Since: 0.1. Source: TVM save_param_dict. */
OPD_API OPD_NODISCARD opd_error *opd_params_save_bytes(const opd_params *params, opd_buffer **out_bytes);

/** Returns the number of tensors. Threads: safe. Since: 0.1 */
OPD_API size_t opd_params_count(const opd_params *params);
/** Returns the name at a place, or NULL past the end; borrowed. Since: 0.1 */
OPD_API const char *opd_params_name(const opd_params *params, size_t index);
/** Gives a tensor by name. @param out_tensor New reference; shares its data with the set. OPD_NOT_FOUND lists close names. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_params_get(const opd_params *params, const char *name, opd_tensor **out_tensor);
/** Adds a tensor at the end, or replaces the one of that name in its place. @param tensor Borrowed; retained. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_params_set(opd_params *params, const char *name, opd_tensor *tensor);
/** Ends a reference. Threads: safe. Since: 0.1 */
OPD_API void opd_params_release(opd_params *params);

OPD_END_DECLS
#endif
