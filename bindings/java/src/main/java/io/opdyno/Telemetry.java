package io.opdyno;

import org.jspecify.annotations.Nullable;

/**
 * Telemetry of this process: metrics for Prometheus, metrics and spans for an OpenTelemetry collector. It runs until it
 * is closed. close() sends pending data, which takes at most a second. Any thread may use it.
 */
public final class Telemetry extends Handle {
  Telemetry(long pointer) {
    super(pointer);
  }

  /** Starts telemetry; null: all defaults. */
  public static Telemetry start(@Nullable TelemetryOptions options) {
    return Out.take(out -> Native.opd_telemetry_start(TelemetryOptions.map(options), out));
  }

  /** The address at which Prometheus finds the metrics, such as "127.0.0.1:9464"; "" if there is none. */
  public String address() {
    return Native.opd_telemetry_address(this);
  }

  /** Returns the metrics as text, for programs with a server of their own. */
  public String toText(TelemetryFormat format) {
    return Out.take(out -> Native.opd_telemetry_to_text(this, format, out));
  }

  /** Sets one of the program's own metrics. It keeps its value until it is set again. */
  public void setValue(TelemetryValue value) {
    Native.opd_telemetry_set_value(this, TelemetryValue.map(value));
  }

  /**
   * Sends all pending data to the collector and waits until the collector has accepted it, but at most {@code
   * timeoutNs}.
   */
  public void flush(long timeoutNs) {
    Native.opd_telemetry_flush(this, timeoutNs);
  }

  /** Counts of sent and dropped data. */
  public TelemetryStats stats() {
    return Out.take(out -> Native.opd_telemetry_get_stats(this, out));
  }

  /**
   * Sets the request for which the calling thread works, by the request's header {@code traceparent}; null: no request.
   */
  public static void setParent(@Nullable String traceparent) {
    Native.opd_telemetry_set_parent(traceparent);
  }
}
