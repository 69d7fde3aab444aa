// Tests of handles in a separate process: handles of all kinds are closed in any order, and a million in sequence.
import io.opdyno.*;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;

public final class Handles {
  private static final int ORDERS = 1500, KINDS = 24, MANY = 1_000_000, THREADS = 4;
  private static final Device OWN = Device.of("cpu:8"); // a device whose memory only this test uses

  /** A handle and a use of it. The use may need the objects from which the handle came. */
  private record Open(String name, Handle handle, Runnable use) {}

  private Handles() {}

  public static void main(String[] args) throws Exception {
    switch (args[0]) {
      case "orders" -> orders(Path.of(args[1]));
      case "many" -> many();
      default -> throw new IllegalArgumentException(args[0]);
    }
    System.out.println("ok");
  }

  /** Closes children before and after their parents. Open handles still work, closed ones throw, and nothing leaks. */
  private static void orders(Path artifact) {
    try (PackedFn caller = PackedFn.of(args -> args[0]);
        PackedFn kernel = PackedFn.of(args -> null);
        Tensor input = Tensor.of(new float[] {1, 2, 3, 4}, 4)) {
      long live = 0;
      for (int order = 0; order < ORDERS; ++order) {
        Random random = new Random(order);
        List<Open> open = made(artifact, caller, kernel, input);
        First.check(open.size() == KINDS, open.size() + " kinds");
        Collections.shuffle(open, random);
        while (!open.isEmpty()) {
          Open closed = open.remove(open.size() - 1);
          closed.handle.close();
          closed.handle.close();
          String refusal = "the " + closed.handle.getClass().getSimpleName() + " is closed";
          First.failed(closed.use, IllegalStateException.class, refusal);
          for (int i = 0; i < 3 && !open.isEmpty(); ++i) open.get(random.nextInt(open.size())).use.run();
        }
        First.check(OWN.memoryStats().liveBytes() == 0, "order " + order + " leaves " + OWN.memoryStats());
        if (order == 0) live = First.liveBytes();
        First.check(First.liveBytes() == live, "order " + order + " leaves memory: " + live + ", " + First.liveBytes());
      }
    }
  }

  /** Makes the handles. No callback gets a tensor here, because callbacks drop their arguments without closing them. */
  private static List<Open> made(Path artifact, PackedFn caller, PackedFn kernel, Tensor input) {
    List<Open> open = new ArrayList<>();
    Program library = add(open, "library", Program.load(artifact), it -> it.hasFunction("main"));
    Vm compiled = add(open, "its VM", library.vm(), it -> lastAndClose(it.callTensor("main", input)) == 104);
    add(open, "its function", compiled.function("main"), it -> lastAndClose(it.callTensor(input)) == 104);
    PackedFn same = add(open, "function", PackedFn.of(args -> args[0]), it -> it.callLong(4) == 4);
    Executable executable = add(open, "executable", Executable.assemble(".func main(x) {\n  ret %x\n}"), it -> it.toString().contains("main"));
    Program program = add(open, "program", executable.toProgram(), it -> it.functions().contains("main"));
    Vm vm = add(open, "VM", program.vm(), it -> it.call("main", 7).equals(7L));
    Tensor x = add(open, "tensor", Tensor.create(OWN, DType.FLOAT32, 4), it -> last(it) == 4);
    input.copyTo(x);
    add(open, "view", x.reshape(2, 2), it -> last(it) == 4);
    add(open, "list", ValueList.of(1, x), it -> it.size() == 2 && lastAndClose(it.tensor(1)) == 4);
    add(open, "map", Out.<ValueMap>take(out -> Native.opd_map_create(new Object[] {"key", x}, out)), it -> it.size() == 1);
    Params params = add(open, "params", Params.create(), it -> it.names().equals(List.of("x")));
    params.set("x", x);
    add(open, "their tensor", params.get("x"), it -> last(it) == 4);
    Collector collector = add(open, "collector", Collectors.time(), it -> !caller.profile(Device.CPU, 0, List.of(it), 1).isEmpty());
    Profile profile = vm.profile(ProfileOptions.create().collectors(collector), "main", 7);
    add(open, "report", profile.report(), it -> it.count(ReportSection.CALLS) > 0);
    Trace trace = add(open, "trace", profile.trace(), it -> it.droppedCount() == 0);
    add(open, "its report", trace.toReport(TraceView.KEY_AVERAGES), it -> it.toString() != null);
    add(open, "profiler", Profiler.create(), it -> it.dumpCount() == 0);
    add(open, "builder", ReportBuilder.create(), it -> it.addCall() == it);
    Evaluator evaluator = add(open, "evaluator", Evaluator.of(same, EvaluatorOptions.create().number(1).repeat(1)), it -> {
      it.call(1).close();
      return true;
    });
    add(open, "benchmark", evaluator.call(1), it -> it.stats().median() >= 0);
    add(open, "token", CancelToken.create(), it -> {
      it.reset();
      return true;
    });
    add(open, "closure", Closure.of(same, "i64(i64)"), it -> it.pointer().address() != 0);
    try (PackedFn create = PackedFn.global("vm.builtin.rnn_state_create");
        Handle made = (Handle) create.call(1, 3, 4, List.of(kernel), List.of(kernel), List.of(input))) {
      add(open, "state", KvState.of(made), it -> it.stats().numSequences() == 0);
    }
    return open;
  }

