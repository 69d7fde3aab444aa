// Tests of the Java stacks that profilers record. Java's own stack traces are the expected stacks: `here(new
// Throwable(), …)` is in the line of the call.
import static io.opdyno.Native.*;
import static io.opdyno.Out.take;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import io.opdyno.*;

final class WithStacks {
  private static final int MOST = 256, TOO_DEEP = 300;
  private static final Map<String, String> EXPECTED = new ConcurrentHashMap<>(); // stacks by the event's name

  static void run(String path) throws Exception {
    long live = First.liveBytes();
    try (Program module = take(out -> opd_module_load(Path.of(path), null, out));
        Vm vm = take(out -> opd_vm_create(module, null, out));
        Tensor x = Tensor.of(new float[] {1, 2, 3, -4.5f}, 4)) {
      notAskedFor(vm, x);
      kindsOfEvents(vm, x);
      places();
      nestedCalls();
      failures(vm);
      fullStack();
    }
    First.check(First.liveBytes() == live, "stacks keep no handle");
  }

  private static void notAskedFor(Vm vm, Tensor x) {
    try (Report report = recorded(false, () -> outer(vm, x))) {
      First.check(WithOptions.rows(report, "pushed") == 1, "ranges are recorded");
      First.check(!WithOptions.columns(report).contains("Stack"), "no stack is recorded");
    }
  }

  private static void kindsOfEvents(Vm vm, Tensor x) {
    EXPECTED.clear();
    try (Report report = recorded(true, () -> outer(vm, x))) {
      First.check(EXPECTED.keySet().containsAll(List.of("pushed", "begun", "marked", "main")), "all were seen");
      checkStacks(report);
      First.check(EXPECTED.get("main").startsWith("WithStacks.java(") && EXPECTED.get("main").contains(": WithStacks.inner;WithStacks.java("),
          "the innermost method comes first: " + EXPECTED.get("main"));
      First.check(stackOf(report, "add").equals(stackOf(report, "main")), "an operator has the stack of its run");
    }
    EXPECTED.clear();
    try (Report report = recorded(true, () -> profiled(vm, x))) {
      checkStacks(report);
    }
  }

  private static void outer(Vm vm, Tensor x) {
    inner(vm, x);
  }

  private static void inner(Vm vm, Tensor x) {
    Out<Object> out = new Out<>();
    here(new Throwable(), "pushed"); opd_range_push("pushed");
    here(new Throwable(), "main"); opd_vm_call(vm, "main", new Object[] {x}, null, out);
    opd_range_pop();
    ((Tensor) out.get()).close();
    long name = opd_range_name("begun"), mark = opd_range_name("marked");
    here(new Throwable(), "begun"); long range = opd_range_begin(name);
    here(new Throwable(), "marked"); opd_range_mark(mark);
    opd_range_end(range);
  }

  /** A native call has eight arguments, some of which the wrapper passes in memory. */
  private static void profiled(Vm vm, Tensor x) {
    Map<String, ?> once = Map.of("warmup", 0, "repeat", 1);
    Out<Report> out = new Out<>();
    here(new Throwable(), "main"); opd_vm_profile(vm, "main", new Object[] {x}, null, once, out, null);
    out.get().close();
  }

  /**
   * Ranges in a lambda, on another thread, below a native method, and below more methods than a recorded stack can
   * have.
   */
  private static void places() {
    EXPECTED.clear();
    try (Report report = recorded(true, () -> {
      List.of("in a lambda").forEach(name -> { here(new Throwable(), name); range(name); });
      Thread thread = new Thread(() -> { here(new Throwable(), "on a thread"); range("on a thread"); });
      thread.start();
      thread.join();
      Class.forName("WithStacks$Initialized");
      deep(TOO_DEEP);
    })) {
      checkStacks(report);
      First.check(EXPECTED.get("on a thread").endsWith(": java.lang.Thread.run"), "all of a thread: " + EXPECTED.get("on a thread"));
      First.check(stackOf(report, "below a native method").replace("?", "Class.java").contains(";Class.java: java.lang.Class.forName0;"), "a native method has no line");
      First.check(EXPECTED.get("deep").split(";").length == MOST, "the innermost methods");
    }
  }

  private static final class Initialized {
    static {
      here(new Throwable(), "below a native method"); range("below a native method");
    }
  }

  private static void deep(int further) {
    if (further > 0) deep(further - 1);
    else { here(new Throwable(), "deep"); range("deep"); }
  }

  /**
   * Java calls native code, which calls Java. Ranges are recorded at each level, also after the inner calls have
   * returned.
   */
  private static void nestedCalls() {
    EXPECTED.clear();
    PackedFn[] self = new PackedFn[1];
    self[0] = take(out -> opd_function_create(args -> {
      long depth = (Long) args[0];
      if (depth > 0) opd_function_call(self[0], new Object[] {depth - 1}, new Out<>());
      here(new Throwable(), "nested " + depth); range("nested " + depth);
      return null;
    }, out));
    try (PackedFn calls = self[0];
        Report report = recorded(true, () -> {
          opd_function_call(calls, new Object[] {3}, new Out<>());
          here(new Throwable(), "after"); range("after");
        })) {
      checkStacks(report);
      First.check(EXPECTED.size() == 5, "all returned: " + EXPECTED.keySet());
    }
  }

