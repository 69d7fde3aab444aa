/** @file trace.h  Traces: recorded calls on a time line. */
#ifndef OPDYNO_TRACE_H_
#define OPDYNO_TRACE_H_

#include <opdyno/report.h>

OPD_BEGIN_DECLS

/** A recording: calls with begin, end, thread and name. Immutable. */
typedef struct opd_trace opd_trace;
OPD_HANDLE(opd_trace);

/** Reads the file of a recording (`opd_profiler_options.file`): a finished recording, one that a process is still
 * writing, or one that a killed process has left. Beside PATH it reads PATH.live, if there is one. Times are on the
 * clock of the process that recorded. A damaged block of 64 KiB is left out; its events are counted as dropped.
 * @param path      Borrowed. Hostile files do no harm.
 * @param out_trace New reference.
 * @return NULL, or OPD_NOT_FOUND, OPD_IO, or OPD_BAD_FORMAT if the file is not a recording.
 * Threads: safe. Cost: memory for the file's events. Blocks. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_trace_load(const char *path, opd_trace **out_trace);

/** Returns the number of recorded calls. Threads: safe. Since: 0.1 */
OPD_API uint64_t opd_trace_call_count(const opd_trace *trace);

/** Returns the number of dropped events, for which there was no room: calls of operators and of programs, and ranges.
 * Threads: safe. Since: 0.1 */
OPD_API uint64_t opd_trace_dropped_count(const opd_trace *trace);

/** A format of a trace. */
typedef enum opd_trace_format OPD_ENUM_TYPE {
  OPD_TRACE_CHROME = 0, /**< Chrome trace events, as torch.profiler writes them. */
  OPD_TRACE_TABLE = 1,  /**< A text table like torch.profiler's key_averages().table(). */
  OPD_TRACE_STACKS = 2, /**< Stacks for flame graphs. A line has the names of spans, outermost first, joined by ';', and
                             the self time of the innermost span in whole µs. See `per_event`. */
  OPD_TRACE_SPEEDSCOPE = 3, /**< JSON for speedscope. */
  OPD_TRACE_PERFETTO = 4,   /**< Perfetto's protocol buffers: a .pftrace file. */
  OPD_TRACE_PPROF = 5,      /**< A profile for pprof: protocol buffers, compressed by gzip. */
  OPD_TRACE_HTML = 6, /**< A page for a browser, which needs no network: time line, flame graph, table of operators.
                           Since: 0.2 */
  OPD_TRACE_FLAME_SVG = 7, /**< A flame graph: SVG without a script. The title of a box has its total time and self
                                time. Since: 0.2 */
  /** JSON: [times, sizes], of a trace with memory. Times are µs of Unix time. sizes[i] has 9 numbers of bytes. The
   * first is 0. The others are the bytes in use from times[i] on, by category: parameter, optimizer state, input,
   * temporary, activation, gradient, autograd detail, unknown. The first row is the memory that was in use before the
   * recording. */
  OPD_TRACE_MEMORY_TIMELINE = 8,
  /** JSON: a list of [ns of Unix time, action, bytes, category]. Actions: 1: existed before the recording, with the
   * time -1; 2: allocated; 3: new contents, in two rows: negative bytes of the old category, then bytes of the new one;
   * 4: freed, with negative bytes. Categories: 0 to 7, in the order above. */
  OPD_TRACE_MEMORY_TIMELINE_RAW = 9,
  OPD_TRACE_MEMORY_TIMELINE_HTML = 10,   /**< A page that shows the memory timeline: one file that needs no network. */
  OPD_TRACE_FORMAT_MAX_ENUM = 0x7FFFFFFF /**< Not a value: makes the type 32 bits wide. */
} opd_trace_format;