  private interface Use<T> {
    boolean isRight(T handle);
  }

  private static <T extends Handle> T add(List<Open> open, String name, T handle, Use<T> use) {
    open.add(new Open(name, handle, () -> First.check(use.isRight(handle), name)));
    return handle;
  }

  private static float last(Tensor tensor) {
    float[] elements = tensor.toFloatArray();
    return elements[elements.length - 1];
  }

  private static float lastAndClose(Tensor tensor) {
    try (tensor) {
      return last(tensor);
    }
  }

  /**
   * A closed handle releases its memory at once, a dropped one some time later. The caller of this program fixes the
   * size of the heap, so that only native memory can grow.
   */
  private static void many() throws Exception {
    closed(MANY / 10); // the JVM compiles the code
    long before = residentKilobytes();
    closed(MANY);
    long grown = residentKilobytes() - before;
    First.check(grown < 32 << 10, MANY + " handles that were closed left " + grown + " KB");
    onThreads(MANY / 5, place -> handle(place));
    First.collectUntil(() -> OWN.memoryStats().liveBytes() == 0);
    First.check(OWN.memoryStats().liveBytes() == 0, "handles that were dropped are still there: " + OWN.memoryStats());
  }

  private static void closed(int count) throws Exception {
    onThreads(count, place -> handle(place).close());
    First.check(OWN.memoryStats().liveBytes() == 0, "handles that were closed are still there: " + OWN.memoryStats());
  }

  private static Handle handle(int place) {
    return switch (place % 5) {
      case 0 -> PackedFn.of(args -> null);
      case 1 -> ValueList.of(1, "a text of more than 7 bytes");
      case 2 -> CancelToken.create();
      case 3 -> Params.create();
      default -> Tensor.create(OWN, DType.FLOAT32, 4);
    };
  }

  private interface Work {
    void at(int place);
  }

  private static void onThreads(int count, Work work) throws Exception {
    Thread[] threads = new Thread[THREADS];
    AtomicLong done = new AtomicLong();
    for (int t = 0; t < THREADS; ++t) {
      threads[t] = new Thread(() -> {
        for (int i = 0; i < count / THREADS; ++i) work.at(i);
        done.addAndGet(count / THREADS);
      });
      threads[t].start();
    }
    for (Thread thread : threads) thread.join();
    First.check(done.get() == count, done + " of " + count + " were made");
  }

  private static long residentKilobytes() throws IOException {
    try (var lines = Files.lines(Path.of("/proc/self/status"))) {
      return lines.filter(line -> line.startsWith("VmRSS:")).mapToLong(line -> Long.parseLong(line.replaceAll("\\D", ""))).sum();
    }
  }
}
