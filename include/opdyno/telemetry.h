/** @file telemetry.h  Telemetry: metrics for Prometheus, metrics and spans for OpenTelemetry. */
#ifndef OPDYNO_TELEMETRY_H_
#define OPDYNO_TELEMETRY_H_

#include <opdyno/base.h>

OPD_BEGIN_DECLS

/** Telemetry of this process, until its last reference is released. The release sends all pending data, and takes a
 * second at most. Thread-safe. Several may run at once, beside profilers and recordings from outside. Each counts as a
 * recording; a process has at most 16. In a child of fork(), telemetry has ended.
 *
 * A thread of the library computes the metrics from the events that profilers record: calls of functions of programs,
 * how long they took and whether they failed. There are also metrics of device memory, modules, and the process.
 * docs/telemetry.md lists them. While no telemetry runs, nothing is added to a call. */
typedef struct opd_telemetry opd_telemetry;
OPD_HANDLE(opd_telemetry);

/** Options of opd_telemetry_start(): the measurements, and their destinations. */
typedef struct opd_telemetry_options {
  uint32_t struct_size; /**< set by opd_telemetry_options_init() */
  int32_t per_operator; /**< 1: also operators: metrics, and spans within those of their calls; each call of an operator
                             then costs what it costs in a profiler; 0 */
  /** Borrowed: "HOST:PORT" at which Prometheus finds the metrics, as "127.0.0.1:9464". The host is a number or
   * "localhost". If the port is 0, the system chooses one, and opd_telemetry_address() gives it. Anyone who reaches the
   * address can read the metrics; nothing is encrypted. NULL: nowhere */
  const char *prometheus_address;
  /** Borrowed: the address of an OpenTelemetry collector for OTLP/HTTP, as "http://127.0.0.1:4318". https is refused.
   * NULL: the value of OTEL_EXPORTER_OTLP_ENDPOINT, unless OTEL_EXPORTER_OTLP_PROTOCOL is grpc */
  const char *otlp_endpoint;
  const char *otlp_headers; /**< borrowed: "KEY=VALUE,KEY=VALUE", percent-encoded; for each request to the collector;
                                 NULL: OTEL_EXPORTER_OTLP_HEADERS */
  const char *service_name; /**< borrowed; NULL: OTEL_SERVICE_NAME, or the name of the process */
  /** Borrowed: "KEY=VALUE,KEY=VALUE", percent-encoded: further attributes of OpenTelemetry's resource. The attributes
   * of OTEL_RESOURCE_ATTRIBUTES are added; NULL */
  const char *resource_attributes;
  uint64_t interval_ns;    /**< between two sendings of metrics to the collector, at least 1 ms; 10000000000 */
  int32_t max_queue;       /**< limit of spans that wait to be sent; beyond it, the oldest are dropped and counted;
                                2048 */
  int32_t max_series;      /**< limit of label sets of a metric; values beyond it have the labels "other"; 1000 */
  uint64_t max_bytes;      /**< limit of events that wait to be read, of all threads; beyond it, the oldest are dropped
                                and counted; 67108864 */
  int32_t spans;           /**< 1: the collector also gets spans; 1 */
  int32_t process_metrics; /**< 1: also processor time, memory and descriptors of the process, as "process_…"; 1 */
} opd_telemetry_options;

/** Writes the defaults, and the size of the struct in this header. NULL is allowed. Threads: safe. Since: 0.2 */
static inline void opd_telemetry_options_init(opd_telemetry_options *options) {
  const opd_telemetry_options defaults = {
      (uint32_t)sizeof *options, 0, 0, 0, 0, 0, 0, (uint64_t)10 * 1000 * 1000 * 1000, 2048, 1000,
      (uint64_t)64 << 20,        1, 1};
  if (options) *options = defaults;
}

