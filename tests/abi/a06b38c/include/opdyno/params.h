/** @file params.h  Named tensors in a file or in memory: TVM param dicts and tensor caches, NumPy .npy and .npz,
 *  .safetensors. docs/parameters.md says what each format can hold. */
#ifndef OPDYNO_PARAMS_H_
#define OPDYNO_PARAMS_H_

#include <opdyno/tensor.h>

OPD_BEGIN_DECLS

/** Tensors by name, in order. One at a time while it is added to; else thread-safe: threads that ask for a tensor at
 * once get the same one. */
typedef struct opd_params opd_params;

/** How a file is opened. Set by opd_params_options_init(). Since: 0.1 */
typedef struct opd_params_options {
  uint32_t struct_size;     /**< sizeof(opd_params_options) */
  int32_t copy;             /**< 1: copies all tensors at once and lets go of the file; 0 */
  int32_t prefetch;         /**< 1: has the system read the file ahead, without waiting for it; 0 */
  int32_t verify_checksums; /**< 1: compares what checksums the file has (zip entries, shards); reads all of it; 0 */
} opd_params_options;
/** Writes the defaults. Since: 0.1 */
OPD_API void opd_params_options_init(opd_params_options *options);

/** Makes an empty set. @param out_params New reference. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_params_create(opd_params **out_params);
/** Opens a file, whose content tells the format, or a tensor cache by its folder or its JSON file.
 *
 * The file is mapped. Names, dtypes and shapes are read and checked at once, tensors when they are asked for: one whose
 * elements lie at a multiple of 64 is a view of the mapping, another is copied once into memory of its own. What is
 * written into a view stays in this process. Until the set and its views are released, the file may be replaced
 * (renamed over, as opd_params_save() does) or removed, but not be cut short in place: the process would get SIGBUS.
 * With the option copy, this holds only until this function returns.
 *
 * @param path Borrowed. An .npy file gives one tensor, named "". @param options Borrowed; NULL means the defaults.
 * @param out_params New reference.
 * @return NULL, or a new error: OPD_NOT_FOUND, OPD_IO, OPD_BAD_FORMAT with the offset, OPD_UNSUPPORTED (what no tensor
 * or no reader here can hold), OPD_OUT_OF_MEMORY. Threads: safe.  Cost: the headers; the elements are not touched.
 * Since: 0.1 Source: TVM load_param_dict, tensor cache; NumPy NEP 1; safetensors 0.8. */
OPD_API OPD_NODISCARD opd_error *opd_params_open(const char *path, const opd_params_options *options,
                                                 opd_params **out_params);
/** The same for the bytes of a file in memory; a tensor cache is OPD_UNSUPPORTED.
 * @param data Borrowed until @p deleter is called, except with the option copy, which calls it before returning. Views
 *        point into it, and writing into them writes there. @param user_data For @p deleter, which may be NULL: called
 * once when nothing needs the data any more; not after an error. @param out_params New reference. Threads: safe. Since:
 * 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_params_open_bytes(void *data, size_t size, const opd_params_options *options,
                                                       void *user_data, void (*deleter)(void *user_data),
                                                       opd_params **out_params);
/** opd_params_open() with the defaults. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_params_load(const char *path, opd_params **out_params);
/** Copies all tensors of a file in memory, and compares its checksums. @param data Borrowed for the call. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_params_load_bytes(const void *data, size_t size, opd_params **out_params);
/** Writes a file; its suffix tells the format: .npz, .safetensors, .npy (exactly one tensor), tensor-cache.json (with
 * shards params_shard_0.bin … beside it), else a TVM param dict.
 *
 * Each file is replaced as a whole: readers see the old one or the new one. Where the format has room for padding, so
 * not in a param dict, elements begin at multiples of 64 and can be mapped again.
 * @param path Borrowed. OPD_IO, OPD_NOT_FOUND (the folder), OPD_UNSUPPORTED (a dtype that the format lacks),
 * OPD_INVALID_ARGUMENT (a name that it cannot hold). Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_params_save(const opd_params *params, const char *path);
/** Writes a TVM param dict to memory. @param out_bytes New reference. Since: 0.1. Source: TVM save_param_dict. */
OPD_API OPD_NODISCARD opd_error *opd_params_save_bytes(const opd_params *params, opd_buffer **out_bytes);

/** Returns the number of tensors. Threads: safe. Since: 0.1 */
OPD_API size_t opd_params_count(const opd_params *params);
/** Returns the name at a place, or NULL past the end; borrowed. Since: 0.1 */
OPD_API const char *opd_params_name(const opd_params *params, size_t index);
/** Returns the dtype of the tensor at a place, all zeros past the end; does not load it. Threads: safe. Since: 0.1 */
OPD_API DLDataType opd_params_dtype(const opd_params *params, size_t index);
/** Returns the shape of the tensor at a place, or NULL past the end; does not load it.
 * @param out_ndim How many sizes there are. The sizes are borrowed until the set is released or that tensor replaced.
 * Threads: safe. Since: 0.1 */
OPD_API const int64_t *opd_params_shape(const opd_params *params, size_t index, int32_t *out_ndim);
/** Returns the size of the tensor's elements in bytes, compactly, or 0 past the end; does not load it. Threads: safe.
 * Since: 0.1 */
OPD_API uint64_t opd_params_bytes(const opd_params *params, size_t index);
/** Returns whether the tensor at a place is, or once asked for will be, a view of the file. Threads: safe. Since: 0.1
 */
OPD_API int opd_params_is_view(const opd_params *params, size_t index);

/** What became of the tensors so far. Sizes in bytes. Since: 0.1 */
typedef struct opd_params_stats {
  uint32_t struct_size;  /**< sizeof(opd_params_stats), set by the caller */
  uint32_t reserved;     /**< 0 */
  uint64_t total_bytes;  /**< of all tensors of the set */
  uint64_t viewed_bytes; /**< of those of a file that were given as views of it */
  uint64_t copied_bytes; /**< of those of a file that were copied or decoded into memory of their own */
} opd_params_stats;
/** Reads the statistics. @param out_stats struct_size set by the caller; fields past it are left out. Threads: safe.
 * Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_params_get_stats(const opd_params *params, opd_params_stats *out_stats);

/** Gives a tensor by name; a tensor of a file is made at the first call.
 * @param out_tensor New reference; shares its data with the set, and keeps the file mapped. OPD_NOT_FOUND lists close
 * names; OPD_BAD_FORMAT for damage in compressed elements; OPD_OUT_OF_MEMORY; OPD_IO where the file was cut short.
 * Threads: safe. Cost: of a view a few page faults, of a copy the copying; then a look-up. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_params_get(const opd_params *params, const char *name, opd_tensor **out_tensor);
/** Adds a tensor at the end, or replaces the one of that name in its place. @param tensor Borrowed; retained. Since:
 * 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_params_set(opd_params *params, const char *name, opd_tensor *tensor);
/** Ends a reference. Threads: safe. Since: 0.1 */
OPD_API void opd_params_release(opd_params *params);

OPD_END_DECLS
#endif
