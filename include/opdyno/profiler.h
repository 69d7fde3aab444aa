/** @file profiler.h  Profilers, which record the whole process, and ranges, which name the work of a program. */
#ifndef OPDYNO_PROFILER_H_
#define OPDYNO_PROFILER_H_

#include <opdyno/base.h>
#include <opdyno/trace.h>

OPD_BEGIN_DECLS

/** Records the calls of all VMs on all threads, and the ranges of the program, on one time line. Thread-safe. */
typedef struct opd_profiler opd_profiler;
OPD_HANDLE(opd_profiler);

/** Which events are dropped if the buffer is full. Append-only. */
typedef enum opd_profiler_buffer OPD_ENUM_TYPE {
  OPD_PROFILER_KEEP_FIRST = 0,              /**< The newest events. */
  OPD_PROFILER_KEEP_LAST = 1,               /**< The oldest events of all threads: the buffer is a ring buffer. */
  OPD_PROFILER_BUFFER_MAX_ENUM = 0x7FFFFFFF /**< Not a value: makes the type 32 bits wide. */
} opd_profiler_buffer;

/** Options of opd_profiler_create(). */
typedef struct opd_profiler_options {
  uint32_t struct_size; /**< Set by opd_profiler_options_init(). */
  int32_t all_calls;    /**< 1: also records calls without a tensor among their arguments. Default: 0 */
  uint64_t max_events;  /**< Limit of events of each thread, calls and ranges together. Further events are counted as
                             dropped. The limit does not apply to a ring buffer or a file. Default: 2^20 */
  /** Steps at the start of a cycle that are not recorded. opd_profiler_step() ends a step. A schedule begins with
   * `skip_first` steps that are not recorded. Then cycles follow: each has `wait` and `warmup` steps that are not
   * recorded, then `active` steps that are. Default: 0 */
  uint64_t wait;
  uint64_t warmup;         /**< Steps of a cycle after `wait`, which are not recorded. Default: 0 */
  uint64_t active;         /**< Recorded steps of a cycle. 0: no schedule; everything is recorded. Default: 0 */
  uint64_t repeat;         /**< Number of cycles. Default: 0: no limit */
  uint64_t skip_first;     /**< Steps before the first cycle. Default: 0 */
  int32_t skip_first_wait; /**< 1: the first cycle does not wait. Default: 0 */
  int32_t profile_memory; /**< 1: also records memory, on all threads. An event is recorded when a block for tensors and
                               kernels is allocated, when it is freed, and when the library gives it new contents.
                               Default: 0 */
  int32_t with_stack;     /**< 1: also records the host's call stack when a run of a program, a range or a mark begins.
                               Default: 0 */
  int32_t parallel_tasks; /**< 1: also records each task of a parallel loop, on the thread that runs it; 0: records no
                               tasks. Default: 1 */
  opd_profiler_buffer buffer; /**< Which events are dropped beyond `max_bytes`. They are counted. Default:
                                   OPD_PROFILER_KEEP_FIRST */
  int32_t keep_in_file; /**< 1: opd_profiler_stop() and opd_profiler_step() do not read the file, so they give no trace.
                             Reading a file of some GiB takes as much memory. Default: 0 */
  /** Limit for the events of all threads together: of their memory, or of the file's size. Events are kept in blocks of
   * 64 KiB, at least one for each thread. FILE.live, which has one block for each thread, is not included, nor are
   * names and counts. 0: no limit, but 64 MiB for a ring buffer. Default: 0 */
  uint64_t max_bytes;
  /** Borrowed. Path of a file. Events are written to it, not to memory, while they are recorded. opd_trace_load() reads
   * it. If the process is killed, the events that it published are in FILE and FILE.live. The next recording into FILE
   * renames these to FILE.crashed and FILE.crashed.live. Each recording of a schedule rewrites the file. Default:
   * NULL: events stay in memory */
  const char *file;
  uint64_t last_ns; /**< Age limit of events: a trace leaves out events that ended earlier than this before it is made.
                         Default: 0: no limit */
  /** Interval at which a thread of the library syncs the file to the disk; at most a day. If the machine loses power,
   * the files have all events from before the last sync but one; docs/tracing.md has the exception. 0: the system
   * decides when, often after 30 s. A killed process loses nothing in either case. Default: 0 */
  uint64_t flush_interval_ns;
  /** 1: also records kernels and copies on devices other than the CPU. Their times are the device's, converted to the
   * trace's clock. They are listed under the host thread that submitted them. If a driver reports no times, its devices
   * have no such events. 0: records no work of devices. 2: the devices' own libraries report the work: NVIDIA's CUPTI
   * that of CUDA devices, and plug-ins with set_activity that of theirs. It includes work of other code in the process,
   * memory fills, and the overhead of the driver and of CUPTI. Only one program can use CUPTI in a process at a time.
   * Default: 1 */
  int32_t device_work;
  int32_t reserved; /**< Default: 0 */
} opd_profiler_options;

