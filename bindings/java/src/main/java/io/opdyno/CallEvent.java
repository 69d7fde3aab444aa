package io.opdyno;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** The event that a {@link FlightObserver} writes. */
@Name("io.opdyno.Call")
@Label("Call")
@Category("opdyno")
@Description("A call that a program makes in a VM: of an operator, or of a function of its own")
@StackTrace(false)
final class CallEvent extends Event {
  @Label("Name")
  String name;

  transient Object owner; // the observer that began the event
  transient long head, content; // the name as two words from native code
}
