/** @file params.h  Named tensors in a file or in memory: TVM param dicts and tensor caches, NumPy .npy and .npz,
 * .safetensors. docs/parameters.md says what each format can hold. */
#ifndef OPDYNO_PARAMS_H_
#define OPDYNO_PARAMS_H_

#include <opdyno/tensor.h>

OPD_BEGIN_DECLS

/** Tensors by name, in order. One thread at a time while tensors are added; else thread-safe. Threads that request the
 * same tensor at once get the same one. */
typedef struct opd_params opd_params;
OPD_HANDLE(opd_params);

/** How a file is opened. */
typedef struct opd_params_options {
  uint32_t struct_size;     /**< Set by opd_params_options_init(). */
  int32_t copy;             /**< 1: all tensors are copied at once, and the file is closed. Default: 0 */
  int32_t prefetch;         /**< 1: asks the system to read the file ahead, without waiting for it. Default: 0 */
  int32_t verify_checksums; /**< 1: compares the checksums in the file (zip entries, shards), which reads all of it.
                                 Default: 0 */
} opd_params_options;

/** Writes struct_size and the defaults, which are all 0 or NULL. NULL is allowed. Threads: safe. Since: 0.1 */
static inline void opd_params_options_init(opd_params_options *options) {
  const opd_params_options defaults = {(uint32_t)sizeof *options, 0, 0, 0};
  if (options) *options = defaults;
}

/** Makes an empty set.
 * @param out_params New reference.
 * @return NULL, or OPD_OUT_OF_MEMORY. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_params_create(opd_params **out_params);

/** Opens a file, or a tensor cache by its directory or its JSON file. The content of a file decides its format.
 *
 * The file is mapped. Names, dtypes and shapes are read and checked at once, tensors when they are requested. If the
 * elements of a tensor lie at a multiple of 64, the tensor is a view of the mapping; else it is copied once into its
 * own memory. A write into a view stays in this process. Until the set and its views are released, the file may be
 * replaced (renamed over, as opd_params_save() does) or removed. It must not be truncated in place: the process would
 * get SIGBUS. With the option copy, these rules hold only until this function returns.
 *
 * @param path       Borrowed. An .npy file gives one tensor, named "".
 * @param options    Borrowed; NULL means all defaults.
 * @param out_params New reference.
 * @return NULL, or OPD_NOT_FOUND; OPD_IO; OPD_BAD_FORMAT with the offset; OPD_UNSUPPORTED for content that no tensor
 *         can hold or that this build cannot read; OPD_OUT_OF_MEMORY.
 * Threads: safe. Cost: the headers; the elements are not touched. Blocks. Since: 0.1. Source: TVM load_param_dict,
 * tensor cache; NumPy NEP 1; safetensors 0.8. */
OPD_API OPD_NODISCARD opd_error *opd_params_open(const char *path, const opd_params_options *options,
                                                 opd_params **out_params);

/** Opens the bytes of a file in memory, as opd_params_open() opens the file.
 * @param data       Borrowed until @p deleter is called; with the option copy, until this function returns. Views point
 *                   into it, and writes to a view change it.
 * @param size       Bytes of @p data.
 * @param options    Borrowed; NULL means all defaults.
 * @param user_data  Passed to @p deleter.
 * @param deleter    May be NULL. Called once when the data is no longer needed; not after an error.
 * @param out_params New reference.
 * @return NULL, or an error of opd_params_open(); OPD_UNSUPPORTED for a tensor cache, which has several files.
 * Threads: safe. Blocks. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_params_open_bytes(void *data, size_t size, const opd_params_options *options,
                                                       void *user_data, opd_deleter deleter, opd_params **out_params);

/** Copies all tensors of a file in memory and compares its checksums: opd_params_open_bytes() with the options copy and
 * verify_checksums.
 * @param data       Borrowed for the call.
 * @param size       Bytes of @p data.
 * @param out_params New reference.
 * @return NULL, or an error of opd_params_open(): OPD_BAD_FORMAT, OPD_UNSUPPORTED, OPD_OUT_OF_MEMORY. Threads: safe.
 *         Blocks. Since: 0.1 */
static inline OPD_NODISCARD opd_error *opd_params_load_bytes(const void *data, size_t size, opd_params **out_params) {
  const opd_params_options options = {(uint32_t)sizeof options, 1, 0, 1};
  return opd_params_open_bytes((void *)data, size, &options, NULL, NULL, out_params);
}