/** Writes struct_size and the defaults: max_events 2^20, parallel_tasks 1, device_work 1; the rest is 0 or NULL. NULL
 * is allowed. Threads: safe. Since: 0.2 */
static inline void opd_profiler_options_init(opd_profiler_options *options) {
  const opd_profiler_options defaults = {(uint32_t)sizeof *options, 0, 1u << 20, 0, 0, 0, 0, 0, 0, 0, 0, 1,
                                         OPD_PROFILER_KEEP_FIRST,   0, 0,        0, 0, 0, 1, 0};
  if (options) *options = defaults;
}

/** Makes a profiler, which records nothing until it is started.
 * @param options      Borrowed; NULL means all defaults.
 * @param out_profiler New reference. A profiler that is released while it records is stopped.
 * @return NULL, or OPD_INVALID_ARGUMENT for an option. Threads: safe. Since: 0.2
 * Source: torch.profiler.profile, torch.profiler.schedule */
OPD_API OPD_NODISCARD opd_error *opd_profiler_create(const opd_profiler_options *options, opd_profiler **out_profiler);

/** Begins to record, at once or as the schedule says. Several profilers, and profiles of VMs, may record at the same
 * time.
 * @return NULL, or OPD_FAILED_PRECONDITION if the profiler was started already, 16 recordings run in the process, or
 *         another one writes the file; OPD_INVALID_ARGUMENT if the path is not that of a regular file; OPD_IO.
 * Threads: safe. Cost: two readings of the clock and 64 bytes an event; with a file, both twice. Blocks. Since: 0.2
 * Source: torch.profiler.profile.start */
OPD_API OPD_NODISCARD opd_error *opd_profiler_start(opd_profiler *profiler);

/** Actions of a profiler in a step. Append-only. */
typedef enum opd_profiler_action OPD_ENUM_TYPE {
  OPD_PROFILER_NONE = 0,                    /**< Records nothing. */
  OPD_PROFILER_WARMUP = 1,                  /**< Records nothing, but will record soon. */
  OPD_PROFILER_RECORD = 2,                  /**< Records. */
  OPD_PROFILER_RECORD_AND_SAVE = 3,         /**< Records, and ends the cycle with the step. */
  OPD_PROFILER_ACTION_MAX_ENUM = 0x7FFFFFFF /**< Not a value: makes the type 32 bits wide. */
} opd_profiler_action;

/** Sets the action of the profiler in the step that begins with the next opd_profiler_start() or opd_profiler_step(),
 * in place of the schedule. Use it for a schedule of your own.
 * @param action As a schedule would choose it for that step.
 * @return NULL, or OPD_INVALID_ARGUMENT for an unknown action. Threads: safe. Since: 0.2
 * Source: torch.profiler.ProfilerAction */
OPD_API OPD_NODISCARD opd_error *opd_profiler_set_action(opd_profiler *profiler, opd_profiler_action action);

/** Ends a step of the program and begins the next one. Before opd_profiler_start() it only counts.
 * @param out_trace New reference if the schedule says that a cycle ends with this step; else NULL.
 * @return NULL, or OPD_FAILED_PRECONDITION as opd_profiler_start().
 * Threads: safe. Blocks. Since: 0.2. Source: torch.profiler.profile.step */
OPD_API OPD_NODISCARD opd_error *opd_profiler_step(opd_profiler *profiler, opd_trace **out_trace);

