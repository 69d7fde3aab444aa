/** @file device_plugin.h  Kinds of devices that a program adds. */
#ifndef OPDYNO_DEVICE_PLUGIN_H_
#define OPDYNO_DEVICE_PLUGIN_H_

#include <opdyno/device.h>

OPD_BEGIN_DECLS

/** One argument of a kernel. Its layout is final. */
typedef struct opd_kernel_arg {
  const void *value;   /**< @p size_bytes bytes, as the kernel's parameter has them; not aligned for more than 8 */
  uint32_t size_bytes; /**< of the value */
  uint32_t is_address; /**< 1: the value is an address on the device, or NULL */
} opd_kernel_arg;

/** How a kernel is launched. All of it is borrowed for the call. */
typedef struct opd_kernel_launch {
  uint32_t struct_size;          /**< sizeof(opd_kernel_launch) of the library */
  uint32_t num_args;             /**< of args */
  const opd_kernel_arg *args;    /**< in the order of the kernel's parameters */
  uint32_t grid[3];              /**< blocks along x, y, z; at least 1 */
  uint32_t block[3];             /**< threads of a block along x, y, z; at least 1 */
  uint32_t cluster[3];           /**< blocks of a cluster along x, y, z; at least 1 */
  uint32_t is_cooperative;       /**< 1: all blocks must run at once */
  uint64_t dynamic_shared_bytes; /**< memory that the threads of a block share, beyond what the code states */
  void *stream;                  /**< of create_stream, or NULL for the default one */
} opd_kernel_launch;

/** What a kind of devices does. Functions may be NULL where their comments say so: then devices of the kind lack it.
 * All are called on any thread, several at once. Errors that they return are taken over; they name the cause, and
 * opdyno adds the operator.
 *
 * Work of one stream is done in the order in which it was given; work of other streams may be done at the same time. A
 * function that gives work to a stream need not wait for it. If the functions for streams are NULL, work has ended when
 * its function returns.
 *
 * Addresses are the device's own. No two blocks may have the same address, nor one of memory of the host; opdyno adds
 * offsets to them. The host does not access them. */
typedef struct opd_device_table {
  uint32_t struct_size; /**< sizeof(opd_device_table) */
  uint32_t reserved;    /**< 0 */
  /** Gives a property of device @p id. Must answer OPD_ATTR_EXIST for any id: a bool. For a device that does not exist,
   * OPD_ATTR_ABSENCE may give a text that says why. Leaves @p out_value as it is for what the device does not tell. */
  opd_error *(*get_attr)(void *user_data, int32_t id, opd_device_attr attr, opd_value *out_value);
  /** Returns @p size bytes at a multiple of @p alignment (a power of two, at least 64); NULL if there is no memory. */
  void *(*allocate)(void *user_data, int32_t id, uint64_t size, uint64_t alignment);
  /** Takes a block of allocate back. Work that was given before may still use it. */
  void (*deallocate)(void *user_data, int32_t id, void *data, uint64_t size);
  /** Copies bytes in the order of @p stream. One side or both are of the kind; the other may be the CPU's. If it is,
   * the copy has ended when the function returns. */
  opd_error *(*copy)(void *user_data, const void *from, DLDevice from_device, void *to, DLDevice to_device,
                     uint64_t size, void *stream);
  /** Waits until the work of a stream has ended; if @p all_streams is 1, that of all streams. */
  opd_error *(*sync)(void *user_data, int32_t id, void *stream, int all_streams);
  /** Makes a stream. May be NULL. */
  opd_error *(*create_stream)(void *user_data, int32_t id, void **out_stream);
  /** Ends a stream; its work still runs to its end. NULL if create_stream is. */
  void (*free_stream)(void *user_data, int32_t id, void *stream);
  /** Compiles the code of a module of kernels for device @p id. @p format is the code's as the artifact states it;
   * @p code has @p size bytes. May be NULL: then the kind has no kernels of its own, and so are the next three. */
  opd_error *(*build)(void *user_data, int32_t id, const char *format, const void *code, size_t size,
                      void **out_program);
  /** Ends a program and its kernels, when none of them will be launched any more. Launches that were given before may
   * still be at work. */
  void (*free_program)(void *user_data, int32_t id, void *program);
  /** Finds a kernel of a program, which it lasts as long as. */
  opd_error *(*find_kernel)(void *user_data, int32_t id, void *program, const char *name, void **out_kernel);
  /** Gives a kernel to a stream. */
  opd_error *(*launch)(void *user_data, int32_t id, void *kernel, const opd_kernel_launch *launch);
  void *user_data; /**< handed to all; it must last as long as the process */
  /** Notes a moment of a stream: when the work that it was given before has ended. Does not wait for it. May be NULL:
   * then recordings lack the work of the kind's devices, and so are the next three. */
  opd_error *(*record_event)(void *user_data, int32_t id, void *stream, void **out_event);
  /** Waits for the moment of an event. @p out_ns: its time on the device's clock, in nanoseconds. */
  opd_error *(*wait_event)(void *user_data, int32_t id, void *event, uint64_t *out_ns);
  /** Ends an event; its moment may not have come yet. */
  void (*free_event)(void *user_data, int32_t id, void *event);
  /** Gives the time of the device's clock now, in nanoseconds. It must not run backwards. */
  opd_error *(*get_time)(void *user_data, int32_t id, uint64_t *out_ns);
} opd_device_table;

/** Adds a kind of devices to the process. Its devices are then used as others are: tensors, copies, VMs, kernels of
 * modules whose kind has that name, profiles.
 * @param kind     Borrowed; a name of DLPack that opdyno has no back end for, as "ext_dev" or "vpi"; or a name of its
 *                 own: 1 to 32 small letters, digits and underscores, a letter first.
 * @param table    Borrowed; it is copied. A kind lasts as long as the process.
 * @param out_type Written: the kind's number for DLDevice. One of DLPack's, or the next from 48.
 * @return NULL, or OPD_INVALID_ARGUMENT for a wrong name or struct_size or a missing function, OPD_ALREADY_EXISTS if
 * the kind has a back end, OPD_OUT_OF_RANGE if 16 kinds with own names are there. Threads: safe. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_device_register(const char *kind, const opd_device_table *table,
                                                     int32_t *out_type);

OPD_END_DECLS
#endif