/** Options of opd_trace_write(). The fields from `group_by_input_shape` to `time_unit` are for OPD_TRACE_TABLE. */
typedef struct opd_trace_write_options {
  uint32_t struct_size; /**< Set by opd_trace_write_options_init(). */
  int32_t per_event;    /**< For OPD_TRACE_STACKS: 1: one line for each span, its µs rounded down; 0: one line for each
                             stack, its µs rounded up. In both, lines of 0 µs are left out. For OPD_TRACE_TABLE: 1: one
                             line for each span; 0: one line for each name. Default: 0 */
  const char *metric;   /**< For OPD_TRACE_STACKS: "self_cpu_time_total" is the self time on the host,
                             "self_cuda_time_total" that on other devices. Default: NULL: "self_cpu_time_total" */
  const char *metadata; /**< For OPD_TRACE_CHROME: a JSON object whose members become members of the file. Default:
                             NULL */

  int32_t group_by_input_shape;  /**< 1: spans of different shapes have separate rows. Default: 0 */
  int32_t with_flops;            /**< 1: adds a column of floating-point operations, where they are known. Default: 0 */
  const char *sort_by;           /**< Column that sorts the rows, the largest first: "count", "flops", "key",
                                      "self_cpu_time_total", "cpu_time_total", "cpu_time", "cpu_memory_usage" or
                                      "self_cpu_memory_usage"; the last five also with "cuda" or "device" for "cpu".
                                      Default: NULL: rows are in the order of the first begins */
  int32_t row_limit;             /**< Limit of rows. -1: all rows. Default: 100 */
  int32_t top_level_events_only; /**< 1: only spans that no other span contains. Default: 0 */
  int32_t max_name_column_width; /**< Limit of the name column, in characters. Default: 55 */
  int32_t max_shapes_column_width; /**< Limit of the shapes column, in characters. Default: 80 */
  const char *header;              /**< Line above the table. Default: NULL: none */
  const char *time_unit; /**< Unit of times: "s", "ms" or "us". Default: NULL: each time has the unit that suits it */

  const char *device; /**< Device of memory timelines, such as "cuda:0". Default: NULL: a device other than the host if
                           the trace has memory of one, else the host */

  int32_t group_by_stack_n; /**< For OPD_TRACE_TABLE and opd_trace_to_report(): spans share a row only if this number of
                                 the host's functions are equal, from the innermost on. Needs a trace with stacks.
                                 Default: 0 */
  int32_t max_src_column_width; /**< For OPD_TRACE_TABLE: limit of the column of sources, in characters. Default: 75 */

  /** Borrowed. For OPD_TRACE_FLAME_SVG: an earlier trace. The picture then compares both. The width of a box is the
   * mean of its times in a part of either trace; opd_trace_view says what the parts are. Its colour shows how much its
   * self time changed. The host's functions are not shown. Since: 0.2. Default: NULL */
  opd_trace *before;
} opd_trace_write_options;

/** Writes struct_size and the defaults: row_limit 100, max_name_column_width 55, max_shapes_column_width 80,
 * max_src_column_width 75; the rest is 0 or NULL. NULL is allowed. Threads: safe. Since: 0.2 */
static inline void opd_trace_write_options_init(opd_trace_write_options *options) {
  const opd_trace_write_options defaults = {
      (uint32_t)sizeof *options, 0, 0, 0, 0, 0, 0, 100, 0, 55, 80, 0, 0, 0, 0, 75, 0};
  if (options) *options = defaults;
}

/** Gives a trace as text or bytes.
 * @param format    The form; see opd_trace_format.
 * @param options   Borrowed; NULL means all defaults.
 * @param out_bytes New reference.
 * @return NULL, or OPD_INVALID_ARGUMENT for an unknown format, metric, device or time unit, or for metadata that is not
 *         a JSON object; OPD_NOT_FOUND for `sort_by`, with the known ones; OPD_FAILED_PRECONDITION for a memory
 *         timeline of a trace without memory. Threads: safe. Blocks. Since: 0.2
 * Source: torch.profiler: export_chrome_trace, export_stacks, key_averages().table(), export_memory_timeline;
 * speedscope's file format; Perfetto's trace_packet.proto; pprof's profile.proto; OpenTelemetry's profiles.proto;
 * Brendan Gregg, "The Flame Graph" (CACM 59(6), 2016), here with the outermost names at the top */
