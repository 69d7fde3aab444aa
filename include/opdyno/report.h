/** @file report.h  Reports: rows of metrics per call, per device, and configuration; and traces: calls on a time line.
 */
#ifndef OPDYNO_REPORT_H_
#define OPDYNO_REPORT_H_

#include <opdyno/value.h>

OPD_BEGIN_DECLS

/** A report. Immutable. Layout and encodings are those of TVM 0.23's runtime.profiling.Report. */
typedef struct opd_report opd_report;

/** What a metric is. Append-only. */
typedef enum opd_metric_kind {
  OPD_METRIC_NONE = 0,
  OPD_METRIC_COUNT = 1,
  OPD_METRIC_DURATION = 2, /**< us */
  OPD_METRIC_PERCENT = 3,  /**< 0 to 100 */
  OPD_METRIC_RATIO = 4,
  OPD_METRIC_STRING = 5,
  OPD_METRIC_BYTES = 6,
  OPD_METRIC_HERTZ = 7,
  OPD_METRIC_KIND_MAX_ENUM = 0x7FFFFFFF /**< Not a value: makes the type 32 bits wide. */
} opd_metric_kind;

/** Reads a report from its JSON. OPD_BAD_FORMAT gives the offset. @param json Borrowed, @p size bytes. @param
 * out_report New reference. Threads: safe. Since: 0.1. Source: TVM Report.from_json. */
OPD_API OPD_NODISCARD opd_error *opd_report_from_json(const char *json, size_t size, opd_report **out_report);
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

/** Returns the number of call rows. Threads: safe. Since: 0.1 */
OPD_API size_t opd_report_call_count(const opd_report *report);
/** Gives one metric of a call: Count as int, Duration in µs, Percent and Ratio as float, text as string.
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
/** Lists the columns of the calls in the order they appeared. @param out_names New reference: an array of strings.
 * Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_report_list_columns(const opd_report *report, opd_array **out_names);
/** Lists the devices, as "cpu0". @param out_names New reference: an array of strings. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_report_list_devices(const opd_report *report, opd_array **out_names);
/** Lists the keys of the configuration. @param out_names New reference: an array of strings. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_report_list_configuration(const opd_report *report, opd_array **out_names);
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
