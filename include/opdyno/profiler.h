/** @file profiler.h  Profilers record the whole process; ranges mark what a program does. */
#ifndef OPDYNO_PROFILER_H_
#define OPDYNO_PROFILER_H_

#include <opdyno/base.h>
#include <opdyno/trace.h>

OPD_BEGIN_DECLS

/** Records the calls of all VMs on all threads, and the ranges of the program, on one time line. Thread-safe. */
typedef struct opd_profiler opd_profiler;
OPD_HANDLE(opd_profiler);

/** What becomes of events for which there is no room. Append-only. */
typedef enum opd_profiler_buffer OPD_ENUM_TYPE {
  OPD_PROFILER_KEEP_FIRST = 0,              /**< the newest are left out */
  OPD_PROFILER_KEEP_LAST = 1,               /**< the oldest of all threads make room for them: a ring */
  OPD_PROFILER_BUFFER_MAX_ENUM = 0x7FFFFFFF /**< Not a value: makes the type 32 bits wide. */
} opd_profiler_buffer;

/** What a profiler records. */
typedef struct opd_profiler_options {
  uint32_t struct_size; /**< set by opd_profiler_options_init() */
  int32_t all_calls;    /**< 1: also calls without a tensor among their arguments; 0 */
  uint64_t max_events;  /**< of each thread, calls and ranges together; further ones are counted as dropped. Not of a
                             ring, nor in a file; 2^20 */
  /** Of a schedule: of the steps that opd_profiler_step() ends, the first `skip_first` are left out; then cycles follow
   * of `wait` steps that are left out, `warmup` ones that are left out too, and `active` ones that are recorded. 0 */
  uint64_t wait;
  uint64_t warmup;            /**< of a schedule, see `wait`; 0 */
  uint64_t active;            /**< 0: there is no schedule, and all is recorded; 0 */
  uint64_t repeat;            /**< number of cycles; 0: without end; 0 */
  uint64_t skip_first;        /**< steps before the first cycle; 0 */
  int32_t skip_first_wait;    /**< 1: the first cycle does not wait; 0 */
  int32_t profile_memory;     /**< 1: also each block of memory that a device hands out to tensors and kernels, or gets
                                 back, or that the library gives new contents, on all threads; an event each; 0 */
  int32_t with_stack;         /**< 1: also which functions of the host call when a run of a program, a range or a mark
                                   begins; 0 */
  int32_t parallel_tasks;     /**< 1: also each task of a parallel loop, on the thread that runs it; 0: none; 1 */
  opd_profiler_buffer buffer; /**< what becomes of events beyond `max_bytes`; they are counted as dropped;
                                   OPD_PROFILER_KEEP_FIRST */
  int32_t keep_in_file;       /**< 1: opd_profiler_stop() and opd_profiler_step() do not read the file, so they give no
                                   trace: a file of some GiB would take as much memory; 0 */
  /** Memory for events of all threads together, in blocks of 64 KiB of one thread each; a thread has at least one. Or,
   * of a file, its size: FILE.live has a block for each thread, and names and counts come in addition. 0: no limit, but
   * 64 MiB of a ring; 0 */
  uint64_t max_bytes;
  /** Borrowed: path of a file that events are written to while they are recorded, in place of memory; opd_trace_load()
   * reads it. If the process is killed, what it published is in the file and in FILE.live beside it, and the next
   * recording into FILE renames these to FILE.crashed and FILE.crashed.live. Each recording of a schedule writes the
   * file anew. NULL: events stay in memory; NULL */
  const char *file;
  uint64_t last_ns; /**< traces leave out what ended more than so many ns before they are made; 0: nothing; 0 */
  /** How often a thread of the library writes the file to the disk, at most a day. If the machine then loses power,
   * what was recorded before the last but one of these moments is in the files; docs/tracing.md has the exception. 0:
   * the system writes it when it likes, often 30 s later; a process that is killed loses nothing by that; 0 */
  uint64_t flush_interval_ns;
  /** 1: also kernels and copies on devices other than the CPU, with the device's own times on the clock of the trace,
   * by the host's thread that gave them to the device. 0: none. Devices whose drivers tell no times have none. 2: those
   * of CUDA devices are what NVIDIA's CUPTI reports: also of other code in the process, fills of memory, and the
   * overhead of the driver and of CUPTI. Only one program can use CUPTI in a process at a time; 1 */
  int32_t device_work;
  int32_t reserved; /**< 0 */
} opd_profiler_options;

