/** @file report.h  Reports: rows of metrics per call, per device, and configuration; and traces: calls on a time line.
 */
#ifndef OPDYNO_REPORT_H_
#define OPDYNO_REPORT_H_

#include <opdyno/arrow.h>
#include <opdyno/value.h>

OPD_BEGIN_DECLS

/** A report. Immutable. Layout and encodings are those of TVM 0.23's runtime.profiling.Report. */
typedef struct opd_report opd_report;

/** What a metric measures. Append-only. TVM knows the first five; where its forms are written, bytes are counts whose
 * names end in " (bytes)" and hertz are ratios whose names end in " (Hz)", and so they are read back. */
typedef enum opd_metric_kind {
  OPD_METRIC_NONE = 0,     /**< there is no such metric in this row */
  OPD_METRIC_COUNT = 1,    /**< an int */
  OPD_METRIC_DURATION = 2, /**< a float, in microseconds */
  OPD_METRIC_PERCENT = 3,  /**< a float, 100 for all */
  OPD_METRIC_RATIO = 4,    /**< a float */
  OPD_METRIC_STRING = 5,
  OPD_METRIC_BYTES = 6,                 /**< an int */
  OPD_METRIC_HERTZ = 7,                 /**< a float */
  OPD_METRIC_JSON = 8,                  /**< a string: the JSON of a metric that a newer writer knows, kept as it is */
  OPD_METRIC_KIND_MAX_ENUM = 0x7FFFFFFF /**< Not a value: makes the type 32 bits wide. */
} opd_metric_kind;

/* ---- making ----------------------------------------------------------------------------------------------------- */

/** A report in the making. One at a time. */
typedef struct opd_report_builder opd_report_builder;
/** Begins a report without calls. @param out_builder New reference. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_report_builder_create(opd_report_builder **out_builder);
/** Adds a call without metrics, of which the metrics that follow are. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_report_builder_add_call(opd_report_builder *builder);
/** Sets a metric of the call that was added last.
 *
 * @param column Borrowed UTF-8: "Name", "Duration (us)" … Of bytes and hertz, " (bytes)" or " (Hz)" is put behind it
 *               unless it ends so.
 * @param kind   What @p value is, not NONE and not JSON.
 * @param value  Borrowed: an int for counts and bytes, a string, else a float or int.
 * @return NULL, or a new error: OPD_ALREADY_EXISTS (the call has that metric), OPD_INVALID_ARGUMENT (the value does not
 *         fit the kind, or is not UTF-8), OPD_FAILED_PRECONDITION (no call was added, or the report was taken).
 * Cost: a look-up of the column; none where calls have the same columns in the same order. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_report_builder_set_call(opd_report_builder *builder, const char *column,
                                                             opd_metric_kind kind, const opd_value *value);
/** Sets a metric of a device, as "cpu0". As opd_report_builder_set_call(). Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_report_builder_set_device(opd_report_builder *builder, const char *device,
                                                               const char *metric, opd_metric_kind kind,
                                                               const opd_value *value);
/** Sets an entry of the configuration. As opd_report_builder_set_call(). Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_report_builder_set_configuration(opd_report_builder *builder, const char *key,
                                                                      opd_metric_kind kind, const opd_value *value);
/** Takes the report; the builder can only be released then. OPD_FAILED_PRECONDITION if it was taken.
 * @param out_report New reference. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_report_builder_finish(opd_report_builder *builder, opd_report **out_report);
/** Ends a reference. Threads: safe. Since: 0.1 */
OPD_API void opd_report_builder_release(opd_report_builder *builder);

/** Reads a report from its JSON. OPD_BAD_FORMAT gives the offset.
 * @param json Borrowed, @p size bytes. @param out_report New reference.
 * Threads: safe. Since: 0.1. Source: TVM Report.from_json. */
OPD_API OPD_NODISCARD opd_error *opd_report_from_json(const char *json, size_t size, opd_report **out_report);
/** Reads a report from a text table, as opd_report_to_table() and TVM's Report.table() write it.
 *
 * Numbers may be grouped as any locale does. What a table rounded stays rounded, joined rows stay joined, and the row
 * of sums is left out. A table does not tell the kinds of columns that not every report has: they are read by their
 * units, else whole numbers as counts, numbers with decimals as ratios, anything else as text.
 * @param text Borrowed, @p size bytes. @param out_report New reference.
 * @return NULL, or a new error: OPD_BAD_FORMAT with the line.
 * Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_report_from_table(const char *text, size_t size, opd_report **out_report);

/* ---- writing ---------------------------------------------------------------------------------------------------- */