/** Starts to measure, to listen and to send.
 * @param options       Borrowed; NULL means all defaults.
 * @param out_telemetry New reference.
 * @return NULL, or OPD_INVALID_ARGUMENT for an option or one of the variables OTEL_…; OPD_UNSUPPORTED for https; OPD_IO
 *         if the address is in use, or no thread can be started; OPD_FAILED_PRECONDITION if 16 recordings run. A
 *         collector that does not answer is no error.
 * Threads: safe. Cost: a call of a program takes 100 to 250 ns more. Since: 0.2
 * Source: OpenTelemetry, "OTLP Exporter configuration" */
OPD_API OPD_NODISCARD opd_error *opd_telemetry_start(const opd_telemetry_options *options,
                                                     opd_telemetry **out_telemetry);

/** Returns where Prometheus finds the metrics, as "127.0.0.1:9464"; the path is /metrics.
 * @return Borrowed; "" if it listens nowhere, or for NULL. Threads: safe. Since: 0.2 */
OPD_API const char *opd_telemetry_address(const opd_telemetry *telemetry);

/** A form of metrics as text. */
typedef enum opd_telemetry_format OPD_ENUM_TYPE {
  OPD_TELEMETRY_PROMETHEUS = 0,              /**< "text/plain; version=0.0.4; charset=utf-8" */
  OPD_TELEMETRY_OPEN_METRICS = 1,            /**< "application/openmetrics-text; version=1.0.0; charset=utf-8" */
  OPD_TELEMETRY_FORMAT_MAX_ENUM = 0x7FFFFFFF /**< Not a value: makes the type 32 bits wide. */
} opd_telemetry_format;

/** Gives the metrics as text, for programs that have a server themselves. All calls that ended before are in it.
 * @param format   The form; see opd_telemetry_format.
 * @param out_text New reference.
 * @return NULL, or OPD_INVALID_ARGUMENT for an unknown form; OPD_FAILED_PRECONDITION in a child of fork().
 * Threads: safe. Blocks. Since: 0.2. Source: Prometheus, "Exposition formats"; OpenMetrics 1.0.0 */
OPD_API OPD_NODISCARD opd_error *opd_telemetry_to_text(opd_telemetry *telemetry, opd_telemetry_format format,
                                                       opd_buffer **out_text);

/** Kinds of a program's own values: metrics, by the meaning of their values, and spans. */
typedef enum opd_telemetry_kind OPD_ENUM_TYPE {
  OPD_TELEMETRY_COUNTER = 0,               /**< a sum that only rises; its name in texts ends in "_total" */
  OPD_TELEMETRY_GAUGE = 1,                 /**< any value */
  OPD_TELEMETRY_SPAN = 2,                  /**< no metric, but a span that has ended, for the collector */
  OPD_TELEMETRY_KIND_MAX_ENUM = 0x7FFFFFFF /**< Not a value: makes the type 32 bits wide. */
} opd_telemetry_kind;

/** A metric of the program's own, with one set of labels; or a span of its own, which the fields from @p traceparent on
 * describe. */
typedef struct opd_telemetry_value {
  uint32_t struct_size;    /**< set by opd_telemetry_value_init() */
  opd_telemetry_kind kind; /**< OPD_TELEMETRY_GAUGE */
  const char *name;        /**< borrowed: letters, digits and '_', without "_total"; a span's is any text. Required;
                                NULL */
  const char *help;        /**< borrowed; NULL: "" */
  const char *const *label_names;  /**< borrowed; each of letters, digits and '_', or of a span: any text; NULL */
  const char *const *label_values; /**< borrowed; a text for each of @p label_names; NULL */
  int32_t num_label_names;         /**< 0 */
  uint32_t reserved;               /**< 0 */
  double value;                    /**< 0 */
  const char *traceparent; /**< Borrowed. Span only: its W3C traceparent (trace id, span id, sampled flag), the one
                                passed on to callees. Default: NULL */
  const char *parent_span; /**< borrowed; of a span: 16 hexadecimal digits, the number of its parent; NULL: none */
  const char *error;       /**< borrowed; of a span that failed: the message; NULL: it did not fail */
  int64_t begin_ns;        /**< of a span: Unix time; 0 */
  int64_t end_ns;          /**< of a span: Unix time; 0 */
  int32_t span_kind;       /**< of a span: 1 internal, 2 server, 3 client, 4 producer, 5 consumer, as in OTLP; 1 */
  uint32_t reserved2;      /**< 0 */
} opd_telemetry_value;

