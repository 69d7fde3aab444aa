/** @file device_plugin.h  Kinds of devices that a program adds. */
#ifndef OPDYNO_DEVICE_PLUGIN_H_
#define OPDYNO_DEVICE_PLUGIN_H_

#include <opdyno/device.h>

OPD_BEGIN_DECLS

/** One argument of a kernel. Its layout is final. */
typedef struct opd_kernel_arg {
  const void *value;   /**< @p size_bytes bytes in the layout of the kernel's parameter. Their alignment may be as small
                            as 8. */
  uint32_t size_bytes; /**< Size of the value. */
  int32_t is_address;  /**< 1: the value is an address on the device, or NULL. */
} opd_kernel_arg;

/** How a kernel is launched. All of it is borrowed for the call. */
typedef struct opd_kernel_launch {
  uint32_t struct_size;          /**< sizeof(opd_kernel_launch) in the library. */
  int32_t num_args;              /**< Number of @p args. */
  const opd_kernel_arg *args;    /**< Arguments in the order of the kernel's parameters. */
  uint32_t grid[3];              /**< Blocks along x, y, z; each at least 1. */
  uint32_t block[3];             /**< Threads of a block along x, y, z; each at least 1. */
  uint32_t cluster[3];           /**< Blocks of a cluster along x, y, z; each at least 1. */
  int32_t is_cooperative;        /**< 1: all blocks must run at the same time. */
  uint64_t dynamic_shared_bytes; /**< Memory that the threads of a block share, in addition to what the code
                                      declares. */
  void *stream;                  /**< Stream of create_stream. NULL: the default stream. */
} opd_kernel_launch;

/** Kinds of activities of a device. */
typedef enum opd_activity_kind OPD_ENUM_TYPE {
  OPD_ACTIVITY_KERNEL = 0,         /**< A kernel. */
  OPD_ACTIVITY_COPY_TO_DEVICE = 1, /**< A copy from the host to a device. */
  OPD_ACTIVITY_COPY_TO_HOST = 2,   /**< A copy from a device to the host. */
  OPD_ACTIVITY_COPY_ON_DEVICE = 3, /**< A copy within a device, or between two devices. */
  OPD_ACTIVITY_FILL = 4,           /**< Memory is filled with a value. */
  OPD_ACTIVITY_OVERHEAD = 5, /**< Overhead of the driver. It is not work of the device, and not part of its times. */
  OPD_ACTIVITY_KIND_MAX_ENUM = 0x7FFFFFFF /**< Not a value: makes the type 32 bits wide. */
} opd_activity_kind;

/** A piece of work that a plug-in reports. The work has ended: its times are not after get_time, and not before opdyno
 * switched the records on. A record that breaks this rule or has no name counts as lost. */
typedef struct opd_device_activity {
  uint32_t struct_size;   /**< Must be sizeof(opd_device_activity). */
  opd_activity_kind kind; /**< Kind of the activity. */
  const char *name;  /**< Borrowed for the call, UTF-8, NUL-terminated. Name of the kernel, or of the other work. Only
                          the first 4096 bytes are used. */
  uint64_t begin_ns; /**< Begin on the clock of get_time. Not 0. */
  uint64_t end_ns;   /**< End on the same clock. Not before begin_ns. */
  uint64_t bytes;    /**< Size of a copy or a fill, below 2^40. 0 for other activities. */
  uint64_t correlation; /**< Correlation id that set_correlation had set on the thread that submitted the work. 0:
                             none. */
  int32_t device_id;    /**< Index of the device within the kind. */
  uint32_t stream; /**< Number of the stream, below 65535. 0: the default stream. It is used only for work without a
                        correlation id; other work has the stream of its launch. */
} opd_device_activity;

/** Takes one piece of work. It does not fail. A plug-in calls it only within read_activity, on the same thread.
 */
typedef void (*opd_activity_receiver)(void *receiver, const opd_device_activity *activity);

/** The functions of a kind of devices. A function may be NULL only if its comment says so; then devices of the kind
 * lack that feature. All functions are called on any thread, several at once. opdyno owns the errors that they return.
 * An error names the cause; opdyno adds the operator.
 *
 * Work in one stream runs in the order of submission; different streams may run concurrently. A function that submits
 * work need not wait for it. If the functions for streams are NULL, work must be complete when its function returns.
 *
 * Addresses are device addresses: the host never accesses them, but opdyno adds offsets to them. No two blocks may have
 * the same address, and no block may have an address of host memory. */
