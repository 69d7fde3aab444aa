// Tests of the data for the JVM's own tools: events of the Flight Recorder, JMX gauges.
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import javax.management.JMX;
import javax.management.ObjectName;
import io.opdyno.*;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;

final class WithJvm {
  private WithJvm() {}

  static void run(Path directory) throws Exception {
    events(directory);
    calls(directory);
    gauges();
  }

  private static Trace recorded() {
    try (Profiler profiler = Profiler.create()) {
      profiler.start();
      try (Range outer = Range.open("outer")) {
        Range.open("größe").close();
        First.check(outer != null, "a range");
      }
      return profiler.stop();
    }
  }

  private static void events(Path directory) throws Exception {
    Path file = directory.resolve("spans.jfr");
    try (Trace trace = recorded();
        Recording recording = new Recording()) {
      First.check(FlightEvents.commit(trace) == 0, "nobody records");
      recording.enable("io.opdyno.Span");
      recording.start();
      First.check(FlightEvents.commit(trace) == 2, "two spans");
      recording.stop();
      recording.dump(file);
    }
    List<RecordedEvent> events = RecordingFile.readAllEvents(file).stream().filter(event -> event.getEventType().getName().equals("io.opdyno.Span")).toList();
    Files.delete(file);
    First.check(events.stream().map(event -> event.getString("name")).toList().equals(List.of("outer", "größe")), "" + events);
    RecordedEvent outer = events.get(0), inner = events.get(1);
    First.check(outer.getString("kind").equals("range") && outer.getLong("begin") == 0, "" + outer);
    First.check(outer.getLong("time") >= inner.getLong("begin") + inner.getLong("time"), outer + " has " + inner);
    long alone = outer.getLong("time") - inner.getLong("time");
    First.check(Math.abs(outer.getLong("timeAlone") - alone) <= 2, "rounded to nanoseconds: " + outer + inner);
    First.check(outer.getString("recordedThread").equals(inner.getString("recordedThread")), "one thread");
    Trace closed = recorded();
    closed.close();
    First.check(FlightEvents.commit(closed) == 0, "nothing is asked of it");
  }

  private static final String PROGRAM = """
      .func inner() {
        %x = call test.slow()
        ret %x
      }
      .func main() {
        %x = call inner()
        ret %x
      }
      .func fails() {
        %x = call test.fails()
        ret %x
      }
      """;

  private static void calls(Path directory) throws Exception {
    Path file = directory.resolve("calls.jfr");
    try (PackedFn slow = PackedFn.of(args -> { Thread.sleep(20); return 1L; });
        PackedFn fails = PackedFn.of(args -> { throw new First.Refused("on purpose"); })) {
      slow.register("test.slow");
      fails.register("test.fails");
      try (Executable executable = Executable.assemble(PROGRAM);
          Program program = executable.toProgram();
          Vm vm = program.vm();
          FlightObserver observer = FlightEvents.observe(vm);
          Recording recording = new Recording();
          Recording other = new Recording()) {
        First.check(!observer.isRecording(), "nobody records");
        other.disable("io.opdyno.Call");
        other.start();
        First.check(!observer.isRecording(), "nobody records this event");
        vm.call("main");
        recording.enable("io.opdyno.Call");
        recording.start();
        First.check(observer.isRecording(), "a recording runs");
        vm.call("main");
        First.failed(() -> vm.call("fails"), First.Refused.class, "on purpose");
        First.failed(() -> vm.call("fails"), First.Refused.class, "on purpose");
        vm.call("inner");
        First.check(observer.isRecording(), "still");
        recording.stop();
        First.check(!observer.isRecording(), "nobody records any more");
        vm.call("main");
        recording.dump(file);
      } finally {
        PackedFn.remove("test.slow");
        PackedFn.remove("test.fails");
      }
    }
    List<RecordedEvent> events = RecordingFile.readAllEvents(file).stream().filter(event -> event.getEventType().getName().equals("io.opdyno.Call"))
        .sorted(Comparator.comparing(RecordedEvent::getStartTime)).toList();
    Files.delete(file);
    First.check(events.stream().map(event -> event.getString("name")).toList().equals(List.of("inner", "test.slow", "test.slow")), "" + events);
    for (RecordedEvent event : events) {
      First.check(event.getDuration().toMillis() >= 20, "the time of the call: " + event);
      First.check(event.getThread().getJavaThreadId() == Thread.currentThread().getId(), "its thread: " + event);
    }
    First.check(!events.get(0).getEndTime().isBefore(events.get(1).getEndTime()), "one lies within the other: " + events);
    Vm vm;
    FlightObserver observer;
    try (Executable executable = Executable.assemble(".func main(x) {\n  ret %x\n}");
        Program program = executable.toProgram()) {
      vm = program.vm();
      observer = FlightEvents.observe(vm);
    }
    vm.close();
    try (Recording recording = new Recording()) {
      recording.enable("io.opdyno.Call");
      recording.start();
      First.check(!observer.isRecording(), "a VM that was closed is not observed");
    }
    observer.close();
  }

  private static void gauges() throws Exception {
    ObjectName name = Gauges.register(Device.CPU);
    First.check(name.equals(Gauges.register(Device.CPU)), "once");
    MemoryMXBean memory = JMX.newMXBeanProxy(ManagementFactory.getPlatformMBeanServer(), name, MemoryMXBean.class);
    First.check(memory.getDevice().equals("cpu:0"), memory.getDevice());
    int large = 1 << 26;
    long requests = memory.getAllocCount();
    try (Tensor tensor = Tensor.create(new DType(1, 8, 1), large)) {
      First.check(memory.getLiveBytes() >= large && memory.getReservedBytes() >= large && memory.getAllocCount() > requests, tensor.toString());
    }
    First.check(memory.getPeakBytes() >= large && memory.getIdleBytes() >= 0 && memory.getPoolHitCount() >= 0, "the most so far");
    memory.trim();
    memory.resetPeak();
    First.check(memory.getPeakBytes() < large, "since then");
    First.failed(() -> Gauges.register(new Device(2, 7)), OpdynoException.Unsupported.class, "cuda:7");
    Gauges.unregister(Device.CPU);
    Gauges.unregister(Device.CPU);
    First.check(!ManagementFactory.getPlatformMBeanServer().isRegistered(name), "no longer");
  }
}