  /** More calls fail than a thread can keep stacks. Each failed call removes its stack. Exceptions stay unchanged. */
  private static void failures(Vm vm) {
    EXPECTED.clear();
    try (PackedFn refuse = take(out -> opd_function_create(a -> { throw new First.Refused("no"); }, out));
        Report report = recorded(true, () -> {
          for (int i = 0; i < 20; ++i) {
            Throwable crossed = First.thrown(() -> opd_function_call(refuse, null, new Out<>()));
            First.check(crossed instanceof First.Refused, "the callee's exception: " + crossed);
            Throwable unknown = First.thrown(() -> opd_vm_call(vm, "mian", null, null, new Out<>()));
            First.check(unknown instanceof OpdynoException e && e.code() == Code.NOT_FOUND, "the library's: " + unknown);
            Throwable none = First.thrown(() -> opd_vm_call(null, "main", null, null, new Out<>()));
            First.check(none instanceof NullPointerException, "a refused argument's: " + none);
          }
          here(new Throwable(), "after failures"); range("after failures");
        })) {
      checkStacks(report);
    }
  }

  /** If Java cannot walk the stack, the call runs without a recorded stack. StackOverflowError ends the recursion. */
  private static void fullStack() {
    EXPECTED.clear();
    try (Report report = recorded(true, () -> {
      Throwable[] ended = new Throwable[1];
      Thread thread = new Thread(null, () -> {
        ended[0] = First.thrown(() -> fill(opd_range_name("filling")));
        here(new Throwable(), "emptied"); range("emptied");
      }, "fills its stack", 1 << 19);
      thread.start();
      thread.join();
      First.check(ended[0] instanceof StackOverflowError, "the recursion's error: " + ended[0]);
      First.check(Arrays.stream(ended[0].getStackTrace()).noneMatch(method -> method.getClassName().equals("io.opdyno.HostStack")),
          "not that of walking the stack");
    })) {
      checkStacks(report);
    }
  }

  private static int fill(long name) {
    opd_range_mark(name);
    return fill(name) + 1;
  }

  private static void range(String name) { // the stacks differ in the callers' lines, not in this line
    opd_range_push(name);
    opd_range_pop();
  }

  private interface Work {
    void run() throws Exception;
  }

  private static Report recorded(boolean withStack, Work work) {
    try (Profiler profiler = take(out -> opd_profiler_create(Map.of("with_stack", withStack, "all_calls", true), out))) {
      opd_profiler_start(profiler);
      try {
        work.run();
      } catch (Exception failed) {
        throw new AssertionError(failed);
      }
      try (Trace trace = take(out -> opd_profiler_stop(profiler, out))) {
        return take(out -> opd_trace_to_report(trace, TraceView.EVENTS, null, out));
      }
    }
  }

  /** Stores the stack of the caller, in the form of the column "Stack". */
  private static void here(Throwable now, String name) {
    EXPECTED.put(name, Arrays.stream(now.getStackTrace()).filter(method -> !method.getClassName().matches("io\\.opdyno\\.[^.]*"))
        .limit(MOST).map(WithStacks::text).collect(Collectors.joining(";")));
  }

  private static String text(StackTraceElement method) {
    String line = method.getLineNumber() > 0 ? "(" + method.getLineNumber() + ")" : "";
    String file = method.getFileName() == null ? "?" : method.getFileName(); // some JDKs lack the names
    return file + line + ": " + method.getClassName() + "." + method.getMethodName();
  }

  /**
   * Checks that each event has exactly the expected Java methods, without frames of the interpreter and of this
   * binding.
   */
  private static void checkStacks(Report report) {
    EXPECTED.forEach((name, expected) -> {
      String found = stackOf(report, name).replaceFirst("^WithStacks\\.java\\(\\d+\\): WithStacks\\.range;", "");
      if (name.equals("deep")) expected = expected.substring(0, expected.lastIndexOf(';')); // range() is one of MOST
      First.check(found.equals(expected), name + ":\n" + found.replace(';', '\n') + "\nexpected:\n" + expected.replace(';', '\n'));
    });
  }

  private static String stackOf(Report report, String event) {
    ReportSection calls = ReportSection.CALLS;
    for (int i = 0; i < opd_report_call_count(report); ++i) {
      int row = i;
      if (!event.equals(take((Out<Object> out) -> opd_report_get(report, calls, row, "Name", out, null)))) continue;
      Object stack = take((Out<Object> out) -> opd_report_get(report, calls, row, "Stack", out, null));
      First.check(stack instanceof String, event + " has a stack");
      return ((String) stack).replaceFirst(";$", "");
    }
    throw new AssertionError("no event " + event);
  }
}
