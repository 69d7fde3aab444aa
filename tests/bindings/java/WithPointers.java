// Tests of Java functions as C function pointers, C functions by address, the registry, and measured functions.
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import io.opdyno.*;

final class WithPointers {
  private static final String SOURCE = """
      #include <pthread.h>
      #include <stdlib.h>
      static long numbers[] = {30, 10, 20};
      long *first(void) { return numbers; }
      long at(const long *place) { return *place; }
      void *nowhere(void) { return 0; }
      int is_null(const void *place) { return place == 0; }
      void sort(long *all, long count, int (*compare)(const void *, const void *)) { qsort(all, count, sizeof *all, compare); }
      double apply(double (*function)(double), double x) { return function(x); }
      struct work { double (*function)(double); double x; };
      static void *work(void *of) {
        struct work *work = of;
        work->x = work->function(work->x);
        return 0;
      }
      double apply_elsewhere(double (*function)(double), double x) {  /* on a thread that Java does not know */
        struct work given = {function, x};
        pthread_t thread;
        if (pthread_create(&thread, 0, work, &given) || pthread_join(thread, 0)) return -1;
        return given.x;
      }
      """;

  private WithPointers() {}

  static Program compile(String source) {
    return Program.load(source.getBytes(StandardCharsets.UTF_8), "test.c", ProgramOptions.create().format("c"));
  }

  static void run() {
    try (Program c = compile(SOURCE)) {
      sorted(c);
      elsewhere(c);
      failures(c);
      addresses(c);
    }
    registry();
    measured();
  }

  /** A Java comparator gets addresses and passes them to C. */
  private static void sorted(Program c) {
    try (PackedFn at = c.function("at", "i64(ptr)");
        PackedFn sort = c.function("sort", "void(ptr, i64, ptr)");
        PackedFn compare = PackedFn.of(args -> Long.compare((Long) at.call(args[0]), (Long) at.call(args[1])));
        Closure comparator = Closure.of(compare, "i32(ptr, ptr)");
        PackedFn first = c.function("first", "ptr()");
        PackedFn nowhere = c.function("nowhere", "ptr()");
        PackedFn isNull = c.function("is_null", "i32(ptr)")) {
      Pointer numbers = (Pointer) first.call();
      sort.call(numbers, 3, comparator.pointer());
      First.check(comparator.takeError() == null, "nothing failed");
      for (int i = 0; i < 3; ++i) {
        long number = (Long) at.call(new Pointer(numbers.address() + 8 * i));
        First.check(number == 10 * (i + 1), i + ": " + number);
      }
      First.check(new Pointer(255).toString().equals("0xff") && List.of(numbers).get(0).equals(first.call()), "pointers are values");
      First.check(isNull.call((Object) null).equals(1L) && isNull.call(numbers).equals(0L), "null is NULL");
      Object none = nowhere.call();
      First.check(none == null, "NULL is null: " + none);
      try (ValueList list = ValueList.of(numbers)) {
        First.check(list.get(0).equals(numbers), "in a list, too");
      }
    }
  }

  /** C threads call lambdas, in sequence and several at once. Exceptions reach the C threads, too. */
  private static void elsewhere(Program c) {
    Thread[] seen = {null};
    try (PackedFn apply = c.function("apply_elsewhere", "f64(ptr, f64)");
        PackedFn square = PackedFn.of(args -> {
          seen[0] = Thread.currentThread();
          try (Tensor x = Tensor.of(new double[] {(Double) args[0]}, 1)) { // calls work on a C thread, too
            return Math.pow(x.toDoubleArray()[0], 2);
          }
        });
        PackedFn refuse = PackedFn.of(args -> { throw new First.Refused("far away"); });
        Closure squaring = Closure.of(square, "f64(f64)");
        Closure refusing = Closure.of(refuse, "f64(f64)")) {
      for (int i = 0; i < 100; ++i) First.check(apply.call(squaring.pointer(), (double) i).equals((double) i * i), "call " + i);
      First.check(seen[0] != Thread.currentThread() && seen[0].isDaemon() && !seen[0].isAlive(), "a thread that ended: " + seen[0]);
      double sum = java.util.stream.IntStream.range(0, 200).parallel().mapToDouble(i -> (Double) apply.call(squaring.pointer(), (double) i)).sum();
      First.check(sum == 199 * 200 * 399 / 6, "at once: " + sum);
      First.check(apply.call(refusing.pointer(), 1.0).equals(0.0), "0");
      First.check(refusing.takeError() instanceof First.Refused thrown && thrown.getMessage().equals("far away"), "what was thrown there");
    }
  }

