/** @file telemetry.h  Telemetry: metrics for Prometheus, metrics and spans for OpenTelemetry. */
#ifndef OPDYNO_TELEMETRY_H_
#define OPDYNO_TELEMETRY_H_

#include <opdyno/base.h>

OPD_BEGIN_DECLS

/** Telemetry of this process, until its last reference is released. The release sends all pending data, which takes a
 * second at most. Thread-safe. Several may run at once, also beside profilers and recordings from outside. Each counts
 * as a recording, of which a process can have 16. In a child of fork(), telemetry has ended.
 *
 * A thread of the library computes the metrics from the events that profilers record: the calls of a program's
 * functions, their durations, and whether they failed. There are also metrics of device memory, modules, and the
 * process. docs/telemetry.md lists them. While no telemetry runs, calls have no extra cost. */
typedef struct opd_telemetry opd_telemetry;
OPD_HANDLE(opd_telemetry);

/** Options of opd_telemetry_start(): the measurements, and their destinations. */
typedef struct opd_telemetry_options {
  uint32_t struct_size; /**< Set by opd_telemetry_options_init(). */
  int32_t per_operator; /**< 1: also measures operators: with metrics, and with spans within those of their calls. Each
                             call of an operator then costs as much as in a profiler. Default: 0 */
  /** Borrowed. "HOST:PORT" at which Prometheus finds the metrics, such as "127.0.0.1:9464". The host is an IP address
   * or "localhost". If the port is 0, the system chooses one, and opd_telemetry_address() gives it. Anyone who reaches
   * the address can read the metrics; nothing is encrypted. Default: NULL: none */
  const char *prometheus_address;
  /** Borrowed. Address of an OpenTelemetry collector for OTLP/HTTP, such as "http://127.0.0.1:4318". https is refused.
   * Default: NULL: the value of OTEL_EXPORTER_OTLP_ENDPOINT, unless OTEL_EXPORTER_OTLP_PROTOCOL is grpc */
  const char *otlp_endpoint;
  const char *otlp_headers; /**< Borrowed. Headers of each request to the collector: "KEY=VALUE,KEY=VALUE",
                                 percent-encoded. Default: NULL: OTEL_EXPORTER_OTLP_HEADERS */
  const char *service_name; /**< Borrowed. Name of the service. Default: NULL: OTEL_SERVICE_NAME, or the name of the
                                 process */
  /** Borrowed. Further attributes of OpenTelemetry's resource: "KEY=VALUE,KEY=VALUE", percent-encoded. The attributes
   * of OTEL_RESOURCE_ATTRIBUTES are added. Default: NULL */
  const char *resource_attributes;
  uint64_t interval_ns; /**< Interval at which metrics are sent to the collector, at least 1 ms. Default: 10000000000 */
  int32_t max_queue;  /**< Limit of spans that wait to be sent. Beyond it, the oldest are dropped and counted. Default:
                           2048 */
  int32_t max_series; /**< Limit of label sets of a metric. Values beyond it have the labels "other". Default: 1000 */
  uint64_t max_bytes; /**< Limit in bytes of the events that wait to be read, of all threads. Beyond it, the oldest are
                           dropped and counted. Default: 67108864 */
  int32_t spans;      /**< 1: the collector also gets spans. Default: 1 */
  int32_t process_metrics; /**< 1: also measures CPU time, memory and descriptors of the process, as "process_…".
                                Default: 1 */
} opd_telemetry_options;

/** Writes struct_size and the defaults: interval_ns 10^10, max_queue 2048, max_series 1000, max_bytes 67108864, spans
 * 1, process_metrics 1; the rest is 0 or NULL. NULL is allowed. Threads: safe. Since: 0.2 */
static inline void opd_telemetry_options_init(opd_telemetry_options *options) {
  const opd_telemetry_options defaults = {
      (uint32_t)sizeof *options, 0, 0, 0, 0, 0, 0, (uint64_t)10 * 1000 * 1000 * 1000, 2048, 1000,
      (uint64_t)64 << 20,        1, 1};
  if (options) *options = defaults;
}