/** Writes the defaults, and the size of the struct in this header. NULL is allowed. Threads: safe. Since: 0.2 */
static inline void opd_telemetry_value_init(opd_telemetry_value *value) {
  const opd_telemetry_value defaults = {
      (uint32_t)sizeof *value, OPD_TELEMETRY_GAUGE, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0};
  if (value) *value = defaults;
}

/** Sets a metric of the program's own, until it is set anew. Or adds a span to those that wait to be sent; it is
 * dropped if there is no collector, or if its trace is not kept.
 * @param value Borrowed.
 * @return NULL, or OPD_INVALID_ARGUMENT for a name, for what describes a span, or if the metric is of another kind
 * already; OPD_OUT_OF_RANGE if the program has `max_series` label sets. Threads: safe. Blocks. Since: 0.2 Source:
 * Prometheus, "Metric names and labels"; W3C Trace Context, level 1 */
OPD_API OPD_NODISCARD opd_error *opd_telemetry_set_value(opd_telemetry *telemetry, const opd_telemetry_value *value);

/** Sends all pending data to the collector, and waits until the collector has accepted it.
 * @param timeout_ns How long to wait at most.
 * @return NULL, or OPD_DEADLINE_EXCEEDED, OPD_IO (the collector refused, or there is none; the spans wait for the next
 *         try), OPD_FAILED_PRECONDITION in a child of fork().
 * Threads: safe. Blocks. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_telemetry_flush(opd_telemetry *telemetry, uint64_t timeout_ns);

/** Counts of sent and dropped data, and whether spans are sent at all. */
typedef struct opd_telemetry_stats {
  uint32_t struct_size;          /**< sizeof(opd_telemetry_stats), set by the caller; then the bytes that were filled */
  uint32_t reserved;             /**< 0 */
  uint64_t scrape_count;         /**< requests of Prometheus that were answered */
  uint64_t metrics_sent_count;   /**< requests with metrics that the collector took */
  uint64_t spans_sent_count;     /**< spans that the collector took */
  uint64_t spans_dropped_count;  /**< spans for which there was no room, or that the collector refused */
  uint64_t spans_waiting_count;  /**< spans in the queue now */
  uint64_t failed_count;         /**< requests that the collector did not take */
  uint64_t events_dropped_count; /**< events for which there was no room; they are in no other metric */
  int32_t is_sending_spans;      /**< 1: spans are sent to a collector. */
  uint32_t reserved2;            /**< 0 */
} opd_telemetry_stats;

/** Reads the counts of sent and dropped data.
 * @param out_stats Written. Its struct_size must be set.
 * @return NULL, or OPD_INVALID_ARGUMENT for a wrong struct_size. Threads: safe. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_telemetry_get_stats(opd_telemetry *telemetry, opd_telemetry_stats *out_stats);

/** Sets the request that the calling thread works for. Spans of its later calls become children of the caller's span.
 * If the caller does not keep its trace, they are left out.
 * @param traceparent Borrowed: the value of the request's header `traceparent`; NULL: none, as at first.
 * @return NULL, or OPD_INVALID_ARGUMENT for any other text; then nothing changes.
 * Threads: safe. Cost: some 50 ns. Since: 0.2. Source: W3C Trace Context, level 1 */
OPD_API OPD_NODISCARD opd_error *opd_telemetry_set_parent(const char *traceparent);

OPD_END_DECLS
#endif