/** Fills @p options with defaults. Threads: safe. Since: 0.2 */
static inline void opd_profiler_options_init(opd_profiler_options *options) {
  const opd_profiler_options defaults = {(uint32_t)sizeof *options, 0, 1u << 20, 0, 0, 0, 0, 0, 0, 0, 0, 1,
                                         OPD_PROFILER_KEEP_FIRST,   0, 0,        0, 0, 0, 1, 0};
  *options = defaults;
}

/** Makes a profiler, which records nothing until it is started.
 * @param options      Borrowed; NULL means all defaults.
 * @param out_profiler New reference. A profiler that is released while it records is stopped.
 * @return NULL, or OPD_INVALID_ARGUMENT for an option. Threads: safe. Since: 0.2
 * Source: torch.profiler.profile, torch.profiler.schedule */
OPD_API OPD_NODISCARD opd_error *opd_profiler_create(const opd_profiler_options *options, opd_profiler **out_profiler);

/** Records from now on, or as the schedule says. Several profilers, and profiles of VMs, may record at the same time.
 * @return NULL, or OPD_FAILED_PRECONDITION if the profiler was started already, 16 recordings run in the process, or
 *         another one writes the file; OPD_INVALID_ARGUMENT if there is something else than a regular file, OPD_IO.
 * Threads: safe. Cost: two readings of the clock and 64 bytes an event; with a file, both twice. Blocks. Since: 0.2
 * Source: torch.profiler.profile.start */
OPD_API OPD_NODISCARD opd_error *opd_profiler_start(opd_profiler *profiler);

/** What a profiler does in a step. Append-only. */
typedef enum opd_profiler_action OPD_ENUM_TYPE {
  OPD_PROFILER_NONE = 0,                    /**< nothing */
  OPD_PROFILER_WARMUP = 1,                  /**< nothing, but it will record soon */
  OPD_PROFILER_RECORD = 2,                  /**< records */
  OPD_PROFILER_RECORD_AND_SAVE = 3,         /**< records, and ends the cycle with the step */
  OPD_PROFILER_ACTION_MAX_ENUM = 0x7FFFFFFF /**< Not a value: makes the type 32 bits wide. */
} opd_profiler_action;

/** Says what the profiler does in the step that begins with the next opd_profiler_start() or opd_profiler_step(), in
 * place of the schedule. For schedules of one's own.
 * @param action As a schedule would say it for that step.
 * @return NULL, or OPD_INVALID_ARGUMENT for an unknown action. Threads: safe. Since: 0.2
 * Source: torch.profiler.ProfilerAction */
OPD_API OPD_NODISCARD opd_error *opd_profiler_set_action(opd_profiler *profiler, opd_profiler_action action);

/** Ends a step of the program, which the next one follows. Before opd_profiler_start() it only counts.
 * @param out_trace New reference if the schedule says that a cycle ends with this step; else NULL.
 * @return NULL, or OPD_FAILED_PRECONDITION as opd_profiler_start().
 * Threads: safe. Blocks. Since: 0.2. Source: torch.profiler.profile.step */
OPD_API OPD_NODISCARD opd_error *opd_profiler_step(opd_profiler *profiler, opd_trace **out_trace);

/** Ends the recording at once. Ranges and runs of programs that have not ended are in the trace, up to now and marked
 * as open. A profiler may be started again.
 * @param out_trace New reference; NULL if the schedule was not recording.
 * @return NULL, or OPD_FAILED_PRECONDITION if the profiler was not started.
 * Threads: safe, also inside of a recorded call. Blocks. Since: 0.2. Source: torch.profiler.profile.stop */
