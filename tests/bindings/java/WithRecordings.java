// Tests of dumps of running recordings, formats of traces, report builders, and the log.
import java.lang.ref.WeakReference;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import io.opdyno.*;

final class WithRecordings {
  private WithRecordings() {}

  static void run(Path directory) throws Exception {
    pushed();
    deviceWork();
    schedule();
    dumps(directory);
    First.awaitEnd(logged(directory), "the function of the log");
    forms();
    builder();
    tables();
  }

  private static List<Object> names(Trace trace) {
    try (Report report = trace.toReport(TraceView.EVENTS)) {
      return report.column(ReportSection.CALLS, "Name");
    }
  }

  private static void pushed() {
    First.check(Range.pop() == -1 && !Range.isRecorded(), "nothing was pushed");
    First.check(Range.isIttAvailable() == (System.getenv("INTEL_LIBITTNOTIFY64") != null), "no tool listens");
    try (Profiler profiler = Profiler.create()) {
      profiler.start();
      First.check(Range.isRecorded(), "a profiler records");
      First.check(Range.push("outer") == 0 && Range.push("größe") == 1, "the number around it");
      First.check(Range.pop() == 1 && Range.pop() == 0 && Range.pop() == -1, "in reverse");
      try (Trace trace = profiler.stop()) {
        First.check(names(trace).equals(List.of("outer", "größe")), "" + names(trace));
      }
      First.failed(profiler::stop, OpdynoException.FailedPrecondition.class, "");
    }
  }

  /** 2 selects CUPTI. A recording requests CUPTI only when it starts, so 2 is no error here. */
  private static void deviceWork() {
    for (int work : new int[] {0, 1, 2}) Profiler.create(ProfilerOptions.create().deviceWork(work)).close();
    First.failed(() -> Profiler.create(ProfilerOptions.create().deviceWork(3)), OpdynoException.InvalidArgument.class, "must be 0, 1 or 2, but is 3");
  }

  /** The program's own schedule records only the step with the second range. */
  private static void schedule() {
    try (Profiler profiler = Profiler.create()) {
      profiler.setAction(ProfilerAction.NONE);
      profiler.start();
      Range.open("before").close();
      profiler.setAction(ProfilerAction.RECORD_AND_SAVE);
      First.check(profiler.step() == null, "nothing was recorded");
      Range.open("recorded").close();
      profiler.setAction(ProfilerAction.NONE);
      try (Trace trace = profiler.step()) {
        First.check(names(trace).contains("recorded") && !names(trace).contains("before"), "" + names(trace));
      }
      First.check(profiler.stop() == null, "nothing is left");
    }
  }

  private static DumpOptions dump(Path directory) {
    return DumpOptions.create().path(directory.resolve("dump%n.json").toString());
  }

  /** One dump is requested, another one is triggered by a failed call. stop() waits for both. */
  private static void dumps(Path directory) throws Exception {
    try (Profiler profiler = Profiler.create(ProfilerOptions.create().buffer(ProfilerBuffer.KEEP_LAST))) {
      First.failed(() -> profiler.setDumps(DumpOptions.create()), OpdynoException.InvalidArgument.class, "path");
      First.failed(() -> profiler.dump("too early"), OpdynoException.FailedPrecondition.class, "");
      profiler.setDumps(dump(directory).format(TraceFormat.CHROME).onError(true));
      profiler.start();
      First.failed(() -> profiler.setDumps(null), OpdynoException.FailedPrecondition.class, "");
      Range.open("before the dump").close();
      profiler.dump("somebody asked");
      profiler.stop().close();
      String written = Files.readString(directory.resolve("dump1.json"));
      First.check(profiler.dumpCount() == 1 && written.contains("before the dump") && written.contains("somebody asked"), written);
      profiler.start();
      try (PackedFn refuse = PackedFn.of(args -> { throw new First.Refused("no"); })) {
        refuse.register("test.recordings.refuse");
        try (Executable executable = Executable.assemble(".func main() {\n  %x = call test.recordings.refuse()\n  ret %x\n}");
            Program program = executable.toProgram();
            Vm vm = program.vm()) {
          First.failed(() -> vm.call("main"), First.Refused.class, "no");
        } finally {
          PackedFn.remove("test.recordings.refuse");
        }
      }
      profiler.stop().close();
      First.check(profiler.dumpCount() == 2 && Files.exists(directory.resolve("dump2.json")), "the error asked: " + profiler.dumpCount());
      profiler.setDumps(null);
      profiler.start();
      First.failed(() -> profiler.dump("not any more"), OpdynoException.FailedPrecondition.class, "");
      profiler.stop().close();
    }
  }

  /** If a dump cannot be written, the log gets a message. The log may throw any exception. */
  private static WeakReference<LogCallback> logged(Path directory) {
    ConcurrentLinkedQueue<String> messages = new ConcurrentLinkedQueue<>();
    LogCallback log = (level, message) -> {
      messages.add(level + " " + message);
      throw new IllegalStateException("the log's own");
    };
    Path none = directory.resolve("größe");
    for (LogCallback each : new LogCallback[] {log, null}) {
      Opdyno.setLog(each);
      try (Profiler profiler = Profiler.create()) {
        profiler.setDumps(dump(none));
        profiler.start();
        profiler.dump("to nowhere");
        profiler.stop().close();
        First.check(profiler.dumpCount() == 0, "it could not be written");
      }
    }
    First.check(messages.size() == 1 && messages.peek().startsWith("WARNING ") && messages.peek().contains(none.toString()), "once: " + messages);
    return new WeakReference<>(log);
  }