OPD_API OPD_NODISCARD opd_error *opd_trace_write(const opd_trace *trace, opd_trace_format format,
                                                 const opd_trace_write_options *options, opd_buffer **out_bytes);

/** Writes a trace to a file, which is replaced as a whole. A trace can be written any number of times. If the path ends
 * in ".gz", the file is compressed by gzip.
 * @param path    Borrowed.
 * @param format  The form; see opd_trace_format.
 * @param options Borrowed; NULL means all defaults.
 * @return NULL, or an error of opd_trace_write(), or OPD_IO for the file. Threads: safe. Blocks. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_trace_save(const opd_trace *trace, const char *path, opd_trace_format format,
                                                const opd_trace_write_options *options);

/** The rows of a report of a trace.
 *
 * Views by part divide a trace into parts, so that opd_report_diff() can tell changes from noise. They have a row for
 * each name, or path, in a part, and a column "Run" with the number of the part, from 0. The parts are the steps of a
 * profiler's schedule, with the spans of all threads of the process during the step. If the trace has no steps, the
 * parts are the outermost runs of programs. If it has no runs, they are the outermost ranges, else the whole trace.
 * Spans outside of all parts are left out, and so are parts that had not ended when the recording did. */
typedef enum opd_trace_view OPD_ENUM_TYPE {
  OPD_TRACE_EVENTS = 0,                /**< One row for each span, in the order of their start times. */
  OPD_TRACE_KEY_AVERAGES = 1,          /**< One row for all spans of one name. */
  OPD_TRACE_KEY_AVERAGES_BY_SHAPE = 2, /**< One row for all spans of one name and shapes. */
  OPD_TRACE_TASKS = 3, /**< One row for each task of a parallel loop, in the order of the tasks' starts. */
  OPD_TRACE_PATHS = 4, /**< One row for all spans of one stack of names. */
  OPD_TRACE_KEY_AVERAGES_BY_PART = 5,  /**< One row for all spans of one name in a part of the trace. */
  OPD_TRACE_PATHS_BY_PART = 6,         /**< One row for all spans of one stack of names in a part of the trace. */
  OPD_TRACE_VIEW_MAX_ENUM = 0x7FFFFFFF /**< Not a value: makes the type 32 bits wide. */
} opd_trace_view;

/** Makes a report of calls, runs of programs, ranges and steps.
 *
 * Columns: "Name"; "Duration (us)" and "Percent", nested spans included; "Device"; "Count"; "Argument Shapes"; "Self
 * (us)", nested spans excluded; "Kind": call, run, range, step, mark or device; "FLOP" where it is known. If memory was
 * recorded: "Memory (bytes)" and "Self Memory (bytes)", the memory that the thread allocated on the host minus the
 * memory it freed, with and without nested spans; "Device Memory (bytes)" and "Self Device Memory (bytes)", the same
 * for other devices. If work of devices was recorded: "Device Duration (us)" and "Self Device Duration (us)", the time
 * on devices of the work that the thread submitted, with and without nested spans. Kernels and copies have their own
 * rows, with only the time on the device. In OPD_TRACE_EVENTS these have "Stream", a number; "Launch Thread ID";
 * "Launched In", the row of the span around the launch; "Launch Gap (us)", the time that the work waited on the device;
 * and, for copies, "Bytes". OPD_TRACE_EVENTS also has "Start (us)", from the start of the first event, "Thread ID",
 * "Thread", "Parent" (the row of the span around it), "Depth", "Open" (1: it had not ended when the recording did),
 * "Step" (its number) and "Error"; for a merged trace also "Process ID", "Process" and "Host". If stacks were recorded,
 * events have "Stack": the host's call stack at the start of the span, or else of the span around it. The innermost
 * function is first, each as "file(line): function;".
 *
 * The "Name" of a path has the names of its spans, outermost first, joined by ";"; a ";" in a name becomes "_". Paths
 * have no shapes, memory and FLOP. Views by part have "Run". If a span is nested in a span of the same name, its time
 * counts once.
 *
 * Only OPD_TRACE_TASKS has tasks, because the other views have the calls that launch their loops. Their columns: "Name"
 * of the innermost span that launched the loop, or "parallel_for"; "Duration (us)"; "Start (us)"; "Wait (us)" from its
 * end to the end of the loop's last task; "Loop", a number; "Task", its number in the loop; "Tasks", the number of
 * tasks of the loop; "Thread ID"; "Thread"; for a merged trace also "Process ID", "Process" and "Host".
 * @param view       The rows of the report; see opd_trace_view.
 * @param options    Borrowed; NULL means all defaults. For key averages, `group_by_input_shape` makes a row for each
 *                   name and shapes. `group_by_stack_n` makes a row for each name and that number of functions, which
 *                   are the column "Stack". The other fields have no effect.
 * @param out_report New reference.
 * @return NULL, or OPD_INVALID_ARGUMENT for an unknown view or a field. Threads: safe. Blocks. Since: 0.2
 * Source: torch.profiler.profile.events, key_averages */