typedef struct opd_device_table {
  uint32_t struct_size; /**< Must be sizeof(opd_device_table). */
  uint32_t reserved;    /**< Must be 0. */
  /** Gives a property of device @p id. Must answer OPD_ATTR_EXIST for any id, with a bool. If a device does not exist,
   * OPD_ATTR_ABSENCE may give the reason as text. If the device does not report the property, @p out_value must stay
   * unchanged. */
  opd_error *(*get_attr)(void *user_data, int32_t id, opd_device_attr attr, opd_value *out_value);
  /** Returns @p size bytes at a multiple of @p alignment (a power of two, at least 64); NULL if there is no memory. */
  void *(*allocate)(void *user_data, int32_t id, uint64_t size, uint64_t alignment);
  /** Frees a block that allocate returned. Work that was submitted before may still use it. */
  void (*deallocate)(void *user_data, int32_t id, void *data, uint64_t size);
  /** Copies bytes, in the order of @p stream. At least one side is a device of the kind; the other may be the CPU. If
   * one side is the CPU, the copy must be complete when the function returns. */
  opd_error *(*copy)(void *user_data, const void *from, DLDevice from_device, void *to, DLDevice to_device,
                     uint64_t size, void *stream);
  /** Waits until the work of a stream is complete. If @p all_streams is 1, it waits for all streams. */
  opd_error *(*sync)(void *user_data, int32_t id, void *stream, int32_t all_streams);
  /** Makes a stream. May be NULL. */
  opd_error *(*create_stream)(void *user_data, int32_t id, void **out_stream);
  /** Frees a stream; its work still completes. NULL if create_stream is NULL. */
  void (*free_stream)(void *user_data, int32_t id, void *stream);
  /** Compiles the code of a module of kernels for device @p id. @p format is the format that the artifact states; @p
   * code has @p size bytes. May be NULL together with the next three functions. Then the kind has no kernels of its
   * own. */
  opd_error *(*build)(void *user_data, int32_t id, const char *format, const void *code, size_t size,
                      void **out_program);
  /** Frees a program and its kernels. None of them is launched afterwards, but earlier launches may still be
   * running. */
  void (*free_program)(void *user_data, int32_t id, void *program);
  /** Finds a kernel of a program. It is valid as long as the program. */
  opd_error *(*find_kernel)(void *user_data, int32_t id, void *program, const char *name, void **out_kernel);
  /** Submits a kernel to a stream. */
  opd_error *(*launch)(void *user_data, int32_t id, void *kernel, const opd_kernel_launch *launch);
  void *user_data; /**< Passed to all functions. It must last as long as the process. */
  /** Records an event in a stream: the moment when all work submitted before it is complete. Does not wait for it. May
   * be NULL together with the next three functions. Then recordings lack the work of the kind's devices, and benchmarks
   * use the host's clock. */
  opd_error *(*record_event)(void *user_data, int32_t id, void *stream, void **out_event);
  /** Waits until an event has happened. @p out_ns: its time on the device's clock, in nanoseconds. */
  opd_error *(*wait_event)(void *user_data, int32_t id, void *event, uint64_t *out_ns);
  /** Frees an event, which may not have happened yet. */
  void (*free_event)(void *user_data, int32_t id, void *event);
  /** Gives the time of the device's clock now, in nanoseconds. It must not run backwards. */
  opd_error *(*get_time)(void *user_data, int32_t id, uint64_t *out_ns);
  /** Switches records of work on or off, for all devices of the kind. May be NULL, together with the next two
   * functions. It needs record_event and the functions that belong to it.
   *
   * Begin: @p is_on is 1. The plug-in keeps a record of each piece of work, including work that other code submits.
   * Recordings request it by opd_profiler_options.device_work = 2. Until the end, opdyno records no events of its own
   * around work.
   *
   * End: @p is_on is 0. The plug-in drops records that were not read. The end should not fail, because its error is not
   * reported.
   *
   * Rules: set_activity must not start or stop recordings. read_activity must not call opdyno at all. A child of fork()
   * has no records of its parent. */
  opd_error *(*set_activity)(void *user_data, int32_t is_on);
  /** Sets the correlation id of work that the calling thread submits from now on. 0 clears it. Called before and after
   * each launch and copy while records are kept. The last calls may come after set_activity has switched the records
   * off. */
  void (*set_correlation)(void *user_data, uint64_t correlation);
  /** Calls @p receive for each record that is kept, and then drops the record. If @p waits is 1, it first waits until
   * all submitted work is complete. @p out_lost: number of records that were dropped since the last call because memory
   * was short. Called ten times a second, and at the end of recordings. */
  opd_error *(*read_activity)(void *user_data, int32_t waits, opd_activity_receiver receive, void *receiver,
                              uint64_t *out_lost);
} opd_device_table;

/** Adds a kind of devices to the process. Its devices then serve tensors, copies, VMs and profiles like other devices.
 * Kernels of modules of the same kind run on them.
 * @param kind     Borrowed; a name of DLPack for which opdyno has no back end, such as "ext_dev" or "vpi"; or a new
 *                 name: 1 to 32 lower-case letters, digits and underscores, a letter first.
 * @param table    Borrowed; copied. A kind lasts as long as the process.
 * @param out_type Written: the kind's number for DLDevice: one of DLPack's, or the next one from 48 on.
 * @return NULL, or OPD_INVALID_ARGUMENT for a wrong name or struct_size or a missing function, OPD_ALREADY_EXISTS if
 *         the kind has a back end, OPD_OUT_OF_RANGE if there are 16 kinds with new names. Threads: safe. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_device_register(const char *kind, const opd_device_table *table,
                                                     int32_t *out_type);

OPD_END_DECLS
#endif