/** Ends the recording immediately. The trace has unfinished ranges and runs of programs up to now, marked as open. A
 * profiler may be started again.
 * @param out_trace New reference; NULL if the schedule was not recording.
 * @return NULL, or OPD_FAILED_PRECONDITION if the profiler was not started.
 * Threads: safe, also inside of a recorded call. Blocks. Since: 0.2. Source: torch.profiler.profile.stop */
OPD_API OPD_NODISCARD opd_error *opd_profiler_stop(opd_profiler *profiler, opd_trace **out_trace);

/** Gives the events recorded so far, as opd_profiler_stop() does, and continues to record. With a ring buffer, these
 * are the last events.
 * @param out_trace New reference; NULL if the schedule is not recording.
 * @return NULL, or OPD_FAILED_PRECONDITION if the profiler was not started; OPD_IO for its file.
 * Threads: safe. Cost: 8 bytes an event; with a file, reading the file. Blocks. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_profiler_snapshot(opd_profiler *profiler, opd_trace **out_trace);

/** When a profiler writes a dump of its events. With a ring buffer (OPD_PROFILER_KEEP_LAST) it can record all the time,
 * and a dump shows the events before a rare event. */
typedef struct opd_profiler_dump_options {
  uint32_t struct_size;    /**< Set by opd_profiler_dump_options_init(). */
  opd_trace_format format; /**< Format of the dumps. Default: OPD_TRACE_CHROME */
  /** Borrowed. Path of each dump. "%p" is the number of the process, "%n" the number of the dump, from 1; "%%" is "%".
   * An existing file is replaced. If the path ends in ".gz", files are compressed by gzip. Required. Default: NULL */
  const char *path;
  int32_t signal;   /**< Signal that triggers a dump, such as SIGUSR2. Default: 0: none */
  int32_t on_error; /**< 1: a run of a program that fails triggers a dump. Default: 0 */
  uint64_t slow_ns; /**< A range or a run of a program that takes at least this time triggers a dump when it ends.
                         Default: 0: none does */
  uint64_t min_interval_ns; /**< Least time from a dump for an error or a slow span to the next one. Default: 10^10 */
  uint64_t max_dumps;       /**< Limit of dumps for errors and slow spans in each recording. Default: 100 */
} opd_profiler_dump_options;

/** Writes struct_size and the defaults: min_interval_ns 10^10, max_dumps 100; the rest is 0 or NULL. NULL is allowed.
 * Threads: safe. Since: 0.2 */
static inline void opd_profiler_dump_options_init(opd_profiler_dump_options *options) {
  const opd_profiler_dump_options defaults = {
      (uint32_t)sizeof *options, OPD_TRACE_CHROME, 0, 0, 0, 0, 10000000000u, 100};
  if (options) *options = defaults;
}

/** Makes a profiler a flight recorder: from the next opd_profiler_start() on, a trigger dumps its events to a file. A
 * thread of the library writes the dump while the profiler continues to record, so a trigger delays nothing. Triggers
 * that come during a dump share one dump after it; opd_profiler_stop() waits for it. The reason of a dump is the member
 * "dump_reason" of a Chrome trace. The log callback gets the reason, too. If a dump fails, it gets the cause.
 *
 * From opd_profiler_start() to opd_profiler_stop() the library handles the signal, and the process continues. The
 * program must have no handler for it. In a step that is not recorded, the signal has no effect. A forked child writes
 * no dumps. Dumps of a memory timeline need `profile_memory`.
 * @param options Borrowed; NULL: no dumps.
 * @return NULL, OPD_FAILED_PRECONDITION if the profiler was started, or OPD_INVALID_ARGUMENT for an option. If the
 *         program handles the signal, opd_profiler_start() later returns OPD_FAILED_PRECONDITION.
 * Threads: safe. Cost: a sleeping thread, and one load for each range and run. Blocks. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_profiler_set_dumps(opd_profiler *profiler,
                                                        const opd_profiler_dump_options *options);

/** Asks for a dump, and does not wait for it.
 * @param reason Borrowed; UTF-8. The dump contains it.
 * @return NULL, or OPD_FAILED_PRECONDITION if the profiler does not record, or has no dumps.
 * Threads: safe. Blocks. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_profiler_dump(opd_profiler *profiler, const char *reason);

/** Returns the number of dumps written so far. It is also the number of the newest dump. Threads: safe. Blocks. Since:
 * 0.2 */
