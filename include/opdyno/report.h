/** @file report.h  Reports: rows of metrics for each call and each device, and a configuration. */
#ifndef OPDYNO_REPORT_H_
#define OPDYNO_REPORT_H_

#include <opdyno/arrow.h>
#include <opdyno/value.h>

OPD_BEGIN_DECLS

/** A report. Immutable. Layout and encodings are those of TVM 0.23's runtime.profiling.Report.
 *
 * A profile of several calls numbers them in "Repeat". If its rows are joined, its tables, pages and summaries have the
 * median per call of each operator, and shares and rates of these medians. Sums are those of all calls. */
typedef struct opd_report opd_report;
OPD_HANDLE(opd_report);

/** The type of a metric. Append-only. TVM knows the first five. In TVM's forms, bytes are counts whose names end in
 * " (bytes)", and hertz are ratios whose names end in " (Hz)"; they are read back as bytes and hertz. */
typedef enum opd_metric_kind OPD_ENUM_TYPE {
  OPD_METRIC_NONE = 0,                  /**< The row has no such metric. */
  OPD_METRIC_COUNT = 1,                 /**< An int. */
  OPD_METRIC_DURATION = 2,              /**< A float, in microseconds. */
  OPD_METRIC_PERCENT = 3,               /**< A float; 100 is the whole. */
  OPD_METRIC_RATIO = 4,                 /**< A float. */
  OPD_METRIC_STRING = 5,                /**< A string. */
  OPD_METRIC_BYTES = 6,                 /**< An int. */
  OPD_METRIC_HERTZ = 7,                 /**< A float. */
  OPD_METRIC_JSON = 8,                  /**< A string: the JSON of a metric from a newer writer, kept unchanged. */
  OPD_METRIC_KIND_MAX_ENUM = 0x7FFFFFFF /**< Not a value: makes the type 32 bits wide. */
} opd_metric_kind;

/** A part of a report. Each is a table: rows of named metrics. */
typedef enum opd_report_section OPD_ENUM_TYPE {
  OPD_REPORT_CALLS = 0,         /**< One row for each call, in program order. */
  OPD_REPORT_DEVICES = 1,       /**< One row for each device. Its name, such as "cpu0", is the metric "Device". */
  OPD_REPORT_CONFIGURATION = 2, /**< One row. */
  OPD_REPORT_SECTION_MAX_ENUM = 0x7FFFFFFF /**< Not a value: makes the type 32 bits wide. */
} opd_report_section;

/* ---- making ----------------------------------------------------------------------------------------------------- */

/** A report under construction. May be used by one thread at a time. */
typedef struct opd_report_builder opd_report_builder;
OPD_HANDLE(opd_report_builder);

/** Begins a report without calls.
 * @param out_builder New reference.
 * @return NULL, or OPD_OUT_OF_MEMORY. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_report_builder_create(opd_report_builder **out_builder);

/** Starts a new row of calls. Following opd_report_builder_set() calls for OPD_REPORT_CALLS fill it.
 * @return NULL, or OPD_FAILED_PRECONDITION if the report was taken. Threads: one at a time. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_report_builder_add_call(opd_report_builder *builder);

/** Sets a metric of the newest call, a device or the configuration.
 *
 * @param section The part of the report: the newest call, a device or the configuration.
 * @param device  Borrowed; for OPD_REPORT_DEVICES the device's name, such as "cpu0"; else NULL.
 * @param name    Borrowed UTF-8: "Name", "Duration (us)" … For bytes and hertz, " (bytes)" or " (Hz)" is appended
 *                unless the name ends with it.
 * @param kind    The kind of @p value; neither NONE nor JSON.
 * @param value   Borrowed: an int for counts and bytes, a string, else a float or int.
 * @return NULL, or OPD_ALREADY_EXISTS (the row has that metric), OPD_INVALID_ARGUMENT (the value does not fit the kind,
 *         or is not UTF-8; a device is missing or not expected), OPD_FAILED_PRECONDITION (no call was added, or the
 *         report was finished).
 * Threads: one at a time. Cost: a look-up of the column; none if calls have the same columns in the same order.
 * Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_report_builder_set(opd_report_builder *builder, opd_report_section section,
                                                        const char *device, const char *name, opd_metric_kind kind,
                                                        const opd_value *value);

/** Takes the report. The builder can only be released afterwards.
 * @param out_report New reference.
 * @return NULL, or OPD_FAILED_PRECONDITION if it was taken. Threads: one at a time. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_report_builder_finish(opd_report_builder *builder, opd_report **out_report);

/** Reads a report from its JSON.
 * @param json       Borrowed, @p size bytes.
 * @param out_report New reference.
 * @return NULL, or OPD_BAD_FORMAT with the offset. Threads: safe. Since: 0.1. Source: TVM Report.from_json. */
