/** @file collector.h  Collectors: what measures something around each call of a profile; time, memory, counters, yours.
 */
#ifndef OPDYNO_COLLECTOR_H_
#define OPDYNO_COLLECTOR_H_

#include <opdyno/function.h>
#include <opdyno/report.h>

OPD_BEGIN_DECLS

/** Measures something around calls. One at a time: two runs that overlap need two collectors. A profile calls it like
 * this, all from the thread that profiles:
 *
 * - `init` once, after the warm-up calls;
 * - `start` before and `stop` after each whole run, once for each device: its metrics make the device's totals;
 * - `start` before and `stop` after each call of an operator, builtins and the program's own functions included, as far
 *   as the report has a row for it; with the device of the call's last tensor argument.
 *
 * Calls nest as those of the program do: what started last stops first. Of several collectors the first one in the list
 * starts first and stops last. The time of the row is taken inside of all of them; a function of the program that
 * calls others contains what collectors did around those. A collector that fails is not started any more, while the run
 * goes on; the report's configuration says so under "Collector error: NAME", and under "Collector cost: NAME (us)" what
 * its starts and stops took altogether. A metric that two give in one row is the one's that stops last; the report's
 * own columns are nobody's. Source: TVM 0.23 runtime.profiling.MetricCollector. */
typedef struct opd_collector opd_collector;

/** Where a collector's `stop` writes; of use until that returns. */
typedef struct opd_metrics opd_metrics;
/** Writes a metric of the call that ended.
 * @param name  Borrowed; becomes the name of the report's column. A name that is set twice keeps the later value.
 * @param kind  What @p value is: an int for OPD_METRIC_COUNT and OPD_METRIC_BYTES, text for OPD_METRIC_STRING, an int
 *              or a float for the others. @param value Borrowed.
 * @return NULL, or OPD_INVALID_ARGUMENT: no name, no such kind, a value of another type.
 * Threads: the one that runs `stop`. Cost: 20 ns where metrics come in the order of the call before. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_metrics_set(opd_metrics *metrics, const char *name, opd_metric_kind kind,
                                                 const opd_value *value);

/** A collector of yours. An entry may be NULL: then nothing is done there. Errors that entries return are taken over.
 */
typedef struct opd_collector_table {
  uint32_t struct_size; /**< sizeof(opd_collector_table) */
  uint32_t reserved;    /**< 0 */
  /** Prepares what is expensive. @p devices are those of the run. */
  opd_error *(*init)(void *user_data, const DLDevice *devices, int32_t num_devices);
  /** Begins to measure a call on @p device. Writes what its stop gets into @p out_state, which is NULL before; if it
   * stays NULL, the device is not supported and stop is not called. */
  opd_error *(*start)(void *user_data, DLDevice device, void **out_state);
  /** Ends what start began: called exactly once for each state, also when the call failed. */
  opd_error *(*stop)(void *user_data, void *state, opd_metrics *metrics);
  void *user_data;     /**< handed to all */
  opd_deleter deleter; /**< called with user_data at the end of the last reference; may be NULL */
} opd_collector_table;
/** Makes a collector of a table.
 * @param name Borrowed; what reports call it. @param table Borrowed; its user_data is taken over on success.
 * @param out_collector New reference. @return NULL, or OPD_INVALID_ARGUMENT; OPD_UNSUPPORTED for entries of a later
 * version. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_collector_create(const char *name, const opd_collector_table *table,
                                                      opd_collector **out_collector);

/* ---- collectors that are built in ----------------------------------------------------------------------------- */

/** What counters count. Those of threads count the calling thread and every worker thread of the pool; a worker that
 * starts later joins before its first task. */
typedef struct opd_counter_options {
  uint32_t struct_size;      /**< set by opd_counter_options_init() */
  int32_t per_thread;        /**< 1: also columns "NAME (least of threads)" and "NAME (most of threads)" */
  int32_t best_effort;       /**< 1: what cannot be counted here is left out; the report's configuration says why */
  int32_t num_events;        /**< 0: the collector's usual ones */
  const char *const *events; /**< borrowed; @p num_events names */
  const DLDevice *devices;   /**< borrowed; one per event: counted during calls on that device; NULL: the CPU */
} opd_counter_options;
/** Writes the defaults. Since: 0.1 */
OPD_API void opd_counter_options_init(opd_counter_options *options);