OPD_API uint64_t opd_profiler_dump_count(const opd_profiler *profiler);

/** Returns a number for the name of ranges. Equal names have equal numbers. For frequent ranges, keep the number.
 * @param name Borrowed; UTF-8. NULL is "".
 * Threads: safe. Cost: a lock and a hash. Since: 0.2 */
OPD_API uint32_t opd_range_name(const char *name);

/** Returns 1 if a profiler, or a tool that opd_itt_is_available() reports, records ranges now; else 0. For bindings:
 * while the result is 0, names need no numbers. Threads: safe. Cost: a load. Since: 0.2 */
OPD_API int32_t opd_range_is_recorded(void);

/** Begins a range on the calling thread. Ranges of a thread should be nested; a trace shows overlapping ranges on
 * separate tracks.
 * @param name Result of opd_range_name(); ignored if no profiler records.
 * @return The range for opd_range_end(); 0 if no profiler records.
 * Threads: safe. Cost: about 3 ns with its end if no profiler records, else a reading of the clock. Since: 0.2
 * Source: torch.profiler.record_function */
OPD_API uint64_t opd_range_begin(uint32_t name);

/** Ends a range, on the thread that began it; on another thread it does nothing. Profilers that have recorded since the
 * range began get it.
 * @param range Result of opd_range_begin().
 * Threads: safe. Since: 0.2 */
OPD_API void opd_range_end(uint64_t range);

/** Begins a range that opd_range_pop() ends.
 * @param name Borrowed; UTF-8. NULL is "". If no profiler records, it is not read.
 * @return The depth: the number of pushed ranges around it on this thread, from 0.
 * Threads: safe. Cost: as opd_range_begin(), and that of opd_range_name() if a profiler records. Since: 0.2
 * Source: torch.profiler.itt.range_push */
OPD_API int32_t opd_range_push(const char *name);

/** Ends the range that was pushed last on this thread.
 * @return The number that its opd_range_push() returned; -1 if there is none. Threads: safe. Since: 0.2
 * Source: torch.profiler.itt.range_pop */
OPD_API int32_t opd_range_pop(void);

/** Marks a moment on the calling thread.
 * @param name Result of opd_range_name().
 * Threads: safe. Since: 0.2. Source: torch.profiler.itt.mark */
OPD_API void opd_range_mark(uint32_t name);

/** Returns 1 if a tool receives ranges and marks through Intel's ITT API, else 0. A tool receives them if the
 * environment variable INTEL_LIBITTNOTIFY64 named its collector library when this library was loaded. Then each range
 * is a task of the domain "opdyno", and each mark is a marker, even while no profiler records. ITT ends the tasks of a
 * thread in reverse order, so ranges should be nested.
 * Threads: safe. Cost: the first call, or the first range, loads the collector. Since: 0.2
 * Source: torch.profiler.itt.is_available; Intel's ITT API reference, "Task API" */
OPD_API int32_t opd_itt_is_available(void);

/** A stack frame of a language that has no native frames, such as an interpreted one. */
typedef struct opd_stack_frame {
  uint32_t function; /**< Result of opd_range_name() for the function's name. */
  uint32_t file;     /**< Result of opd_range_name() for the file's name. */
  uint32_t line; /**< Line in the file, from 1. 0: not known. At most 2^21 - 1, which stands for all larger numbers. */
} opd_stack_frame;

/** Returns 1 if a profiler records stacks now, else 0. Threads: safe. Cost: a load. Since: 0.2 */
OPD_API int32_t opd_stack_is_recorded(void);

/** Sets the functions of a language that run on the calling thread, until opd_stack_pop(). Bindings call it around each
 * native call. In stacks that are recorded until then, these functions replace the native caller of opd_stack_push()
 * and its callers.
 * @param frames Borrowed: all @p num_frames frames of the thread, innermost first. If there are more than 256, the
 *               innermost 256 count.
 * Threads: safe. Cost: a lock and a hash of the frames. Since: 0.2 */
OPD_API void opd_stack_push(const opd_stack_frame *frames, int32_t num_frames);

/** Undoes the calling thread's last opd_stack_push(). Threads: safe. Since: 0.2 */
OPD_API void opd_stack_pop(void);

OPD_END_DECLS
#endif