OPD_API OPD_NODISCARD opd_error *opd_report_from_json(const char *json, size_t size, opd_report **out_report);

/** Joins reports of several runs, machines or ranks into one.
 *
 * Configuration entries that are equal in all reports stay in the configuration. The others become columns of the rows
 * (and metrics of the devices) of their reports. If the rows already have a column of that name, " (configuration)" is
 * appended to the name. The column "Run" counts the runs from 0; runs of reports that were merged before stay apart.
 * Devices are listed for each run, for example as "cpu0 (run 1)".
 * @param reports    Borrowed, @p num of them, at least one.
 * @param out_report New reference.
 * @return NULL, or OPD_INVALID_ARGUMENT (no reports), OPD_UNSUPPORTED (more than 2^32 - 1 rows).
 * Threads: safe. Blocks. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_report_merge(const opd_report *const *reports, int32_t num,
                                                  opd_report **out_report);

/* ---- writing ---------------------------------------------------------------------------------------------------- */

/** A form of a report. */
typedef enum opd_report_format OPD_ENUM_TYPE {
  OPD_REPORT_JSON = 0,     /**< One line of JSON with calls, device_metrics and configuration, as TVM writes it. */
  OPD_REPORT_CSV = 1,      /**< The calls as comma-separated values. */
  OPD_REPORT_TABLE = 2,    /**< A text table of the calls and devices, and the configuration. */
  OPD_REPORT_MARKDOWN = 3, /**< The same rows as a Markdown table, and the configuration as a list. */
  OPD_REPORT_HTML = 4, /**< The same rows as an HTML page that needs no other file: a sortable table, the time of each
                            operator as bars, and a roofline if the calls have "GFLOP/s" and "Arithmetic Intensity
                            (FLOP/byte)" and the configuration has "Peak GFLOP/s" and "Peak Bandwidth (GB/s)". */
  OPD_REPORT_FORMAT_MAX_ENUM = 0x7FFFFFFF /**< Not a value: makes the type 32 bits wide. */
} opd_report_format;

/** Options of opd_report_write(), for OPD_REPORT_TABLE, OPD_REPORT_MARKDOWN and OPD_REPORT_HTML. */
typedef struct opd_report_write_options {
  uint32_t struct_size; /**< Set by opd_report_write_options_init(). */
  int32_t sort;         /**< 1: rows are sorted by descending duration; 0: rows are in program order. Default: 1 */
  int32_t aggregate;    /**< 1: calls of one operator with equal shapes on one device make one row. Default: 1 */
  int32_t col_sums;     /**< 1: adds a row of sums. Default: 1 */
  /** Width of OPD_REPORT_TABLE. 0: all columns, as wide as needed, as TVM writes them. At least 40: a summary in lines
   * of at most this number of characters: the slowest operators, times with units, and a sentence on what would help. A
   * summary is for people and cannot be read back. Default: 0 */
  int32_t width;
  int32_t max_rows; /**< Limit of rows of operators in a summary. Default: 0: all */
  int32_t colored;  /**< 1: a summary has bars and the colours of a terminal (ECMA-48). Default: 0 */
} opd_report_write_options;

/** Writes struct_size and the defaults: sort 1, aggregate 1, col_sums 1; the rest is 0 or NULL. NULL is allowed.
 * Threads: safe. Since: 0.1 */
