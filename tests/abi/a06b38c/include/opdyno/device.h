/** @file device.h  Devices: places that own memory and run kernels; their allocators; the thread pool. */
#ifndef OPDYNO_DEVICE_H_
#define OPDYNO_DEVICE_H_

#include <opdyno/value.h>

OPD_BEGIN_DECLS

/** Reads a device: "cpu", "cpu:0", "cuda:1", or a DLPack number as "2:0". TVM's other names are understood, too: "gpu"
 * is cuda, "cl" opencl, "mtl" metal, "llvm" and "c" cpu.
 * @param text Borrowed. @param out_device Written. OPD_INVALID_ARGUMENT; the device need not exist.
 * Threads: safe. Since: 0.1. Source: DLPack 1.3 DLDeviceType. */
OPD_API OPD_NODISCARD opd_error *opd_device_from_string(const char *text, DLDevice *out_device);
/** Writes a device as "cpu:0". @param out_text New reference. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_device_to_string(DLDevice device, opd_buffer **out_text);

/* The CPU has 64 devices, "cpu:0" to "cpu:63": all are the same processors and memory, each has allocators and
 * statistics of its own. Programs that TVM compiled for several devices run on them. */

/** Properties of a device; numbers are TVM's DeviceAttrKind. Append-only. */
typedef enum opd_device_attr {
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
  OPD_DEVICE_ATTR_MAX_ENUM = 0x7FFFFFFF     /**< Not a value: makes the type 32 bits wide. */
} opd_device_attr;

/** Gives a property; OPD_NONE where the device does not say. A device that is absent only answers OPD_ATTR_EXIST.
 * @param out_value New reference. OPD_UNSUPPORTED for every other property of an absent device; it lists those present.
 * Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_device_get_attr(DLDevice device, opd_device_attr attr, opd_value *out_value);
/** Waits until all work given to the device has ended; the CPU has none left behind. OPD_UNSUPPORTED device. Threads:
 * safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_device_sync(DLDevice device);

/* ---- streams --------------------------------------------------------------------------------------------------- */

/* A raw stream is a queue of work in the device's own interface, as a cudaStream_t. Each device has a default one,
 * which is NULL. The CPU has no other: what is given to it has ended when the call returns. */

/** Makes a raw stream.
 * @param out_stream Written: new, to be ended by opd_raw_stream_release(). OPD_UNSUPPORTED device, or one that has only
 * its default stream. Threads: safe. Since: 0.1. Source: TVM Device.create_raw_stream. */
OPD_API OPD_NODISCARD opd_error *opd_raw_stream_create(DLDevice device, void **out_stream);
/** Ends a raw stream that opd_raw_stream_create() made of the same device; work in it is finished first or goes on, as
 * the device's interface says.
 * @param stream Taken over on success; NULL does nothing. OPD_UNSUPPORTED as there. Threads: safe. Since: 0.1. Source:
 * TVM Device.free_raw_stream. */
OPD_API OPD_NODISCARD opd_error *opd_raw_stream_release(DLDevice device, void *stream);
/** Sets the stream that work of the calling thread goes to: compiled code asks for it by TVMFFIEnvGetStream.
 * @param stream Borrowed until another is set; of opdyno or of another library. NULL means the default one.
 * OPD_UNSUPPORTED as there. Threads: safe; each has its own. Since: 0.1. Source: TVM Device.set_raw_stream. */
OPD_API OPD_NODISCARD opd_error *opd_raw_stream_set(DLDevice device, void *stream);
/** Returns the stream that is set for the calling thread, or NULL; borrowed. Threads: safe. Since: 0.1 */
OPD_API void *opd_raw_stream_get(DLDevice device);
/** Waits until the work in a stream has ended; NULL: as opd_device_sync(). OPD_UNSUPPORTED as there. Threads: safe.
 * Since: 0.1. Source: TVM Device.sync. */
OPD_API OPD_NODISCARD opd_error *opd_raw_stream_sync(DLDevice device, void *stream);

/* ---- memory ---------------------------------------------------------------------------------------------------- */

/** How memory is kept. */
typedef enum opd_allocator_kind {
  OPD_ALLOCATOR_NAIVE = 1,                 /**< Every block goes back at once. */
  OPD_ALLOCATOR_POOLED = 2,                /**< Blocks of a size are kept for the next request of that size. */
  OPD_ALLOCATOR_KIND_MAX_ENUM = 0x7FFFFFFF /**< Not a value: makes the type 32 bits wide. */
} opd_allocator_kind;

/** Memory in use on a device, over all of the process. Sizes in bytes. */
typedef struct opd_memory_stats {
  uint32_t struct_size;    /**< sizeof(opd_memory_stats), set by the caller */
  uint32_t reserved;       /**< 0 */
  uint64_t live_bytes;     /**< held by tensors, storages and workspaces */
  uint64_t peak_bytes;     /**< greatest live_bytes since the start or the last opd_memory_reset_peak() */
  uint64_t reserved_bytes; /**< taken from the system: live and pooled */
  uint64_t alloc_count;    /**< requests */
  uint64_t pool_hit_count; /**< requests served from a pool */
  uint64_t idle_bytes; /**< of live_bytes: what VMs keep for their next call, used by nobody now; opd_vm_trim() frees
                            it, and so does a VM that runs short of memory */
} opd_memory_stats;

/** Reads the statistics. @param out_stats struct_size set by the caller; fields past it are left out. OPD_UNSUPPORTED
 * device; OPD_INVALID_ARGUMENT if struct_size is not set. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_memory_get_stats(DLDevice device, opd_memory_stats *out_stats);
/** Makes peak_bytes the present live_bytes. OPD_UNSUPPORTED device. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_memory_reset_peak(DLDevice device);
/** Gives pooled blocks back to the system; of the CPU also copies of unloaded libraries that are kept for their next
 * load (docs/environment.md, OPDYNO_KEPT_LIBRARIES_MB). OPD_UNSUPPORTED device. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_memory_trim(DLDevice device);

/** Where CPU memory comes from, for embedders with an arena of their own. Entries must be thread-safe. */
typedef struct opd_memory_hooks {
  uint32_t struct_size; /**< sizeof(opd_memory_hooks) */
  uint32_t reserved;    /**< 0 */
  /** Returns @p size bytes at a multiple of @p alignment (a power of two, at least 64), or NULL. */
  void *(*allocate)(void *user_data, size_t size, size_t alignment);
  /** Takes back what allocate gave, with the same numbers. */
  void (*deallocate)(void *user_data, void *data, size_t size, size_t alignment);
  void *user_data; /**< handed to both */
  opd_deleter
      deleter; /**< called with user_data when the hooks were replaced and their last block is back; may be NULL */
} opd_memory_hooks;

/** Sets where the CPU's memory comes from; blocks already out go back where they came from.
 * @param hooks Borrowed; its user_data is taken over on success. NULL restores the system's allocator. Threads: safe.
 * Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_memory_set_hooks(const opd_memory_hooks *hooks);

/* ---- threads --------------------------------------------------------------------------------------------------- */

/** Returns the number of threads that a parallel kernel may use, its caller included: opd_threads_set_count(), else
 *  OPDYNO_NUM_THREADS, else TVM_NUM_THREADS, else OMP_NUM_THREADS, else the processors that the process may use
 * (affinity and cgroup quota). Threads: safe. Since: 0.1 */
OPD_API int32_t opd_threads_count(void);
/** Sets that number; kernels that run finish as they began.
 * @param count 1 to 1024; 0 restores the default, read anew. Else OPD_OUT_OF_RANGE. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_threads_set_count(int32_t count);

OPD_END_DECLS
#endif
