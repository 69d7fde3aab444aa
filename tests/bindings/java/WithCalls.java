// Tests of calls through a thread's own memory: their values, their nesting, and that calls with numbers make no
// objects.
import static io.opdyno.Native.*;
import static io.opdyno.Out.take;

import io.opdyno.*;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongUnaryOperator;

final class WithCalls {
  private WithCalls() {}

  static void run() throws Exception {
    values();
    numbers();
    FutureTask<?> nested = new FutureTask<>(WithCalls::nested, null);
    new Thread(null, nested, "nested", 8 << 20).start(); // 300 nested calls take most of a usual stack
    nested.get();
    many();
    refusals();
    nothingIsAllocated();
    threads();
    dropped();
  }

  private static PackedFn function(PackedFunction code) {
    return take(out -> opd_function_create(code, out));
  }

  /** Each kind of value is passed as an argument and returned. */
  private static void values() {
    List<Object> plain = Arrays.asList(null, 7L, -1L << 63, 2.5, -0.0, "", "größer 😀", new DType(2, 16, 4), Device.CPU);
    try (PackedFn same = function(args -> args[0]);
        PackedFn count = function(args -> args.length)) {
      for (Object value : plain) First.check(java.util.Objects.equals(same.call(value), value), "the same: " + value);
      First.check(same.call(true).equals(true), "a truth value: " + same.call(true));
      First.check(same.call((short) 3).equals(3L) && same.call(0.5f).equals(0.5), "small numbers");
      First.check(Arrays.equals((long[]) same.call(new long[] {2, 3}), new long[] {2, 3}), "a shape");
      First.check(Arrays.equals((byte[]) same.call(new byte[] {1, 2}), new byte[] {1, 2}), "bytes");
      First.check(count.call().equals(0L) && count.call(1, "two", 3.0).equals(3L), "the number of arguments");
      try (Tensor x = Tensor.of(new float[] {1, 2}, 2);
          Tensor y = (Tensor) same.call(x);
          Tensor z = (Tensor) same.call(x, "and a text");
          ValueList list = (ValueList) same.call(List.of(1, x));
          ValueMap map = (ValueMap) same.call(Map.of("a", 1));
          PackedFn inner = (PackedFn) same.call((PackedFunction) args -> 3 * (Long) args[0])) {
        First.check(Arrays.equals(y.toFloatArray(), new float[] {1, 2}) && Arrays.equals(z.toFloatArray(), new float[] {1, 2}), "a tensor");
        First.check(opd_array_count(list) == 2 && opd_map_count(map) == 1 && inner.callLong(14) == 42, "containers and a lambda");
      }
    }
  }

  private static void numbers() {
    try (PackedFn twice = function(PackedFunction.ofLong(x -> 2 * x));
        PackedFn minus = function(PackedFunction.ofLongs((x, y) -> x - y));
        PackedFn half = function(PackedFunction.ofDouble(x -> x / 2));
        PackedFn power = function(PackedFunction.ofDoubles(Math::pow));
        PackedFn text = function(args -> "text");
        PackedFn counted = function(args -> args.length)) {
      First.check(twice.callLong(21) == 42 && twice.call(21).equals(42L) && twice.callLong(1L << 62) == 1L << 63, "ofLong");
      First.check(minus.callLong(5, 7) == -2 && minus.call(5, 7).equals(-2L), "ofLongs keeps the order");
      First.check(half.callDouble(3) == 1.5 && half.call(3).equals(1.5) && half.call(true).equals(0.5), "ofDouble takes whole numbers");
      First.check(power.callDouble(2, 10) == 1024 && Double.isNaN(power.callDouble(Double.NaN, 1)), "ofDoubles");
      First.check(counted.callLong() == 0 && counted.callLong(9) == 1 && counted.callDouble(1, 2) == 2, "whole numbers are numbers");
      First.check(callInJava(PackedFunction.ofLong(x -> x + 1), 4L).equals(5L), "it is a PackedFunction to Java, too");
      First.failed(() -> twice.call("two"), IllegalArgumentException.class, "argument 0 must be a whole number, but is a String");
      First.failed(() -> twice.call(2.5), IllegalArgumentException.class, "argument 0 must be a whole number, but is a Double");
      First.failed(() -> minus.call(1, null), IllegalArgumentException.class, "argument 1 must be a whole number, but is None");
      First.failed(() -> twice.call(1, 2), IllegalArgumentException.class, "takes 1 arguments, not 2");
      First.failed(() -> minus.callLong(1), IllegalArgumentException.class, "takes 2 arguments, not 1");
      First.failed(() -> text.callLong(1), ClassCastException.class,
          "the function returned a String, where a whole number is expected");
      First.failed(() -> half.callLong(1), ClassCastException.class, "the function returned a Double");
      First.failed(() -> text.callDouble(1), ClassCastException.class, "where a number is expected");
    }
  }