  private static void forms() {
    try (Profiler profiler = Profiler.create()) {
      profiler.start();
      try (Range outer = Range.open("outer")) {
        for (int i = 0; i < 3; ++i) Range.open("inner").close();
        First.check(outer != null, "open");
      }
      try (Trace trace = profiler.stop();
          Report averages = trace.averages(null);
          Report sameByShape = trace.averages(TraceWriteOptions.create().groupByInputShape(true))) {
        int inner = averages.column(ReportSection.CALLS, "Name").indexOf("inner");
        First.check(averages.count(ReportSection.CALLS) == 2 && averages.get(ReportSection.CALLS, inner, "Count").equals(3L), "" + averages);
        First.check(sameByShape.count(ReportSection.CALLS) == 2, "ranges have no shapes");
        String stacks = trace.toText(TraceFormat.STACKS, null);
        First.check(stacks.lines().filter(line -> line.startsWith("outer;inner ")).count() == 1, stacks);
        String table = trace.toText(TraceFormat.TABLE, TraceWriteOptions.create().header("größe").sortBy("count").rowLimit(1));
        First.check(table.contains("größe") && table.contains("inner") && !table.contains("outer"), table);
        byte[] profile = trace.write(TraceFormat.PPROF, null);
        First.check(profile[0] == 0x1f && profile[1] == (byte) 0x8b, "compressed by gzip: RFC 1952");
        String chrome = trace.toText(TraceFormat.CHROME, TraceWriteOptions.create().metadata("{\"who\": \"größe\"}"));
        First.check(chrome.contains("größe") && !trace.toChrome().contains("größe"), chrome);
        First.failed(() -> trace.write(TraceFormat.CHROME, TraceWriteOptions.create().metadata("[]")), OpdynoException.InvalidArgument.class, "metadata");
        First.failed(() -> trace.write(TraceFormat.TABLE, TraceWriteOptions.create().sortBy("beauty")), OpdynoException.NotFound.class, "beauty");
        First.failed(() -> trace.write(TraceFormat.MEMORY_TIMELINE, null), OpdynoException.FailedPrecondition.class, "memory");
        First.failed(() -> trace.averages(TraceWriteOptions.create().groupByStackN(-1)), OpdynoException.InvalidArgument.class, "group_by_stack_n");
      }
    }
  }

  private static void builder() {
    try (ReportBuilder builder = ReportBuilder.create()) {
      First.failed(() -> builder.set("Name", Metric.string("add")), OpdynoException.FailedPrecondition.class, "");
      builder.addCall().set("Name", Metric.string("add")).set("Duration (us)", Metric.duration(1.5)).set("moved", Metric.bytes(64));
      builder.addCall().set("Name", Metric.string("größe")).set("Percent", Metric.percent(25)).set("Count", Metric.count(3));
      builder.setDevice("cpu0", "clock", Metric.hertz(2e9)).setConfiguration("half", Metric.ratio(0.5));
      First.failed(() -> builder.set("Count", Metric.count(4)), OpdynoException.AlreadyExists.class, "Count");
      First.failed(() -> builder.setDevice(null, "clock", Metric.hertz(1)), OpdynoException.InvalidArgument.class, "device");
      First.failed(() -> builder.set(null, Metric.count(4)), NullPointerException.class, "name");
      try (Report report = builder.finish()) {
        First.check(report.columns(ReportSection.CALLS).equals(List.of("Name", "Duration (us)", "moved (bytes)", "Percent", "Count")), "" + report);
        First.check(report.column(ReportSection.CALLS, "Name").equals(List.of("add", "größe")), "" + report);
        First.check(report.get(ReportSection.CALLS, 0, "moved (bytes)").equals(64L) && report.get(ReportSection.CALLS, 1, "Count").equals(3L), "" + report);
        First.check(report.kind(ReportSection.CALLS, 0, "moved (bytes)") == MetricKind.BYTES, "" + report);
        First.check(report.kind(ReportSection.CALLS, 0, "Count") == MetricKind.NONE && report.get(ReportSection.CALLS, 0, "Count") == null, "absent");
        First.check(report.get(ReportSection.DEVICES, 0, "clock (Hz)").equals(2e9) && report.get(ReportSection.DEVICES, 0, "Device").equals("cpu0"), "" + report);
        First.check(report.rows(ReportSection.CONFIGURATION).equals(List.of(Map.of("half", 0.5))), "" + report);
        First.check(report.rows(ReportSection.CALLS).equals(List.of(Map.of("Name", "add", "Duration (us)", 1.5, "moved (bytes)", 64L),
            Map.of("Name", "größe", "Percent", 25.0, "Count", 3L))), "" + report.rows(ReportSection.CALLS));
        First.failed(() -> report.kind(ReportSection.CALLS, 2, "Name"), OpdynoException.OutOfRange.class, "2");
        First.failed(() -> report.kind(ReportSection.CALLS, 0, "Nam"), OpdynoException.NotFound.class, "Name");
      }
      First.failed(builder::addCall, OpdynoException.FailedPrecondition.class, "");
      First.failed(builder::finish, OpdynoException.FailedPrecondition.class, "");
    }
  }

  private static void tables() {
    try (ReportBuilder builder = ReportBuilder.create()) {
      builder.addCall().set("Name", Metric.string("add")).set("Duration (us)", Metric.duration(1.5)).set("Percent", Metric.percent(100))
          .set("Device", Metric.string("cpu0")).set("Count", Metric.count(2)).set("Argument Shapes", Metric.string("float32[größe]"));
      try (Report report = builder.finish();
          Report again = Report.fromJson(new String(report.write(ReportFormat.JSON, null)))) {
        First.check(again.operators().equals(report.operators()) && again.operators().get(0).count() == 2, "there and back: " + again);
        First.check(again.get(ReportSection.CALLS, 0, "Argument Shapes").equals("float32[größe]"), "" + again);
      }
    }
  }
}