/** Writes it as one line of JSON: calls, device_metrics, configuration. @param out_json New reference. Threads: safe.
 * Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_report_to_json(const opd_report *report, opd_buffer **out_json);
/** Writes the calls as CSV. @param out_csv New reference. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_report_to_csv(const opd_report *report, opd_buffer **out_csv);

/** How a table looks. */
typedef struct opd_table_options {
  uint32_t struct_size; /**< set by opd_table_options_init() */
  int32_t sort;         /**< 1: by descending duration; 0: program order */
  int32_t aggregate;    /**< 1: calls of one operator with equal shapes on one device make one row */
  int32_t col_sums;     /**< 1: a row of sums */
} opd_table_options;
/** Writes the defaults: all on. Since: 0.1 */
OPD_API void opd_table_options_init(opd_table_options *options);
/** Writes a text table. @param options Borrowed; NULL means all defaults. @param out_text New reference. Threads: safe.
 * Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_report_to_table(const opd_report *report, const opd_table_options *options,
                                                     opd_buffer **out_text);
/** Writes the same rows as a Markdown table, and the configuration as a list. As opd_report_to_table(). Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_report_to_markdown(const opd_report *report, const opd_table_options *options,
                                                        opd_buffer **out_text);
/** Writes the same rows as an HTML page that needs no other file: a table to sort, the time of each operator as bars,
 * and a roofline where the calls have "GFLOP/s" and "Arithmetic Intensity (FLOP/byte)" and the configuration has
 * "Peak GFLOP/s" and "Peak Bandwidth (GB/s)". As opd_report_to_table(). Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_report_to_html(const opd_report *report, const opd_table_options *options,
                                                    opd_buffer **out_text);

/** Gives the calls as one batch of an Arrow stream, with the report's own memory where its layout is Arrow's.
 *
 * Counts and bytes are int64; durations, percentages, ratios and hertz are float64; text is a dictionary of int64 and
 * utf8, which all text columns share; a column of different kinds is float64 if all are numbers, else utf8. A missing
 * metric is null. Each field's metadata has "opdyno.kind", as TVM's JSON names it; the schema's have "device_metrics"
 * and "configuration" as JSON.
 * @param out_stream Written, not read. What it and its arrays hold keeps the memory alive until they are released, on
 *                   any thread, also after @p report.
 * Threads: safe. Cost: no copy of columns that have a number or a text in each row. Since: 0.1. Source: the Arrow C
 * data and C stream interfaces. */
OPD_API OPD_NODISCARD opd_error *opd_report_to_arrow(const opd_report *report, struct ArrowArrayStream *out_stream);

/* ---- reading ---------------------------------------------------------------------------------------------------- */

/** Returns the number of call rows. Threads: safe. Since: 0.1 */
OPD_API size_t opd_report_call_count(const opd_report *report);
/** Gives one metric of a call: counts and bytes as int, text as string, all else as float.
 * @param row Place in program order. @param column Borrowed: "Name", "Duration (us)" … @param out_value New reference.
 *  OPD_OUT_OF_RANGE; OPD_NOT_FOUND lists the columns. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_report_get_call(const opd_report *report, size_t row, const char *column,
                                                     opd_value *out_value);
/** Gives one metric of a device, as "cpu0", "Duration (us)". As above. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_report_get_device(const opd_report *report, const char *device, const char *metric,
                                                       opd_value *out_value);
/** Gives one entry of the configuration. As above. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_report_get_configuration(const opd_report *report, const char *key,
                                                              opd_value *out_value);
/** Returns what the metric is that opd_report_get_call() gives; NONE where there is no such row, column or metric.
 * Threads: safe. Since: 0.1 */
OPD_API opd_metric_kind opd_report_call_kind(const opd_report *report, size_t row, const char *column);
/** Returns what the metric is that opd_report_get_device() gives. As above. Since: 0.1 */
OPD_API opd_metric_kind opd_report_device_kind(const opd_report *report, const char *device, const char *metric);
/** Returns what the entry is that opd_report_get_configuration() gives. As above. Since: 0.1 */
OPD_API opd_metric_kind opd_report_configuration_kind(const opd_report *report, const char *key);
/** Lists the columns of the calls in the order they appeared. @param out_names New reference: an array of strings.
 * Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_report_list_columns(const opd_report *report, opd_array **out_names);
/** Lists the devices, as "cpu0". @param out_names New reference: an array of strings. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_report_list_devices(const opd_report *report, opd_array **out_names);
/** Lists the metrics of a device. OPD_NOT_FOUND lists the devices. @param out_names New reference: an array of strings.
 * Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_report_list_device_metrics(const opd_report *report, const char *device,
                                                                opd_array **out_names);
/** Lists the keys of the configuration. @param out_names New reference: an array of strings. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_report_list_configuration(const opd_report *report, opd_array **out_names);
/** Joins reports of several runs, machines or ranks into one.
 *
 * Entries of the configuration that are equal in all reports stay there; the others become columns of the rows (and
 * metrics of the devices) of their reports, with " (configuration)" after the name where the rows have such a column.
 * The column "Run" counts the runs from 0; runs of reports that were merged before keep apart. Devices are listed per
 * run, as "cpu0 (run 1)". @param reports Borrowed, @p num of them, at least one. @param out_report New reference.
 * @return NULL, or OPD_INVALID_ARGUMENT (no reports), OPD_UNSUPPORTED (more than 2^32 - 1 rows). Threads: safe.
 * Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_report_merge(const opd_report *const *reports, size_t num,
                                                  opd_report **out_report);
/** Ends a reference. Threads: safe. Since: 0.1 */
OPD_API void opd_report_release(opd_report *report);

/** A recorded session: calls with begin, end, thread and name. Immutable. */
typedef struct opd_trace opd_trace;
/** Returns the number of calls recorded. Threads: safe. Since: 0.1 */
OPD_API size_t opd_trace_call_count(const opd_trace *trace);
/** Returns the number of calls that found no room. Threads: safe. Since: 0.1 */
OPD_API uint64_t opd_trace_dropped_count(const opd_trace *trace);
/** Writes the Chrome trace event format, which Perfetto opens. @param out_json New reference. Threads: safe. Since:
 * 0.1. Source: Trace Event Format; field names as torch.profiler writes them. */
OPD_API OPD_NODISCARD opd_error *opd_trace_to_chrome(const opd_trace *trace, opd_buffer **out_json);
/** Ends a reference. Threads: safe. Since: 0.1 */
OPD_API void opd_trace_release(opd_trace *trace);

OPD_END_DECLS
#endif