  /** C has no exceptions. So the pointer returns 0, and the closure keeps the first exception. */
  private static void failures(Program c) {
    int[] calls = {0};
    try (PackedFn apply = c.function("apply", "f64(ptr, f64)");
        PackedFn refuse = PackedFn.of(args -> { throw new First.Refused("call " + ++calls[0]); });
        Closure refusing = Closure.of(refuse, "f64(f64)");
        PackedFn text = PackedFn.of(args -> "no number");
        Closure wrong = Closure.of(text, "f64(f64)")) {
      First.check(apply.call(refusing.pointer(), 2.5).equals(0.0) && apply.call(refusing.pointer(), 2.5).equals(0.0), "0");
      Throwable thrown = refusing.takeError();
      First.check(thrown instanceof First.Refused && thrown.getMessage().equals("call 1"), "the first: " + thrown);
      First.check(thrown.getSuppressed()[0] instanceof OpdynoException.CallFailed, "with its error");
      First.check(refusing.takeError() == null, "once only");
      First.check(apply.call(wrong.pointer(), 1.0).equals(0.0), "0");
      Throwable misfit = wrong.takeError();
      First.check(misfit instanceof OpdynoException.InvalidArgument && misfit.getMessage().contains("f64"), "a result of another kind: " + misfit);
      First.failed(() -> Closure.of(text, "f64(f65)"), OpdynoException.InvalidArgument.class, "f65");
      First.failed(() -> Closure.of(null, "f64()"), NullPointerException.class, "function");
      Closure closed = Closure.of(text, "f64(f64)");
      closed.close();
      First.failed(closed::pointer, IllegalStateException.class, "the Closure is closed");
      First.failed(closed::takeError, IllegalStateException.class, "the Closure is closed");
    }
  }

  private static void addresses(Program c) {
    PackedFn square;
    try (PackedFn code = PackedFn.of(PackedFunction.ofDouble(x -> x * x));
        Closure closure = Closure.of(code, "f64(f64)")) {
      square = PackedFn.ofPointer(closure.pointer(), "f64(f64)", "square", closure);
    }
    try (square) {
      First.check(square.callDouble(1.5) == 2.25, "it keeps what it was told to keep");
      First.failed(() -> square.call("text"), OpdynoException.class, "square");
      First.failed(() -> square.call(1.0, 2.0), OpdynoException.class, "square");
    }
    First.failed(() -> PackedFn.ofPointer(new Pointer(0), "f64(f64)", null, null), OpdynoException.InvalidArgument.class, "NULL");
    First.failed(() -> PackedFn.ofPointer(new Pointer(1), "f64)", null, null), OpdynoException.InvalidArgument.class, "f64)");
    First.failed(() -> PackedFn.ofPointer(new Pointer(1), "f64()", null, square), IllegalStateException.class, "the PackedFn is closed");
  }

  private static void registry() {
    String name = "test.pointers.registered";
    try (PackedFn one = PackedFn.of(args -> 1);
        PackedFn two = PackedFn.of(args -> 2)) {
      First.check(!PackedFn.globals().contains(name), "not yet");
      one.register(name, false);
      First.failed(() -> two.register(name, false), OpdynoException.AlreadyExists.class, name);
      List<String> names = PackedFn.globals();
      First.check(names.contains(name) && names.equals(names.stream().sorted().toList()), "sorted");
      try (PackedFn found = PackedFn.global(name)) {
        First.check(found.callLong() == 1, "the first one");
      }
      two.register(name);
      try (PackedFn found = PackedFn.global(name)) {
        First.check(found.callLong() == 2, "it is replaced");
      }
      PackedFn.remove(name);
      First.failed(() -> PackedFn.remove(name), OpdynoException.NotFound.class, name);
      First.failed(() -> PackedFn.global(name), OpdynoException.NotFound.class, name);
    }
  }

  static final class Counting implements MetricCollector {
    private final boolean fails;
    private int starts;

    Counting(boolean fails) {
      this.fails = fails;
    }

    @Override
    public Object start(Device device) throws First.Refused {
      if (fails) throw new First.Refused("no start");
      ++starts;
      return device;
    }

    @Override
    public Map<String, Metric> stop(Object device) {
      return Map.of("where", Metric.string(device.toString()), "moved", Metric.bytes(1L << 40), "starts", Metric.count(starts));
    }
  }

  private static void measured() {
    int[] sum = {0};
    try (PackedFn add = PackedFn.of(args -> sum[0] += (int) (long) (Long) args[0] + (int) (long) (Long) args[1]);
        Collector counting = Collectors.of("Counting", new Counting(false));
        Collector failing = Collectors.of("Failing", new Counting(true))) {
      Map<String, Metric> metrics = add.profile(Device.of("cpu:2"), 2, List.of(counting), 5, 2);
      First.check(sum[0] == 3 * 7, "two calls to warm up, one that is measured: " + sum[0]);
      First.check(metrics.get("Duration (us)").kind() == MetricKind.DURATION && (Double) metrics.get("Duration (us)").value() >= 0, "" + metrics);
      First.check(metrics.get("where").value().equals("cpu:2") && metrics.get("where").kind() == MetricKind.STRING, "" + metrics);
      First.check(metrics.get("moved (bytes)").value().equals(1L << 40) && metrics.get("moved (bytes)").kind() == MetricKind.BYTES, "" + metrics);
      First.check(metrics.get("starts").value().equals(1L) && metrics.size() == 4, "" + metrics);
      First.failed(() -> add.profile(Device.CPU, 0, List.of(failing), 1, 1), First.Refused.class, "no start");
      First.failed(() -> add.profile(Device.of("cuda"), 0, List.of()), OpdynoException.Unsupported.class, "cuda");
      First.failed(() -> add.profile(Device.CPU, -1, List.of()), OpdynoException.InvalidArgument.class, "-1");
    }
  }
}