/** Writes a file. Its suffix decides the format: .npz, .safetensors, .npy (exactly one tensor), tensor-cache.json (with
 * shards params_shard_0.bin … beside it), else a TVM param dict.
 *
 * Each file is replaced as a whole: readers see the old file or the new one. If the format allows padding (a param dict
 * does not), elements begin at multiples of 64 and can be mapped again.
 * @param path Borrowed.
 * @return NULL, or OPD_IO; OPD_NOT_FOUND (the directory); OPD_UNSUPPORTED for a dtype that the format lacks;
 *         OPD_INVALID_ARGUMENT for a name that it cannot hold.
 * Threads: safe. Blocks. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_params_save(const opd_params *params, const char *path);

/** Writes a TVM param dict to memory.
 * @param out_bytes New reference.
 * @return NULL, or OPD_UNSUPPORTED, OPD_OUT_OF_MEMORY. Threads: safe. Blocks. Since: 0.1. Source: TVM
 * save_param_dict. */
OPD_API OPD_NODISCARD opd_error *opd_params_save_bytes(const opd_params *params, opd_buffer **out_bytes);

/** Returns the number of tensors. Threads: safe. Since: 0.1 */
OPD_API int32_t opd_params_count(const opd_params *params);

/** The properties of a tensor in a set, known before the tensor is made. Pointers are borrowed from the set, until it
 * is released or the tensor is replaced. */
typedef struct opd_tensor_info {
  uint32_t struct_size; /**< Set by the caller to sizeof(opd_tensor_info). The library sets it to the number of bytes
                             that it filled. */
  int32_t ndim;         /**< Number of dimensions. */
  const char *name;     /**< Name of the tensor, in UTF-8. */
  const int64_t *shape; /**< @p ndim sizes; never NULL. */
  uint64_t bytes;       /**< Size of the elements in compact form. */
  DLDataType dtype;     /**< Type of the elements. */
  int32_t is_view;      /**< 1: the tensor is a view of the file, or becomes one when it is requested. */
} opd_tensor_info;

/** Gives the properties of the tensor at an index, without making it.
 * @param index    0 to opd_params_count() - 1.
 * @param out_info Written. Its struct_size must be set.
 * @return NULL, or OPD_OUT_OF_RANGE; OPD_INVALID_ARGUMENT for a wrong struct_size. Threads: safe. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_params_get_info(const opd_params *params, int32_t index,
                                                     opd_tensor_info *out_info);

/** Returns the name of the tensor at @p index; borrowed, NULL past the end. Threads: safe. Since: 0.1 */
static inline const char *opd_params_name(const opd_params *params, int32_t index) {
  opd_tensor_info info;
  opd_error *error;
  info.struct_size = (uint32_t)sizeof info;
  error = opd_params_get_info(params, index, &info);
  opd_error_release(error);
  return error ? NULL : info.name;
}

/** How the tensors were made so far. Sizes are in bytes. */
typedef struct opd_params_stats {
  uint32_t struct_size;  /**< Set by the caller to sizeof(opd_params_stats). The library sets it to the number of bytes
                              that it filled. */
  uint32_t reserved;     /**< Always 0. */
  uint64_t total_bytes;  /**< Size of all tensors of the set. */
  uint64_t viewed_bytes; /**< Size of the tensors of a file that were given as views of it. */
  uint64_t copied_bytes; /**< Size of the tensors of a file that were copied or decoded into their own memory. */
} opd_params_stats;

/** Reads the statistics.
 * @param out_stats Written. Its struct_size must be set.
 * @return NULL, or OPD_INVALID_ARGUMENT for a wrong struct_size. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_params_get_stats(const opd_params *params, opd_params_stats *out_stats);

/** Gives a tensor by name. A tensor of a file is made at the first call.
 * @param name       Borrowed.
 * @param out_tensor New reference; shares its data with the set, and keeps the file mapped.
 * @return NULL, or OPD_NOT_FOUND with close names; OPD_BAD_FORMAT for damage in compressed elements; OPD_OUT_OF_MEMORY;
 *         OPD_IO if the file was truncated.
 * Threads: safe. Cost: a few page faults for a view, the copying for a copy; afterwards a look-up. Blocks. Since:
 * 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_params_get(const opd_params *params, const char *name, opd_tensor **out_tensor);

/** Adds a tensor at the end. If there is one of that name, it is replaced in its place.
 * @param name   Borrowed; copied.
 * @param tensor Borrowed; retained.
 * @return NULL, or OPD_INVALID_ARGUMENT, OPD_OUT_OF_MEMORY. Threads: one at a time. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_params_set(opd_params *params, const char *name, opd_tensor *tensor);

OPD_END_DECLS
#endif