  private static Object callInJava(PackedFunction function, Object... args) {
    try {
      return function.call(args);
    } catch (Throwable thrown) {
      throw new AssertionError(thrown);
    }
  }

  /** Calls nest more deeply than the thread's memory allows: with whole numbers, with objects, and with exceptions. */
  private static void nested() {
    PackedFn[] self = new PackedFn[3];
    try (PackedFn sum = function(PackedFunction.ofLong(n -> n == 0 ? 0 : n + self[0].callLong(n - 1)));
        PackedFn list = function(args -> (Long) args[0] == 0 ? "end" : self[1].call((Long) args[0] - 1, args[1], "x") + "."
            + args[1]);
        PackedFn fails = function(args -> {
          if ((Long) args[0] == 0) throw new First.Refused("the bottom");
          return self[2].call((Long) args[0] - 1);
        })) {
      self[0] = sum;
      self[1] = list;
      self[2] = fails;
      First.check(sum.callLong(300) == 300 * 301 / 2, "300 calls within each other");
      First.check(list.call(200, 8, "x").equals("end" + ".8".repeat(200)), "with texts");
      for (int i = 0; i < 100; ++i) {
        First.failed(() -> fails.call(90), First.Refused.class, "the bottom");
        First.check(sum.callLong(50) == 50 * 51 / 2, "calls after an exception");
      }
    }
  }

  /** A call has more arguments than fit into the thread's memory. */
  private static void many() {
    try (PackedFn sum = function(args -> Arrays.stream(args).mapToLong(value -> (Long) value).sum())) {
      for (int count : new int[] {126, 127, 128, 129, 1000}) {
        Object[] args = new Object[count];
        Arrays.setAll(args, i -> (long) i);
        First.check(sum.call(args).equals(count * (count - 1L) / 2), count + " arguments");
      }
    }
  }

  /** After a refused call, no handle is in use, so close() releases the object. */
  private static void refusals() {
    First.collectUntil(() -> First.liveBytes() == 0); // earlier objects were dropped without close()
    long live = First.liveBytes();
    Tensor closed = Tensor.of(new float[] {1}, 1);
    closed.close();
    try (Tensor x = Tensor.of(new float[1000], 1000);
        PackedFn same = function(args -> args[args.length - 1])) {
      First.failed(() -> same.call(x, closed), IllegalStateException.class, "the Tensor is closed");
      First.failed(() -> same.call(closed), IllegalStateException.class, "the Tensor is closed");
      First.failed(() -> same.call(x, new Object()), IllegalArgumentException.class, "java.lang.Object");
      First.failed(() -> same.call(new Object()), IllegalArgumentException.class, "java.lang.Object");
      try (PackedFn tensor = function(args -> x)) {
        First.failed(() -> tensor.callLong(1), ClassCastException.class, "the function returned a Tensor");
      }
      List<Tensor> kept = new java.util.ArrayList<>();
      try (PackedFn keep = function(args -> kept.add((Tensor) args[0]) ? null : null);
          Closure closure = take(out -> opd_closure_create(keep, "void(tensor)", out));
          PackedFn lends = take(out -> opd_function_create_native(opd_closure_pointer(closure), "void(tensor)", null, 0, out))) {
        First.check(lends.call(x) == null && kept.size() == 1, "the callback ran");
        First.failed(() -> same.call(kept.get(0)), IllegalStateException.class, "copy what is to be kept");
        First.failed(() -> same.call(1, kept.get(0)), IllegalStateException.class, "copy what is to be kept");
        kept.get(0).close();
      }
    }
    PackedFn gone = function(args -> null);
    gone.close();
    First.failed(() -> gone.call(), IllegalStateException.class, "the PackedFn is closed");
    First.failed(() -> gone.callLong(1), IllegalStateException.class, "the PackedFn is closed");
    First.check(First.liveBytes() == live, "nothing is held: " + live + ", " + First.liveBytes());
  }

