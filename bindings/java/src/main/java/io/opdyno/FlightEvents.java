package io.opdyno;

import java.util.List;
import java.util.Objects;

/**
 * Writes operators as events of the JVM's Flight Recorder, so that JDK Mission Control and `jfr` show them together
 * with the JVM's events. The event "io.opdyno.Call" is a call while it runs; "io.opdyno.Span" is a span of a trace.
 * This class needs the JDK's module jdk.jfr.
 */
public final class FlightEvents {
  private FlightEvents() {}

  /**
   * Writes an event for each call of an operator or function that a program makes in this VM, with begin, duration and
   * thread. Events are written while the Flight Recorder runs a recording in which the event is enabled. While there is
   * no such recording, calls have no extra cost. A call that fails has no event. The observer replaces the VM's
   * instrument until it is closed.
   *
   * <p>Enable the event before the recording starts. A change of a running recording takes effect only when some
   * recording starts or stops.
   */
  public static FlightObserver observe(Vm vm) {
    return new FlightObserver(Objects.requireNonNull(vm, "vm must not be null"));
  }

  /**
   * Writes an event for each span. The times of a span are fields, because the event's own time is the time when it is
   * written. If the Flight Recorder runs no recording, nothing is written. Returns the number of events.
   */
  public static int commit(Trace trace) {
    Objects.requireNonNull(trace, "trace must not be null");
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
