package io.opdyno;

import org.jspecify.annotations.Nullable;

/**
 * Measures something around calls; {@link Collectors#of(String, MetricCollector)} makes a {@link Collector} of it. A run calls it
 * from its own thread, and does not start it any more after an exception, which the report's configuration tells.
 */
public interface MetricCollector {
  /** Prepares what is expensive, once before each run. */
  default void init(Device[] devices) throws Throwable {}

  /** Begins to measure a call on a device; gives what its stop gets, or null if the device is not supported. */
  @Nullable Object start(Device device) throws Throwable;

  /** Ends what start began: once for each state, also when the call failed. Gives columns and what was measured. */
  java.util.Map<String, Metric> stop(@Nullable Object state) throws Throwable;
}