/** Starts to measure, to listen for Prometheus, and to send to the collector.
 * @param options       Borrowed; NULL means all defaults.
 * @param out_telemetry New reference.
 * @return NULL, or OPD_INVALID_ARGUMENT for an option or one of the variables OTEL_…; OPD_UNSUPPORTED for https; OPD_IO
 *         if the address is in use, or no thread can be started; OPD_FAILED_PRECONDITION if 16 recordings run. If the
 *         collector does not answer, that is not an error.
 * Threads: safe. Cost: a call of a program takes 100 to 250 ns more. Since: 0.2
 * Source: OpenTelemetry, "OTLP Exporter configuration" */
OPD_API OPD_NODISCARD opd_error *opd_telemetry_start(const opd_telemetry_options *options,
                                                     opd_telemetry **out_telemetry);

/** Returns the address at which Prometheus finds the metrics, such as "127.0.0.1:9464"; the path is /metrics.
 * @return Borrowed; "" if it does not listen, or for NULL. Threads: safe. Since: 0.2 */
OPD_API const char *opd_telemetry_address(const opd_telemetry *telemetry);

/** A text format of metrics. */
typedef enum opd_telemetry_format OPD_ENUM_TYPE {
  OPD_TELEMETRY_PROMETHEUS = 0,              /**< "text/plain; version=0.0.4; charset=utf-8". */
  OPD_TELEMETRY_OPEN_METRICS = 1,            /**< "application/openmetrics-text; version=1.0.0; charset=utf-8". */
  OPD_TELEMETRY_FORMAT_MAX_ENUM = 0x7FFFFFFF /**< Not a value: makes the type 32 bits wide. */
} opd_telemetry_format;

/** Gives the metrics as text, for programs with a server of their own. The text includes all calls that ended before.
 * @param format   The form; see opd_telemetry_format.
 * @param out_text New reference.
 * @return NULL, or OPD_INVALID_ARGUMENT for an unknown form; OPD_FAILED_PRECONDITION in a child of fork().
 * Threads: safe. Blocks. Since: 0.2. Source: Prometheus, "Exposition formats"; OpenMetrics 1.0.0 */
OPD_API OPD_NODISCARD opd_error *opd_telemetry_to_text(opd_telemetry *telemetry, opd_telemetry_format format,
                                                       opd_buffer **out_text);

/** Kinds of values that a program sets: kinds of metrics, and spans. */
typedef enum opd_telemetry_kind OPD_ENUM_TYPE {
  OPD_TELEMETRY_COUNTER = 0,               /**< A sum that only rises. In texts, its name ends in "_total". */
  OPD_TELEMETRY_GAUGE = 1,                 /**< Any value. */
  OPD_TELEMETRY_SPAN = 2,                  /**< Not a metric, but a span that has ended, for the collector. */
  OPD_TELEMETRY_KIND_MAX_ENUM = 0x7FFFFFFF /**< Not a value: makes the type 32 bits wide. */
} opd_telemetry_kind;

/** A metric of the program, with one set of labels; or a span of the program, which the fields from @p traceparent on
 * describe. */
typedef struct opd_telemetry_value {
  uint32_t struct_size;    /**< Set by opd_telemetry_value_init(). */
  opd_telemetry_kind kind; /**< Kind of the value. Default: OPD_TELEMETRY_GAUGE */
  const char *name; /**< Borrowed. Name of the metric: letters, digits and '_', without "_total". A span's name is any
                         text. Required. Default: NULL */
  const char *help; /**< Borrowed. Description of the metric. Default: NULL: "" */
  const char *const *label_names;  /**< Borrowed. @p num_label_names names of labels: letters, digits and '_'. A span's
                                        names are any text. Default: NULL */
  const char *const *label_values; /**< Borrowed. A text for each of @p label_names. Default: NULL */
  int32_t num_label_names;         /**< Number of @p label_names. Default: 0 */
  uint32_t reserved;               /**< Default: 0 */
  double value;                    /**< Value of the metric. Default: 0 */
  const char *traceparent; /**< Borrowed. Span only: its W3C traceparent (trace id, span id, sampled flag), the one
                                passed on to callees. Default: NULL */
  const char *parent_span; /**< Borrowed. Span only: the span id of its parent, 16 hexadecimal digits. Default: NULL:
                                none */
  const char *error;       /**< Borrowed. Span only: the message of its error. Default: NULL: it did not fail */
  int64_t begin_ns;        /**< Span only: its start, in Unix time. Default: 0 */
  int64_t end_ns;          /**< Span only: its end, in Unix time. Default: 0 */
  int32_t span_kind;  /**< Span only: 1 internal, 2 server, 3 client, 4 producer, 5 consumer, as in OTLP. Default: 1 */
  uint32_t reserved2; /**< Default: 0 */
} opd_telemetry_value;

