package io.opdyno;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Objects;

/** The methods that native code calls. */
final class Callbacks {
  static {
    Library.load();
  }

  private Callbacks() {}

  /**
   * Calls a function. The result and arguments are in the native thread's memory for callbacks, which begins at the
   * address.
   */
  static void callThrough(PackedFunction function, long address, int at, int count) throws Throwable {
    call(function, Area.get().callbacks(address), at, count);
  }

  /**
   * Calls a function with the borrowed arguments in memory, and writes the result, which the caller owns, in front of
   * them. If the thread's memory has no room, native code calls this method directly.
   */
  static void call(PackedFunction function, ByteBuffer memory, int at, int count) throws Throwable {
    memory.order(ByteOrder.nativeOrder());
    if (function instanceof DirectFunction direct) {
      direct.call(memory, at, count);
      return;
    }
    Object[] args = new Object[count];
    try (Loans loans = new Loans()) {
      for (int i = 0; i < count; ++i) {
        int place = at + Area.VALUE * (i + 1);
        args[i] = Values.copy(memory, place);
        if ((int) memory.getLong(place) == Values.DLTENSOR) loans.add((Tensor) args[i]);
      }
      Object result = function.call(args);
      if (Values.putPlain(memory, at, result)) return;
      try (Values values = new Values()) {
        values.one(result);
        long[] owned = values.owned();
        memory.putLong(at, owned[0]);
        memory.putLong(at + 8, owned[1]);
      }
    }
  }

  /**
   * The tensors whose memory the caller lends. close() ends the loan. After that, the use of a kept tensor throws an
   * exception.
   */
  private static final class Loans implements AutoCloseable {
    private java.util.Map<Tensor, Long> lent;

    void add(Tensor tensor) {
      if (lent == null) lent = new java.util.IdentityHashMap<>();
      lent.put(tensor, Handle.begin(tensor));
    }

    @Override
    public void close() {
      if (lent == null) return;
      lent.forEach(
          (tensor, pointer) -> {
            Values.endBorrow(pointer);
            Handle.end(tensor);
          });
    }
  }

  static void log(LogCallback callback, int level, byte[] message) {
    callback.log(LogLevel.swigToEnum(level), Values.text(message));
  }

  static void init(MetricCollector collector, long[] devices) throws Throwable {
    collector.init(Arrays.stream(devices).mapToObj(Device::of).toArray(Device[]::new));
  }

  static Object start(MetricCollector collector, long device) throws Throwable {
    return collector.start(Device.of(device));
  }

  static void stop(MetricCollector collector, Object state, long metrics) throws Throwable {
    java.util.Map<String, Metric> measured = collector.stop(state);
    if (measured == null) return;
    for (java.util.Map.Entry<String, Metric> entry : measured.entrySet()) {
      byte[] name = Values.utf8(Objects.requireNonNull(entry.getKey(), "the name of a metric must not be null"));
      Metric metric = Objects.requireNonNull(entry.getValue(), () -> entry.getKey() + " must not be null");
      try (Values value = new Values()) {
        setMetric(metrics, name, metric.kind().swigValue(), value.one(metric.value()));
      }
    }
  }

  /** Returns the exception for an error with these properties. A null kind means the usual kind of the code. */
  static native OpdynoException error(int code, byte[] kind, byte[] message);

  private static native void setMetric(long metrics, byte[] name, int kind, long[] value);
}
