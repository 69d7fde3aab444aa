package io.opdyno;

/**
 * A report in the making, for one thread at a time: {@code builder.addCall().set("Name", Metric.string("add"))}. A metric that the
 * row has already is an {@link OpdynoException.AlreadyExists}; after finish() all is an {@link OpdynoException.FailedPrecondition}.
 */
public final class ReportBuilder extends Handle {
  ReportBuilder(long pointer) {
    super(pointer);
  }

  /** A report without rows. */
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

  /** Sets a metric of a device, whose name is as "cpu0". */
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

  /** The report; once only. */
  public Report finish() {
    return Out.take(out -> Native.opd_report_builder_finish(this, out));
  }
}
