package io.opdyno;

import org.jspecify.annotations.Nullable;

/**
 * Telemetry of this process: metrics for Prometheus, metrics and spans for a collector of OpenTelemetry. It measures, listens and sends
 * until it is closed; close() sends pending data, and takes a second at most. Any thread may use it.
 */
public final class Telemetry extends Handle {
  Telemetry(long pointer) {
    super(pointer);
  }

  /** Starts it; no options (null) are all defaults. */
  public static Telemetry start(@Nullable TelemetryOptions options) {
    return Out.take(out -> Native.opd_telemetry_start(TelemetryOptions.map(options), out));
  }

  /** Where Prometheus finds the metrics, as "127.0.0.1:9464"; "" if nowhere. */
  public String address() {
    return Native.opd_telemetry_address(this);
  }

  /** The metrics as text, for programs that have a server themselves. */
  public String toText(TelemetryFormat format) {
    return Out.take(out -> Native.opd_telemetry_to_text(this, format, out));
  }

  /** Sets a metric of the program's own, until it is set anew. */
  public void setValue(TelemetryValue value) {
    Native.opd_telemetry_set_value(this, TelemetryValue.map(value));
  }

  /** Sends all pending data to the collector, and waits until it has taken them, so many nanoseconds at most. */
  public void flush(long timeoutNs) {
    Native.opd_telemetry_flush(this, timeoutNs);
  }

  /** Counts of sent and dropped data. */
  public TelemetryStats stats() {
    return Out.take(out -> Native.opd_telemetry_get_stats(this, out));
  }

  /** Says which request the calling thread works for: the value of its header {@code traceparent}; null: none. */
  public static void setParent(@Nullable String traceparent) {
    Native.opd_telemetry_set_parent(traceparent);
  }
}