/** Writes struct_size and the defaults: kind OPD_TELEMETRY_GAUGE, span_kind 1; the rest is 0 or NULL. NULL is allowed.
 * Threads: safe. Since: 0.2 */
static inline void opd_telemetry_value_init(opd_telemetry_value *value) {
  const opd_telemetry_value defaults = {
      (uint32_t)sizeof *value, OPD_TELEMETRY_GAUGE, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0};
  if (value) *value = defaults;
}

/** Sets a metric of the program, which keeps its value until it is set again. If the kind is OPD_TELEMETRY_SPAN, adds a
 * span to those that wait to be sent. The span is dropped if there is no collector, or if its trace is not kept.
 * @param value Borrowed.
 * @return NULL, or OPD_INVALID_ARGUMENT for a name, for a field of a span, or if the metric already has another kind;
 *         OPD_OUT_OF_RANGE if the program has `max_series` label sets. Threads: safe. Blocks. Since: 0.2. Source:
 *         Prometheus, "Metric names and labels"; W3C Trace Context, level 1 */
OPD_API OPD_NODISCARD opd_error *opd_telemetry_set_value(opd_telemetry *telemetry, const opd_telemetry_value *value);

/** Sends all pending data to the collector, and waits until the collector has accepted it.
 * @param timeout_ns Limit of the wait.
 * @return NULL, or OPD_DEADLINE_EXCEEDED, OPD_IO (the collector refused, or there is none; the spans wait for the next
 *         try), OPD_FAILED_PRECONDITION in a child of fork().
 * Threads: safe. Blocks. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_telemetry_flush(opd_telemetry *telemetry, uint64_t timeout_ns);

/** Counts of sent and dropped data, and whether spans are sent at all. */
typedef struct opd_telemetry_stats {
  uint32_t struct_size;  /**< Set by the caller to sizeof(opd_telemetry_stats). The library sets it to the number of
                              bytes that it filled. */
  uint32_t reserved;     /**< Always 0. */
  uint64_t scrape_count; /**< Requests of Prometheus that were answered. */
  uint64_t metrics_sent_count;   /**< Requests with metrics that the collector accepted. */
  uint64_t spans_sent_count;     /**< Spans that the collector accepted. */
  uint64_t spans_dropped_count;  /**< Spans for which there was no room, or that the collector refused. */
  uint64_t spans_waiting_count;  /**< Spans in the queue now. */
  uint64_t failed_count;         /**< Requests that the collector did not accept. */
  uint64_t events_dropped_count; /**< Events for which there was no room. No other metric counts them. */
  int32_t is_sending_spans;      /**< 1: spans are sent to a collector. */
  uint32_t reserved2;            /**< Always 0. */
} opd_telemetry_stats;

/** Reads the counts of sent and dropped data.
 * @param out_stats Written. Its struct_size must be set.
 * @return NULL, or OPD_INVALID_ARGUMENT for a wrong struct_size. Threads: safe. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_telemetry_get_stats(opd_telemetry *telemetry, opd_telemetry_stats *out_stats);

/** Sets the request for which the calling thread works. Spans of the thread's later calls become children of the
 * caller's span. If the caller does not keep its trace, these spans are left out.
 * @param traceparent Borrowed: the value of the request's header `traceparent`; NULL: none, as at first.
 * @return NULL, or OPD_INVALID_ARGUMENT for any other text; then nothing changes.
 * Threads: safe. Cost: about 50 ns. Since: 0.2. Source: W3C Trace Context, level 1 */
OPD_API OPD_NODISCARD opd_error *opd_telemetry_set_parent(const char *traceparent);

OPD_END_DECLS
#endif
