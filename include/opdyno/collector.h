/** @file collector.h  Collectors, which measure each call of a profile: its time, memory or counters, or values that
 * the program chooses. */
#ifndef OPDYNO_COLLECTOR_H_
#define OPDYNO_COLLECTOR_H_

#include <opdyno/function.h>
#include <opdyno/report.h>

OPD_BEGIN_DECLS

/** Measures something around calls. A collector serves one profile or recording at a time: two that overlap need two
 * collectors. A profile calls it like this:
 *
 * - `init` once, after the warm-up calls; opd_vm_profile_start() calls it before it returns;
 * - `start` before and `stop` after each whole run, once for each device: these metrics are the device's totals;
 * - `start` before and `stop` after each call of an operator, a builtin or a function of the program, if the report has
 *   a row for the call. The device is that of the call's last tensor argument.
 *
 * Calls nest as in the program: the one that started last stops first. If there are several collectors, the first in
 * the list starts first and stops last. The time of the row is measured inside all of them. If a function of the
 * program calls others, its time includes the work of the collectors around these calls. `Collector cost: NAME (us)`,
 * in the report's configuration, says how much time the starts and stops of a collector took in all. If a collector
 * fails, it is not started again. The run goes on, and `Collector error: NAME` in the configuration has the error. If
 * two collectors set the same metric in a row, the one stopped last wins. Built-in columns cannot be set. Calls of the
 * VM that a collector makes are not recorded.
 *
 * Threads: in opd_vm_profile() all functions of a collector run on the calling thread. After opd_vm_profile_start()
 * they run on the threads of the recorded calls, several at once, nested on each thread: a collector guards its shared
 * state. Built-in collectors that measure the whole device, process or processor also count concurrent calls;
 * `Collector note: NAME` says so. Source: TVM 0.23 runtime.profiling.MetricCollector. */
typedef struct opd_collector opd_collector;
OPD_HANDLE(opd_collector);

/** Receives the metrics from a collector's `stop`. Valid until `stop` returns. */
typedef struct opd_metrics opd_metrics;

/** Writes a metric of the call that ended.
 * @param name  Borrowed; the name of the report's column. If a name is set twice, the later value counts.
 * @param kind  The kind of @p value: an int for OPD_METRIC_COUNT and OPD_METRIC_BYTES, text for OPD_METRIC_STRING,
 *              an int or a float for the others.
 * @param value Borrowed.
 * @return NULL, or OPD_INVALID_ARGUMENT: the name is missing, the kind is unknown, or the value has another type.
 * Threads: only the thread that runs `stop`. Cost: 20 ns if metrics come in the order of the call before. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_metrics_set(opd_metrics *metrics, const char *name, opd_metric_kind kind,
                                                 const opd_value *value);

/** A program's own collector. If a function is NULL, its step is skipped. Errors that the functions return are taken
 * over. */
typedef struct opd_collector_table {
  uint32_t struct_size; /**< Must be sizeof(opd_collector_table). */
  uint32_t reserved;    /**< Must be 0. */
  /** Makes expensive preparations. @p devices are the devices of the run. */
  opd_error *(*init)(void *user_data, const DLDevice *devices, int32_t num_devices);
  /** Begins to measure a call on @p device. Writes the state for its stop into @p out_state, which is NULL before. If
   * it stays NULL, the device is not supported and stop is not called. */
  opd_error *(*start)(void *user_data, DLDevice device, void **out_state);
  /** Ends a measurement. Called exactly once for each state, even if the call failed. */
  opd_error *(*stop)(void *user_data, void *state, opd_metrics *metrics);
  void *user_data;     /**< Passed to all functions. */
  opd_deleter deleter; /**< Called with user_data after the last reference ended. May be NULL. */
} opd_collector_table;

/** Makes a collector from a table of functions.
 * @param name          Borrowed; its name in reports.
 * @param table         Borrowed; its user_data is taken over on success.
 * @param out_collector New reference.
 * @return NULL, or OPD_INVALID_ARGUMENT; OPD_UNSUPPORTED for functions of a later version.
 * Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_collector_create(const char *name, const opd_collector_table *table,
                                                      opd_collector **out_collector);

/* ---- collectors that are built in ----------------------------------------------------------------------------- */

/** A built-in collector. Counters of threads cover the calling thread and each pool worker while it runs tasks of this
 * call, nested ones included. Concurrent calls do not see each other's counts. */
