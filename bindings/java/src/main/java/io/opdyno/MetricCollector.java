package io.opdyno;

import org.jspecify.annotations.Nullable;

/**
 * Measures something around calls; {@link Collectors#of(String, MetricCollector)} makes a {@link Collector} from it. A run calls
 * it from its own thread. After an exception, it is not started again, and the exception is in the report's configuration.
 */
public interface MetricCollector {
  /** Makes expensive preparations, once before each run. */
  default void init(Device[] devices) throws Throwable {}

  /** Begins to measure a call on a device. Returns the argument of its stop, or null if the device is not supported. */
  @Nullable Object start(Device device) throws Throwable;

  /** Ends a measurement. Called once for each state, also if the call failed. Returns columns and their values. */
  java.util.Map<String, Metric> stop(@Nullable Object state) throws Throwable;
}
