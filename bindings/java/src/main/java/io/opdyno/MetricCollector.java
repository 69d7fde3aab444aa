package io.opdyno;

import org.jspecify.annotations.Nullable;

/**
 * Takes measurements around calls; {@link Collectors#of(String, MetricCollector)} makes a {@link Collector} from it. A
 * profile calls it from the thread that profiles. After an exception, the collector is not started again, and the
 * exception is in the report's configuration.
 */
public interface MetricCollector {
  /** Makes expensive preparations, once before each run. */
  default void init(Device[] devices) throws Throwable {}

  /** Begins to measure a call on a device. Returns the argument for stop(), or null if the device is not supported. */
  @Nullable Object start(Device device) throws Throwable;

  /**
   * Ends a measurement. Called once for each state, even if the call failed. Returns the values by the names of their
   * columns.
   */
  java.util.Map<String, Metric> stop(@Nullable Object state) throws Throwable;
}
