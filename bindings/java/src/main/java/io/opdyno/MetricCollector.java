package io.opdyno;

import org.jspecify.annotations.Nullable;

/**
 * Measures something around calls; {@link Collectors#of(String, MetricCollector)} makes a {@link Collector} of it. A run calls it
 * from its own thread, and does not start it any more after an exception, which is in the report's configuration.
 */
public interface MetricCollector {
  /** Prepares what is expensive, once before each run. */
  default void init(Device[] devices) throws Throwable {}

  /** Begins to measure a call on a device. Returns the argument of its stop, or null if the device is not supported. */
  @Nullable Object start(Device device) throws Throwable;

  /** Ends the measurement of start: once for each state, also when the call failed. Returns columns and their values. */
  java.util.Map<String, Metric> stop(@Nullable Object state) throws Throwable;
}