/** Makes a collector of time: "Wall time (us)", of CLOCK_MONOTONIC, and "CPU time (us)", that all threads of the call
 *  used together. @param options Borrowed; NULL means all defaults; per_thread counts. @param out_collector New
 * reference. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_collector_create_time(const opd_counter_options *options,
                                                           opd_collector **out_collector);
/** Makes a collector of the device's tensor memory: "Allocated (bytes)" and "Freed (bytes)" during the call, by
 * whatever thread, and "Peak (bytes)", the most that was in use at a time above what was in use before. What a program
 * keeps between calls is not allocated again. @param out_collector New reference. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_collector_create_memory(opd_collector **out_collector);
/** Makes a collector of the kernel's own counters, in one group per thread so that they count the same stretches:
 * cycles, instructions, cache-references, cache-misses, branch-misses, unless others are named; also task-clock (ns),
 * page-faults, minor-faults, major-faults, context-switches, cpu-migrations. What the hardware counted only part of the
 * time is scaled; the configuration names it.
 * @param options Borrowed; NULL means all defaults. @param out_collector New reference.
 * @return NULL, or OPD_NOT_FOUND for a name, OPD_UNSUPPORTED with the reason and what to do where an event cannot be
 * counted here. Since: 0.1. Source: perf_event_open(2). */
OPD_API OPD_NODISCARD opd_error *opd_collector_create_perf(const opd_counter_options *options,
                                                           opd_collector **out_collector);
/** Makes a collector of PAPI's events, as opd_papi_list_events() lists them; each makes a column of its name. The PAPI
 * library is loaded when this is first called. Whether an event can be counted is found out by counting it. Events of
 * components other than perf_event are of the whole process.
 * @param options Borrowed; NULL means all defaults: TVM's events, perf::CYCLES, perf::STALLED-CYCLES-FRONTEND,
 *                perf::STALLED-CYCLES-BACKEND, perf::INSTRUCTIONS, perf::CACHE-MISSES.
 * @param out_collector New reference.
 * @return NULL, or OPD_UNSUPPORTED with the reason and what to do: no PAPI library, an event that cannot be counted;
 * OPD_NOT_FOUND: PAPI knows no such event. Since: 0.1. Source: TVM 0.23 PAPIMetricCollector; PAPI 7. */
OPD_API OPD_NODISCARD opd_error *opd_collector_create_papi(const opd_counter_options *options,
                                                           opd_collector **out_collector);
/** Lists the events that PAPI can count here: each was counted once. @param out_names New reference: an array of
 * strings. OPD_UNSUPPORTED without PAPI. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_papi_list_events(opd_array **out_names);
/** Makes a collector of the energy that the processor used, as a whole: "Energy of PACKAGE (uJ)" for each domain that
 * the kernel offers. @param out_collector New reference.
 * @return NULL, or OPD_UNSUPPORTED with the reason and what to do. Since: 0.1. Source: Linux powercap, intel-rapl. */
OPD_API OPD_NODISCARD opd_error *opd_collector_create_energy(opd_collector **out_collector);

/** Ends a reference. Threads: safe. Since: 0.1 */
OPD_API void opd_collector_release(opd_collector *collector);

/* ---- one function ----------------------------------------------------------------------------------------------- */

/** Makes a function that measures calls of another one: it takes that one's arguments, calls it @p warmup_iters times,
 * then once with the collectors around it, and gives a map from a metric's name to an array of its kind
 * (opd_metric_kind) and its value; with "Duration (us)" always. A collector that fails is an error here.
 * @param function   Borrowed; retained. @param device What collectors are started with; it is synchronised before the
 *                   clock is read. @param collectors Borrowed; @p num_collectors of them, retained.
 * @param out_function New reference. One at a time. @return NULL, or OPD_INVALID_ARGUMENT, OPD_UNSUPPORTED device.
 * Since: 0.1. Source: TVM 0.23 profile_function. */
OPD_API OPD_NODISCARD opd_error *opd_profile_function(opd_function *function, DLDevice device,
                                                      opd_collector *const *collectors, int32_t num_collectors,
                                                      int32_t warmup_iters, opd_function **out_function);

OPD_END_DECLS
#endif
