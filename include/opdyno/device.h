/** @file device.h  Devices: places that own memory and run kernels; their allocators; the thread pool. */
#ifndef OPDYNO_DEVICE_H_
#define OPDYNO_DEVICE_H_

#include <opdyno/value.h>

OPD_BEGIN_DECLS

/** Reads a device: "cpu", "cpu:0", "cuda:1", or a DLPack number such as "2:0". TVM's other names are accepted, too:
 * "gpu" is cuda, "cl" opencl, "mtl" metal, "llvm" and "c" cpu.
 * @param text       Borrowed.
 * @param out_device Written. The device need not exist.
 * @return NULL, or OPD_INVALID_ARGUMENT with the text.
 * Threads: safe. Since: 0.1. Source: DLPack 1.3 DLDeviceType. */
OPD_API OPD_NODISCARD opd_error *opd_device_from_string(const char *text, DLDevice *out_device);

/** Writes a device as "cpu:0": opd_value_to_string() of its value.
 * @param device   Any device, also an absent one.
 * @param out_text New reference.
 * @return NULL, or OPD_OUT_OF_MEMORY. Threads: safe. Since: 0.1 */
static inline OPD_NODISCARD opd_error *opd_device_to_string(DLDevice device, opd_buffer **out_text) {
  const opd_value value = opd_device_value(device);
  return opd_value_to_string(&value, out_text);
}

/* The CPU has 64 devices, "cpu:0" to "cpu:63". All are the same processors and memory; each has its own allocators and
 * statistics. Programs that TVM compiled for several devices run on them. */

/** Properties of a device; numbers are TVM's DeviceAttrKind. Append-only. */
typedef enum opd_device_attr OPD_ENUM_TYPE {
  OPD_ATTR_EXIST = 0,                       /**< bool */
  OPD_ATTR_MAX_THREADS_PER_BLOCK = 1,       /**< int */
  OPD_ATTR_WARP_SIZE = 2,                   /**< int */
  OPD_ATTR_MAX_SHARED_MEMORY_PER_BLOCK = 3, /**< int, bytes */
  OPD_ATTR_COMPUTE_VERSION = 4,             /**< string */
  OPD_ATTR_DEVICE_NAME = 5,                 /**< string */
  OPD_ATTR_MAX_CLOCK_RATE = 6,              /**< int, kHz */
  OPD_ATTR_MULTI_PROCESSOR_COUNT = 7,       /**< int */
  OPD_ATTR_MAX_THREAD_DIMENSIONS = 8,       /**< shape of 3 */
  OPD_ATTR_API_VERSION = 11,                /**< int */
  OPD_ATTR_DRIVER_VERSION = 12,             /**< string */
  OPD_ATTR_L2_CACHE_SIZE_BYTES = 13,        /**< int, bytes */
  OPD_ATTR_TOTAL_GLOBAL_MEMORY = 14,        /**< int, bytes */
  OPD_ATTR_AVAILABLE_GLOBAL_MEMORY = 15,    /**< int, bytes */
  OPD_ATTR_TEXTURE_SPATIAL_LIMIT = 1000,    /**< int, elements along an axis of an image; TVM has no number for it */
  OPD_ATTR_ABSENCE = 1001,                  /**< string: why there is no such device; OPD_NONE if it exists */
  OPD_DEVICE_ATTR_MAX_ENUM = 0x7FFFFFFF     /**< Not a value: makes the type 32 bits wide. */
} opd_device_attr;

/** Gives a property of a device.
 * @param device    Any device, also an absent one.
 * @param attr      The property; see opd_device_attr.
 * @param out_value New reference; OPD_NONE if the device does not report it. An absent device has only OPD_ATTR_EXIST
 *                  and OPD_ATTR_ABSENCE.
 * @return NULL, or OPD_UNSUPPORTED for any other property of an absent device; the message says why it is absent and
 *         lists the present ones.
 * Threads: safe. Cost: the first call for a kind starts its driver (OpenCL: up to a second). Blocks. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_device_get_attr(DLDevice device, opd_device_attr attr, opd_value *out_value);

/** Waits until a device has completed the work of all its streams. The CPU never has pending work.
 * @param device A present device.
 * @return NULL, or OPD_UNSUPPORTED for an absent device. Threads: safe. Blocks. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_device_sync(DLDevice device);

/* ---- streams --------------------------------------------------------------------------------------------------- */

/* A stream is a queue of work of one device, which does the work in order. NULL is the device's default stream. Each
 * thread has a current stream for each device; kernels and copies that it starts go there. Memory that was used in one
 * stream is not reused in another before that work has ended. Source: TVM DeviceAPI. */

