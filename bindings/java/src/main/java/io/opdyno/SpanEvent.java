package io.opdyno;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;

/** The event that {@link FlightEvents} writes. */
@Name("io.opdyno.Span")
@Label("Span")
@Category("opdyno")
@Description("A call of an operator, a run of a program, a range or a step of an opdyno recording")
@StackTrace(false)
final class SpanEvent extends Event {
  @Label("Name")
  String name;

  @Label("Kind")
  @Description("call, run, range, step or mark")
  String kind;

  @Label("Begin")
  @Description("From the start of the recording's first span")
  @Timespan(Timespan.NANOSECONDS)
  long begin;

  @Label("Time")
  @Description("With the spans within")
  @Timespan(Timespan.NANOSECONDS)
  long time;

  @Label("Time alone")
  @Description("Without the spans within")
  @Timespan(Timespan.NANOSECONDS)
  long timeAlone;

  @Label("Device")
  String device;

  @Label("Argument shapes")
  String shapes;

  @Label("Recorded thread")
  String recordedThread;
}
