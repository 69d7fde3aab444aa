package opdyno;

import java.util.Arrays;
import java.util.Objects;

/** What native code calls. */
final class Callbacks {
  private Callbacks() {}

  /** Words: the result, then the arguments, which are borrowed. The result will be the caller's. */
  static void call(PackedFunction function, long[] words) throws Throwable {
    Object[] args = new Object[words.length / 2 - 1];
    for (int i = 0; i < args.length; ++i) {
      args[i] = Values.copy(words, 2 * i + 2);
    }
    Object result = function.call(args);
    try (Values values = new Values()) {
      values.one(result);
      System.arraycopy(values.owned(), 0, words, 0, 2);
    }
  }

  static void log(LogCallback callback, int level, byte[] message) {
    callback.log(opd_log_level.swigToEnum(level), Values.text(message));
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

  private static native void setMetric(long metrics, byte[] name, int kind, long[] value);
}