OPD_API OPD_NODISCARD opd_error *opd_profiler_stop(opd_profiler *profiler, opd_trace **out_trace);

/** Gives what has been recorded so far, as opd_profiler_stop() would, and goes on. For a ring: the last events.
 * @param out_trace New reference; NULL if the schedule is not recording.
 * @return NULL, or OPD_FAILED_PRECONDITION if the profiler was not started; OPD_IO for its file.
 * Threads: safe. Cost: 8 bytes an event; of a file, reading it. Blocks. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_profiler_snapshot(opd_profiler *profiler, opd_trace **out_trace);

/** When a profiler writes down what it has, so that one that always records (OPD_PROFILER_KEEP_LAST) tells what came
 * before something rare. */
typedef struct opd_profiler_dump_options {
  uint32_t struct_size;    /**< set by opd_profiler_dump_options_init() */
  opd_trace_format format; /**< of the files; OPD_TRACE_CHROME */
  /** Borrowed: of each file. "%p" is the number of the process, "%n" that of the dump, from 1; "%%" is "%". A dump
   * replaces a file that is there. If it ends in ".gz", files are compressed by gzip. Required; NULL */
  const char *path;
  int32_t signal;           /**< this signal asks for a dump, such as SIGUSR2; 0: none does; 0 */
  int32_t on_error;         /**< 1: a run of a program that fails does; 0 */
  uint64_t slow_ns;         /**< a range or a run of a program that took at least so many ns does, when it ends; 0: none
                                 does; 0 */
  uint64_t min_interval_ns; /**< least time from a dump for an error or a slow span to the next one; 10^10 */
  uint64_t max_dumps;       /**< most dumps for errors and slow spans, of each recording; 100 */
} opd_profiler_dump_options;

/** Fills @p options with defaults. Threads: safe. Since: 0.2 */
static inline void opd_profiler_dump_options_init(opd_profiler_dump_options *options) {
  const opd_profiler_dump_options defaults = {
      (uint32_t)sizeof *options, OPD_TRACE_CHROME, 0, 0, 0, 0, 10000000000u, 100};
  *options = defaults;
}

/** Makes a profiler a flight recorder: from the next opd_profiler_start() on, what it has is written to a file when
 * something asks for it, by a thread of the library, while it goes on to record. What asks is not delayed. What is
 * asked for while a dump is being written is in one dump after it; opd_profiler_stop() waits for it. Why a dump was
 * written is the member "dump_reason" of a Chrome trace, and is given to the log callback, as is why one could not be.
 *
 * The signal is handled by the library from opd_profiler_start() to opd_profiler_stop(), and the process goes on; it
 * must have no handler of the program. In a step that is not recorded it does nothing. A forked child writes no dumps.
 * Dumps of a memory timeline need `profile_memory`.
 * @param options Borrowed; NULL: no dumps.
 * @return NULL, OPD_FAILED_PRECONDITION if the profiler was started, or OPD_INVALID_ARGUMENT for an option. Then
 *         opd_profiler_start() returns OPD_FAILED_PRECONDITION if the program handles the signal.
 * Threads: safe. Cost: a sleeping thread, and one load for each range and run. Blocks. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_profiler_set_dumps(opd_profiler *profiler,
                                                        const opd_profiler_dump_options *options);

/** Asks for a dump, and does not wait for it.
 * @param reason Borrowed; UTF-8. It stands in the dump.
 * @return NULL, or OPD_FAILED_PRECONDITION if the profiler does not record, or has no dumps.
 * Threads: safe. Blocks. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_profiler_dump(opd_profiler *profiler, const char *reason);

/** Returns the number of dumps written so far; that of the newest one. Threads: safe. Blocks. Since: 0.2 */
OPD_API uint64_t opd_profiler_dump_count(const opd_profiler *profiler);

