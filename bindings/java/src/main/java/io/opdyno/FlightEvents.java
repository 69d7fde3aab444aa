package io.opdyno;

import java.util.List;

/**
 * The spans of a trace as events of the JVM's Flight Recorder, "io.opdyno.Span", so that JDK Mission Control and `jfr` show
 * operators beside what the JVM does. It needs the JDK's module jdk.jfr.
 */
public final class FlightEvents {
  private FlightEvents() {}

  /**
   * Writes an event for each span. Their times are fields: an event's own time is when it was written. Without a recording of
   * the Flight Recorder nothing is written. Returns the number of events.
   */
  public static int commit(Trace trace) {
    if (!new SpanEvent().isEnabled()) return 0;
    try (Report report = trace.toReport(TraceView.EVENTS)) {
      List<Object> names = report.column(ReportSection.CALLS, "Name"), kinds = report.column(ReportSection.CALLS, "Kind");
      List<Object> begins = report.column(ReportSection.CALLS, "Start (us)"), times = report.column(ReportSection.CALLS, "Duration (us)");
      List<Object> alone = report.column(ReportSection.CALLS, "Self (us)"), devices = report.column(ReportSection.CALLS, "Device");
      List<Object> shapes = report.column(ReportSection.CALLS, "Argument Shapes"), threads = report.column(ReportSection.CALLS, "Thread");
      for (int i = 0; i < names.size(); ++i) {
        SpanEvent event = new SpanEvent();
        event.name = (String) names.get(i);
        event.kind = (String) kinds.get(i);
        event.begin = nanoseconds(begins.get(i));
        event.time = nanoseconds(times.get(i));
        event.timeAlone = nanoseconds(alone.get(i));
        event.device = (String) devices.get(i);
        event.shapes = (String) shapes.get(i);
        event.recordedThread = (String) threads.get(i);
        event.commit();
      }
      return names.size();
    }
  }

  private static long nanoseconds(Object microseconds) {
    return microseconds instanceof Number given ? Math.round(1000 * given.doubleValue()) : 0;
  }
}