static inline void opd_report_write_options_init(opd_report_write_options *options) {
  const opd_report_write_options defaults = {(uint32_t)sizeof *options, 1, 1, 1, 0, 0, 0};
  if (options) *options = defaults;
}

/** Writes a report as text.
 * @param format   The form; see opd_report_format.
 * @param options  Borrowed; NULL means all defaults.
 * @param out_text New reference.
 * @return NULL, or OPD_INVALID_ARGUMENT for an unknown format or a width that is too small. Threads: safe. Since: 0.2
 */
OPD_API OPD_NODISCARD opd_error *opd_report_write(const opd_report *report, opd_report_format format,
                                                  const opd_report_write_options *options, opd_buffer **out_text);

/** Gives the calls as one batch of an Arrow stream. If a column's layout is Arrow's, the stream shares its memory.
 *
 * Counts and bytes are int64; durations, percentages, ratios and hertz are float64; text is a dictionary of int64 and
 * utf8, which all text columns share. A column of different kinds is float64 if all its values are numbers, else utf8.
 * A missing metric is null. The metadata of each field has "opdyno.kind", as TVM's JSON names it; the metadata of the
 * schema has "device_metrics" and "configuration" as JSON.
 * @param out_stream Written, not read. The stream and its arrays keep the memory alive until they are released. They
 *                   may be released on any thread, and after @p report.
 * @return NULL, or OPD_OUT_OF_MEMORY.
 * Threads: safe. Cost: no copy of columns that have a number or a text in each row. Since: 0.1. Source: the Arrow C
 * data and C stream interfaces. */
OPD_API OPD_NODISCARD opd_error *opd_report_to_arrow(const opd_report *report, struct ArrowArrayStream *out_stream);

/* ---- reading ---------------------------------------------------------------------------------------------------- */

/** Returns the number of rows of @p section; 0 for an unknown one. Threads: safe. Since: 0.2 */
OPD_API int32_t opd_report_count(const opd_report *report, opd_report_section section);

/** Returns the number of calls. Threads: safe. Since: 0.1 */
static inline int32_t opd_report_call_count(const opd_report *report) {
  return opd_report_count(report, OPD_REPORT_CALLS);
}

/** Lists the names of the metrics of a section's rows, in the order in which they appeared.
 * @param section   Calls, devices or configuration.
 * @param out_names New reference: an array of strings.
 * @return NULL, or OPD_INVALID_ARGUMENT for an unknown section. Threads: safe. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_report_list(const opd_report *report, opd_report_section section,
                                                 opd_array **out_names);

/** Gives one metric of a row: counts and bytes as int, text as string, all else as float.
 * @param section   Calls, devices or configuration.
 * @param row       0 to opd_report_count() - 1.
 * @param name      Borrowed: "Name", "Duration (us)" …
 * @param out_value New reference; OPD_NONE if other rows have such a metric, but not this one.
 * @param out_kind  Written; OPD_METRIC_NONE in that case. NULL if it is not wanted.
 * @return NULL, or OPD_OUT_OF_RANGE; OPD_NOT_FOUND with the names of the section; OPD_INVALID_ARGUMENT for the section.
 * Threads: safe. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_report_get(const opd_report *report, opd_report_section section, int32_t row,
                                                const char *name, opd_value *out_value, opd_metric_kind *out_kind);

/** Gives one metric of all rows of a section, as opd_report_get() gives it for one.
 * @param section    Calls, devices or configuration.
 * @param name       Borrowed.
 * @param out_values New reference: an array with a value for each row.
 * @param out_kinds  New reference: an array with the opd_metric_kind of each value; NULL if it is not wanted.
 * @return NULL, or OPD_NOT_FOUND with the names of the section; OPD_INVALID_ARGUMENT for the section.
 * Threads: safe. Cost: about 10 ns a row. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_report_get_column(const opd_report *report, opd_report_section section,
                                                       const char *name, opd_array **out_values, opd_array **out_kinds);

OPD_END_DECLS
#endif