  private static void nothingIsAllocated() {
    com.sun.management.ThreadMXBean threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
    String source =
        """
        #include <stdint.h>
        typedef struct { int32_t type; uint32_t length; int64_t i; } Any;
        int __tvm_ffi_nop(void *self, const Any *args, int32_t n, Any *result) { return 0; }
        int __tvm_ffi_echo(void *self, const Any *args, int32_t n, Any *result) { *result = *args; return 0; }
        """;
    try (Program c = Program.load(source.getBytes(StandardCharsets.UTF_8), "echo.c", ProgramOptions.create().format("c"));
        PackedFn nop = c.function("nop");
        PackedFn echo = c.function("echo");
        PackedFn twice = function(PackedFunction.ofLong(x -> 2 * x));
        PackedFn half = function(PackedFunction.ofDouble(x -> x / 2))) {
      Map<String, LongUnaryOperator> calls = Map.of("nop()", x -> nop.call() == null ? x : 0, "echo(long)", echo::callLong,
          "echo(double)", x -> (long) echo.callDouble(x), "lambda(long)", twice::callLong, "lambda(double)", x -> (long) half.callDouble(x));
      calls.forEach((name, call) -> {
        long me = Thread.currentThread().getId(), sum = 0;
        long[] bytes = new long[3];
        for (int round = 0; round < bytes.length; ++round) { // the first rounds fill caches
          long before = threads.getThreadAllocatedBytes(me);
          for (int i = 0; i < 1000; ++i) sum += call.applyAsLong(1L << 40);
          bytes[round] = threads.getThreadAllocatedBytes(me) - before;
        }
        First.check(bytes[2] < 1000, "1000 calls of " + name + " allocate " + Arrays.toString(bytes) + " bytes"); // not 16000
        First.check(sum >= 3000 * (1L << 39), name + " gives " + sum);
      });
    }
  }

  /** Threads call one function, each through its own memory, until another thread closes the function. */
  private static void threads() throws Exception {
    for (int round = 0; round < 100; ++round) {
      PackedFn next = function(PackedFunction.ofLong(x -> x + 1));
      AtomicLong wrong = new AtomicLong(), calls = new AtomicLong();
      Thread[] threads = new Thread[4];
      for (int t = 0; t < threads.length; ++t) {
        long first = (long) t << 32;
        threads[t] = new Thread(() -> {
          try {
            for (long i = first;; ++i) {
              if (next.callLong(i) != i + 1) wrong.incrementAndGet();
              calls.incrementAndGet();
            }
          } catch (IllegalStateException closed) {
            if (!closed.getMessage().contains("closed")) wrong.incrementAndGet();
          }
        });
        threads[t].start();
      }
      while (calls.get() < 100) Thread.onSpinWait();
      next.close();
      for (Thread thread : threads) thread.join();
      First.check(wrong.get() == 0, wrong + " wrong calls");
    }
  }

  /** Threads drop or close handles in any order. All of them are released. */
  private static void dropped() throws Exception {
    long live = First.liveBytes();
    Thread[] threads = new Thread[4];
    AtomicLong failed = new AtomicLong();
    for (int t = 0; t < threads.length; ++t) {
      threads[t] = new Thread(() -> {
        Tensor[] some = new Tensor[7];
        for (int i = 0; i < 20_000; ++i) {
          int place = i % some.length;
          if (i % 3 == 0 && some[place] != null) some[place].close();
          some[place] = Tensor.of(new float[] {i}, 1);
          if (some[place].toFloatArray()[0] != i) failed.incrementAndGet();
        }
      });
      threads[t].start();
    }
    for (Thread thread : threads) thread.join();
    First.check(failed.get() == 0, failed + " wrong tensors");
    First.collectUntil(() -> First.liveBytes() == live);
    First.check(First.liveBytes() == live, "what was dropped ended: " + live + ", " + First.liveBytes());
  }
}
