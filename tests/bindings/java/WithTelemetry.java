// Tests of telemetry's options and results. tests/capi/telemetry*_test.cc test the counts and the sent data.
import io.opdyno.*;

final class WithTelemetry {
  private WithTelemetry() {}

  static void run() {
    metrics();
    refused();
  }

  private static void metrics() {
    try (Telemetry telemetry = Telemetry.start(TelemetryOptions.create().prometheusAddress("127.0.0.1:0"))) {
      First.check(telemetry.address().startsWith("127.0.0.1:"), telemetry.address());
      telemetry.setValue(TelemetryValue.create().name("my_jobs").value(2.5).labelNames("queue").labelValues("größe"));
      telemetry.setValue(TelemetryValue.create().name("my_bytes").kind(TelemetryKind.COUNTER).help("what it means").value(7));
      String text = telemetry.toText(TelemetryFormat.PROMETHEUS);
      First.check(text.contains("\nmy_jobs{queue=\"größe\"} 2.5\n") && text.contains("\nmy_bytes_total 7\n") && text.contains("what it means"), text);
      First.check(telemetry.toText(TelemetryFormat.OPEN_METRICS).endsWith("# EOF\n"), "as OpenMetrics has it");
      telemetry.flush(1); // there is no collector, so nothing is sent
      TelemetryStats stats = telemetry.stats();
      First.check(stats.spansSentCount() == 0 && stats.failedCount() == 0, "" + stats);
      First.failed(() -> telemetry.setValue(TelemetryValue.create().name("my_jobs").kind(TelemetryKind.COUNTER)), OpdynoException.InvalidArgument.class, "my_jobs");
      First.failed(() -> telemetry.setValue(TelemetryValue.create()), OpdynoException.InvalidArgument.class, "name");
    }
    try (Telemetry telemetry = Telemetry.start(null)) {
      First.check(telemetry.address().isEmpty(), "nobody asked for an address");
    }
  }

  private static void refused() {
    First.failed(() -> Telemetry.start(TelemetryOptions.create().otlpEndpoint("https://collector")), OpdynoException.Unsupported.class, "https");
    First.failed(() -> Telemetry.setParent("nonsense"), OpdynoException.InvalidArgument.class, "nonsense");
    Telemetry.setParent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    Telemetry.setParent(null);
  }
}