OPD_API OPD_NODISCARD opd_error *opd_trace_to_report(const opd_trace *trace, opd_trace_view view,
                                                     const opd_trace_write_options *options, opd_report **out_report);

/** How traces are joined. Each list is empty, or has one item for each trace. */
typedef struct opd_trace_merge_options {
  uint32_t struct_size; /**< Set by opd_trace_merge_options_init(). */
  int32_t num_labels;   /**< Number of @p labels. Default: 0 */
  /** Borrowed. Distinct names for the processes, such as "rank 0". "": the process keeps its own name. Default: NULL:
   * all keep their names */
  const char *const *labels;
  int32_t num_offsets_ns;      /**< Number of @p offsets_ns. Default: 0 */
  int32_t num_clock_errors_ns; /**< Number of @p clock_errors_ns. Default: 0 */
  const int64_t *offsets_ns;   /**< Borrowed. Offsets that are added to the times of each trace. Default: NULL: none */
  const int64_t *clock_errors_ns; /**< Borrowed. The error of each clock, to be shown. -1: the error that the system
                                       stated. Default: NULL: -1 for all */
} opd_trace_merge_options;

/** Writes struct_size and the defaults, which are all 0 or NULL. NULL is allowed. Threads: safe. Since: 0.2 */
static inline void opd_trace_merge_options_init(opd_trace_merge_options *options) {
  const opd_trace_merge_options defaults = {(uint32_t)sizeof *options, 0, 0, 0, 0, 0, 0};
  if (options) *options = defaults;
}

/** Joins traces of several processes and machines into one, on the time line of Unix time. Each process keeps its own
 * threads, runs and number. Processes on one machine are aligned by its monotonic clock, unless the machine was
 * restarted in between. So a change of the system's time does not move them apart. On several machines, the times are
 * as accurate as the clocks. Chrome traces and the page show the clock errors that the options or NTP state.
 *
 * Merged traces may be merged again. Then a label is put before the label of each process.
 * @param traces    Borrowed, @p num_traces different traces. The result shares their events.
 * @param options   Borrowed; NULL means all defaults.
 * @param out_trace New reference.
 * @return NULL, or OPD_INVALID_ARGUMENT (no trace, one recording twice, more than 4096 processes; a list whose length
 *         is not that of the traces; two equal labels; offsets of more than 2^60 ns).
 * Threads: safe. Cost: 8 bytes an event. Blocks. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_trace_merge(const opd_trace *const *traces, int32_t num_traces,
                                                 const opd_trace_merge_options *options, opd_trace **out_trace);

OPD_END_DECLS
#endif