typedef enum opd_collector_kind OPD_ENUM_TYPE {
  /** Columns "Wall time (us)", from CLOCK_MONOTONIC, and "CPU time (us)", the sum over all threads of the call. Takes
   * no events. */
  OPD_COLLECTOR_TIME = 0,
  /** The device's tensor memory: "Allocated (bytes)" and "Freed (bytes)" during the call, by any thread of the process,
   * and "Peak (bytes)": the highest use during the call minus the use before it. A program keeps its memory between
   * calls, so later calls do not allocate it again. Takes no options. */
  OPD_COLLECTOR_MEMORY = 1,
  /** The kernel's counters. All counters of a thread are in one group, so they count during the same time. If no events
   * are named: cycles, instructions, cache-references, cache-misses, branch-misses. There are also task-clock (ns),
   * page-faults, minor-faults, major-faults, context-switches, cpu-migrations. If the hardware counted an event only
   * part of the time, it is scaled, and the configuration says so. Source: perf_event_open(2). */
  OPD_COLLECTOR_PERF = 2,
  /** PAPI's events, each in a column of its name. If no events are named, they are TVM's five: perf::CYCLES,
   * perf::STALLED-CYCLES-FRONTEND, perf::STALLED-CYCLES-BACKEND, perf::INSTRUCTIONS, perf::CACHE-MISSES. The PAPI
   * library is loaded at the first use. Events of components other than perf_event count the whole process. Source: TVM
   * 0.23 PAPIMetricCollector; PAPI 7. */
  OPD_COLLECTOR_PAPI = 3,
  /** The energy that the whole processor used: "Energy of PACKAGE (uJ)" for each domain that the kernel offers. Takes
   * no options. Source: Linux powercap, intel-rapl. */
  OPD_COLLECTOR_ENERGY = 4,
  /** Values of NVIDIA GPUs, read from NVML when the call ends. The columns have NVML's index of the GPU:
   * - "Power draw of GPU 0 (W)" and "Temperature of GPU 0 (C)".
   * - "SM clock of GPU 0 (MHz)" and "Memory clock of GPU 0 (MHz)".
   * - "Utilization of GPU 0 (%)" and "Memory utilization of GPU 0 (%)".
   * - "Energy of GPU 0 (uJ)", during the call.
   *
   * If a GPU does not report a value, its column is missing, and the configuration says so. The collector measures the
   * GPUs of the run's CUDA devices; if the run has none, it measures all GPUs. Traces of running recordings show these
   * values as counters, except the energy. Calls within a millisecond share one reading. Takes no options. Since: 0.2.
   * Source: NVML, which comes with NVIDIA's driver. */
  OPD_COLLECTOR_NVML = 5,
  /** The device's own counters for the kernels in a call. On Vulkan, the counter is "Compute shader invocations": the
   * number of threads of the kernels that the calling thread launched. On CUDA, the events are metrics of CUPTI's range
   * profiler that end with ".sum", such as sm__inst_executed.sum. CUPTI limits their number to those that it can count
   * in one run of a kernel. They count the whole device. The start and the end of a call wait for the device. Devices
   * without counters have no columns, and the configuration says why. Since: 0.2. Source: Vulkan 1.3 - A Specification,
   * VK_QUERY_TYPE_PIPELINE_STATISTICS; NVIDIA, CUPTI 12.6, Range Profiling API. */
  OPD_COLLECTOR_DEVICE = 6,
  OPD_COLLECTOR_KIND_MAX_ENUM = 0x7FFFFFFF /**< Not a value: makes the type 32 bits wide. */
} opd_collector_kind;

/** Options of a built-in collector. */
typedef struct opd_counter_options {
  uint32_t struct_size; /**< Set by opd_counter_options_init(). */
  int32_t per_thread;   /**< 1: adds columns "NAME (least of threads)" and "NAME (most of threads)". Default: 0 */
  int32_t best_effort; /**< 1: events that cannot be counted here are left out, and the configuration says why. Default:
                            0 */
  int32_t num_events;  /**< Number of @p events. Default: 0 */
  const char *const *events; /**< Borrowed. @p num_events names of events. Default: NULL: the collector's usual
                                  events */
  const DLDevice *devices;   /**< Borrowed. A device for each of @p events: the event is counted during calls on that
                                  device. Default: NULL: the CPU */
  /** 1: for VMs of a session only, whose module comes from opd_rpc_session_load_module(). Events are checked on the
   * server. On a local VM the collector fails, and the report says so. Default: 0 */
  int32_t elsewhere;
  int32_t reserved; /**< Default: 0 */
} opd_counter_options;

/** Writes struct_size and the defaults, which are all 0 or NULL. NULL is allowed. Threads: safe. Since: 0.1 */
static inline void opd_counter_options_init(opd_counter_options *options) {
  const opd_counter_options defaults = {(uint32_t)sizeof *options, 0, 0, 0, NULL, NULL, 0, 0};
  if (options) *options = defaults;
}

/** Makes a built-in collector.
 * @param kind          The kind of collector; see opd_collector_kind.
 * @param options       Borrowed; NULL means all defaults.
 * @param out_collector New reference.
 * @return NULL, or OPD_NOT_FOUND for the name of an event; OPD_UNSUPPORTED with the reason and the remedy if the
 *         collector or an event is not available here; OPD_INVALID_ARGUMENT for the kind or an option that it does not
 *         take.
 * Threads: safe. Cost: each named event is counted once. Blocks. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_collector_create_builtin(opd_collector_kind kind,
                                                              const opd_counter_options *options,
                                                              opd_collector **out_collector);

/** Lists the events that a built-in collector can count here. Each was counted once as a test.
 * @param kind      The kind of collector; see opd_collector_kind.
 * @param out_names New reference: an array of strings; empty for a collector that takes no events.
 * @return NULL, or OPD_UNSUPPORTED without the PAPI library, OPD_INVALID_ARGUMENT for the kind.
 * Threads: safe. Blocks. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_collector_list_events(opd_collector_kind kind, opd_array **out_names);

/* ---- one function ----------------------------------------------------------------------------------------------- */

/** Makes a function that measures calls of another function. It takes the same arguments. It calls the other function
 * @p warmup_iters times, then once with the collectors around it. Its result is a map from a metric's name to an array
 * of its kind (opd_metric_kind) and its value. "Duration (us)" is always in the map. If a collector fails, the call
 * returns its error.
 * @param function     Borrowed; retained.
 * @param device       The device that collectors are started with. It is synchronised before the clock is read.
 * @param collectors   Borrowed; @p num_collectors of them, retained.
 * @param out_function New reference. One call at a time.
 * @return NULL, or OPD_INVALID_ARGUMENT, OPD_UNSUPPORTED device.
 * Threads: safe. Since: 0.2. Source: TVM 0.23 profile_function. */
OPD_API OPD_NODISCARD opd_error *opd_function_profile(opd_function *function, DLDevice device,
                                                      opd_collector *const *collectors, int32_t num_collectors,
                                                      int32_t warmup_iters, opd_function **out_function);

OPD_END_DECLS
#endif
