/** @file profiler.h  Profilers record the whole process; ranges mark what a program does. */
#ifndef OPDYNO_PROFILER_H_
#define OPDYNO_PROFILER_H_

#include <opdyno/base.h>
#include <opdyno/trace.h>

OPD_BEGIN_DECLS

/** Records the calls of all VMs on all threads, and the ranges of the program, on one time line. Thread-safe. */
typedef struct opd_profiler opd_profiler;
OPD_HANDLE(opd_profiler);

/** What a profiler records. */
typedef struct opd_profiler_options {
  uint32_t struct_size; /**< set by opd_profiler_options_init() */
  int32_t all_calls;    /**< 1: also calls without a tensor among their arguments; 0 */
  uint64_t max_events;  /**< of each thread, calls and ranges together; further ones are counted as dropped; 2^20 */
} opd_profiler_options;

/** Fills @p options with defaults. Threads: safe. Since: 0.2 */
static inline void opd_profiler_options_init(opd_profiler_options *options) {
  const opd_profiler_options defaults = {sizeof(opd_profiler_options), 0, 1u << 20};
  *options = defaults;
}

/** Makes a profiler, which records nothing until it is started.
 * @param options      Borrowed; NULL means all defaults.
 * @param out_profiler New reference. A profiler that is released while it records is stopped.
 * @return NULL, or OPD_INVALID_ARGUMENT for an option. Threads: safe. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_profiler_create(const opd_profiler_options *options, opd_profiler **out_profiler);

/** Records from now on. Several profilers, and profiles of VMs, may record at the same time.
 * @return NULL, or OPD_FAILED_PRECONDITION if the profiler records already, or 16 recordings run in the process.
 * Threads: safe. Cost: two readings of the clock and 64 bytes an event. Since: 0.2
 * Source: torch.profiler.profile.start */
OPD_API OPD_NODISCARD opd_error *opd_profiler_start(opd_profiler *profiler);

/** Ends the recording, once the calls of VMs that are being recorded have ended. Ranges that have not ended are left
 * out. A profiler may be started again.
 * @param out_trace New reference.
 * @return NULL, or OPD_FAILED_PRECONDITION if the profiler does not record, or inside of a recorded call.
 * Threads: safe. Since: 0.2. Source: torch.profiler.profile.stop */
OPD_API OPD_NODISCARD opd_error *opd_profiler_stop(opd_profiler *profiler, opd_trace **out_trace);

/** Returns a number for the name of ranges. Equal names have equal numbers; keep it where a range is frequent.
 * @param name Borrowed; UTF-8. NULL is "".
 * Threads: safe. Cost: a lock and a hash. Since: 0.2 */
OPD_API uint32_t opd_range_name(const char *name);

/** Begins a range on the calling thread. Ranges of a thread are to be nested.
 * @return What opd_range_end() takes: 0 if no profiler records.
 * Threads: safe. Cost: some 3 ns with its end if no profiler records, else a reading of the clock. Since: 0.2
 * Source: torch.profiler.record_function */
OPD_API uint64_t opd_range_begin(void);

/** Ends a range, on the thread that began it. Profilers that have recorded since its begin get it.
 * @param begin Result of opd_range_begin().
 * @param name  Result of opd_range_name(); it is not looked at if @p begin is 0.
 * Threads: safe. Since: 0.2 */
OPD_API void opd_range_end(uint64_t begin, uint32_t name);

OPD_END_DECLS
#endif
