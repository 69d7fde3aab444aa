package io.opdyno;

/**
 * A report under construction: {@code builder.addCall().set("Name", Metric.string("add"))}. Only one thread at a time
 * may use it. A metric that the row already has is an {@link OpdynoException.AlreadyExists}. A call after finish() is
 * an {@link OpdynoException.FailedPrecondition}.
 */
public final class ReportBuilder extends Handle {
  ReportBuilder(long pointer) {
    super(pointer);
  }

  /** Begins a report without rows. */
  public static ReportBuilder create() {
    return Out.take(Native::opd_report_builder_create);
  }

  /** Begins a row of calls, which set() fills. */
  public ReportBuilder addCall() {
    Native.opd_report_builder_add_call(this);
    return this;
  }

  /** Sets a metric of the newest call: "Name", "Duration (us)" … */
  public ReportBuilder set(String name, Metric metric) {
    return set(ReportSection.CALLS, null, name, metric);
  }

  /** Sets a metric of a device, by a name such as "cpu0". */
  public ReportBuilder setDevice(String device, String name, Metric metric) {
    return set(ReportSection.DEVICES, device, name, metric);
  }

  /** Sets an entry of the configuration. */
  public ReportBuilder setConfiguration(String name, Metric metric) {
    return set(ReportSection.CONFIGURATION, null, name, metric);
  }

  private ReportBuilder set(ReportSection section, String device, String name, Metric metric) {
    Native.opd_report_builder_set(this, section, device, name, metric.kind(), metric.value());
    return this;
  }

  /** Ends the construction and returns the report. Call it only once. */
  public Report finish() {
    return Out.take(out -> Native.opd_report_builder_finish(this, out));
  }
}