/** Returns a number for the name of ranges. Equal names have equal numbers; keep it where a range is frequent.
 * @param name Borrowed; UTF-8. NULL is "".
 * Threads: safe. Cost: a lock and a hash. Since: 0.2 */
OPD_API uint32_t opd_range_name(const char *name);

/** Returns 1 if a profiler, or a tool by opd_itt_is_available(), records ranges now, else 0. For bindings: while none
 * does, names need no numbers. Threads: safe. Cost: a load. Since: 0.2 */
OPD_API int32_t opd_range_is_recorded(void);

/** Begins a range on the calling thread. Ranges of a thread should be nested; a trace shows those that overlap on
 * tracks of their own.
 * @param name Result of opd_range_name(); it is not looked at if no profiler records.
 * @return What opd_range_end() takes: 0 if no profiler records.
 * Threads: safe. Cost: some 3 ns with its end if no profiler records, else a reading of the clock. Since: 0.2
 * Source: torch.profiler.record_function */
OPD_API uint64_t opd_range_begin(uint32_t name);

/** Ends a range, on the thread that began it; on another one it does nothing. Profilers that have recorded since its
 * begin get it.
 * @param range Result of opd_range_begin().
 * Threads: safe. Since: 0.2 */
OPD_API void opd_range_end(uint64_t range);

/** Begins a range that opd_range_pop() ends.
 * @param name Borrowed; UTF-8. NULL is "". It is not read if no profiler records.
 * @return The number of ranges that were pushed around it on this thread, from 0.
 * Threads: safe. Cost: as opd_range_begin(), and that of opd_range_name() if a profiler records. Since: 0.2
 * Source: torch.profiler.itt.range_push */
OPD_API int32_t opd_range_push(const char *name);

/** Ends the range that was pushed last on this thread.
 * @return What its opd_range_push() returned; -1 if there is none. Threads: safe. Since: 0.2
 * Source: torch.profiler.itt.range_pop */
OPD_API int32_t opd_range_pop(void);

/** Marks a moment on the calling thread.
 * @param name Result of opd_range_name().
 * Threads: safe. Since: 0.2. Source: torch.profiler.itt.mark */
OPD_API void opd_range_mark(uint32_t name);

/** Returns 1 if a tool listens to ranges and marks by Intel's ITT API, else 0: the environment variable
 * INTEL_LIBITTNOTIFY64 named its collector, a library, when this library was loaded. Then each range is a task of the
 * domain "opdyno", and each mark a marker, also while no profiler records. Tasks of a thread end in reverse, so ranges
 * should be nested.
 * Threads: safe. Cost: the first call, or the first range, loads the collector. Since: 0.2
 * Source: torch.profiler.itt.is_available; Intel's ITT API reference, "Task API" */
OPD_API int32_t opd_itt_is_available(void);

/** A function of a language that does not run on the native stack, as an interpreter's. */
typedef struct opd_stack_frame {
  uint32_t function; /**< result of opd_range_name() */
  uint32_t file;     /**< likewise */
  uint32_t line;     /**< of the file, from 1 on; 0: not known; above 2^21 - 1, that */
} opd_stack_frame;

/** Returns 1 if a profiler records stacks now, else 0. Threads: safe. Cost: a load. Since: 0.2 */
OPD_API int32_t opd_stack_is_recorded(void);

/** Says which functions of a language run on the calling thread, until opd_stack_pop(). For bindings, around what they
 * call for their language: the stacks that are recorded meanwhile have these functions in place of the caller of this
 * function and of the native functions that called it.
 * @param frames Borrowed, @p num_frames of them: from the innermost one on, all of the thread. Of more than 256, the
 *               innermost ones are taken.
 * Threads: safe. Cost: a lock and a hash of the frames. Since: 0.2 */
OPD_API void opd_stack_push(const opd_stack_frame *frames, int32_t num_frames);

/** Takes back what the calling thread's last opd_stack_push() said. Threads: safe. Since: 0.2 */
OPD_API void opd_stack_pop(void);

OPD_END_DECLS
#endif