/** Makes a stream.
 * @param device     A present device.
 * @param out_stream Written: the device's own pointer. opd_stream_free() ends it.
 * @return NULL, or OPD_UNSUPPORTED for an absent device or one without streams, such as the CPU.
 * Threads: safe. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_stream_create(DLDevice device, void **out_stream);

/** Waits for the work in a stream and frees the stream. It must not be any thread's current stream.
 * @param device A present device.
 * @param stream A stream of opd_stream_create() for the same device; NULL does nothing.
 * @return NULL, or OPD_UNSUPPORTED for an absent device, OPD_INVALID_ARGUMENT if @p stream is not one of its streams;
 *         the device's error if work in the stream failed. The stream is freed then, too.
 * Threads: safe. Blocks. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_stream_free(DLDevice device, void *stream);

/** Sets the calling thread's current stream of a device.
 * @param device     A present device.
 * @param stream     A stream of opd_stream_create() for the same device, or NULL for the default one.
 * @param out_before Written: the stream that was current before.
 * @return NULL, or OPD_UNSUPPORTED for an absent device, OPD_INVALID_ARGUMENT if @p stream is not one of its streams.
 *         Threads: safe.
 * Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_stream_set(DLDevice device, void *stream, void **out_before);

/** Waits until the work in a stream has ended.
 * @param device A present device.
 * @param stream A stream of opd_stream_create() for the same device, or NULL for the default one.
 * @return NULL, or OPD_UNSUPPORTED for an absent device, OPD_INVALID_ARGUMENT if @p stream is not one of its streams;
 *         the device's error if work in the stream failed.
 * Threads: safe. Blocks. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_stream_sync(DLDevice device, void *stream);

/* ---- memory ---------------------------------------------------------------------------------------------------- */

/** How freed memory is kept. */
typedef enum opd_allocator_kind OPD_ENUM_TYPE {
  OPD_ALLOCATOR_NAIVE = 1,                 /**< Every block is returned to the system at once. */
  OPD_ALLOCATOR_POOLED = 2,                /**< Blocks are kept for the next request of the same size. Memory that
                                                is not in use takes at most twice the greatest use, 8 MiB, and 2 MiB
                                                for each call of a VM that ran at the same time. */
  OPD_ALLOCATOR_KIND_MAX_ENUM = 0x7FFFFFFF /**< Not a value: makes the type 32 bits wide. */
} opd_allocator_kind;

/** Memory in use on a device by the whole process. Sizes in bytes. */
typedef struct opd_memory_stats {
  uint32_t struct_size; /**< Set by the caller to sizeof(opd_memory_stats). The library sets it to the number of bytes
                             that it filled. */
  uint32_t reserved;    /**< Always 0. */
  uint64_t live_bytes;  /**< Bytes held by tensors, storages and workspaces. */
  uint64_t peak_bytes;  /**< Greatest live_bytes since the start or the last opd_memory_reset_peak(). */
  uint64_t reserved_bytes; /**< Bytes taken from the system: live and pooled. */
  uint64_t alloc_count;    /**< Number of requests. */
  uint64_t pool_hit_count; /**< Number of requests served from a pool. */
  uint64_t idle_bytes;     /**< The part of live_bytes that VMs keep for their next call and that is not in use now.
                                opd_vm_trim() frees it, and so does a VM that needs more memory than there is. */
} opd_memory_stats;

/** Reads the statistics of a device's memory.
 * @param device    A present device.
 * @param out_stats Written. Its struct_size must be set.
 * @return NULL, or OPD_UNSUPPORTED for an absent device, OPD_INVALID_ARGUMENT for a wrong struct_size.
 * Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_memory_get_stats(DLDevice device, opd_memory_stats *out_stats);

/** Sets peak_bytes of a device to its present live_bytes.
 * @param device A present device.
 * @return NULL, or OPD_UNSUPPORTED for an absent device. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_memory_reset_peak(DLDevice device);

/** Returns pooled blocks to the system. For the CPU this includes the copies of unloaded libraries that are kept for
 * their next load (docs/environment.md, OPDYNO_KEPT_LIBRARIES_MB).
 * @param device A present device.
 * @return NULL, or OPD_UNSUPPORTED for an absent device. Threads: safe. Blocks. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_memory_trim(DLDevice device);

/** An allocator for CPU memory, for programs with an arena of their own. Both functions must be thread-safe. */
typedef struct opd_memory_hooks {
  uint32_t struct_size; /**< Must be sizeof(opd_memory_hooks). */
  uint32_t reserved;    /**< Must be 0. */
  /** Returns @p size bytes at a multiple of @p alignment (a power of two, at least 64), or NULL. */
  void *(*allocate)(void *user_data, size_t size, size_t alignment);
  /** Frees a block that allocate returned, with the same size and alignment. */
  void (*deallocate)(void *user_data, void *data, size_t size, size_t alignment);
  void *user_data;     /**< Passed to both functions. */
  opd_deleter deleter; /**< Called with user_data once the hooks were replaced and all their blocks were freed. May be
                            NULL. */
} opd_memory_hooks;

/** Sets the allocator of CPU memory. Blocks in use are later freed by the hooks that allocated them.
 * @param hooks Borrowed; its user_data is taken over on success. NULL restores the system's allocator.
 * @return NULL, or OPD_INVALID_ARGUMENT for a wrong struct_size or a missing function. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_memory_set_hooks(const opd_memory_hooks *hooks);

/* ---- threads --------------------------------------------------------------------------------------------------- */

/** Returns the number of threads that a parallel kernel may use, the calling thread included. The first of these
 * settings decides: opd_threads_set_count(), OPDYNO_NUM_THREADS, TVM_NUM_THREADS, OMP_NUM_THREADS, the processors that
 * the process may use (affinity and cgroup quota). Threads: safe. Since: 0.1 */
OPD_API int32_t opd_threads_count(void);

/** Sets the number of threads that a parallel kernel may use. Running kernels keep their threads.
 * @param count 1 to 1024; 0 restores the default, which is then read again.
 * @return NULL, or OPD_OUT_OF_RANGE. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_threads_set_count(int32_t count);

OPD_END_DECLS
#endif
