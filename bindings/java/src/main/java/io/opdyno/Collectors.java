package io.opdyno;

import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Makes collectors, which ProfileOptions takes. */
public final class Collectors {
  private Collectors() {}

  /** Makes a collector from your own code. */
  public static Collector of(String name, MetricCollector collector) {
    Objects.requireNonNull(collector, "collector must not be null");
    return Out.take(out -> Native.opd_collector_create(name, collector, out));
  }

  /** Makes a built-in collector; null: all defaults. */
  public static Collector of(CollectorKind kind, @Nullable CounterOptions options) {
    return Out.take(out -> Native.opd_collector_create_builtin(kind, CounterOptions.map(options), out));
  }

  /** Measures wall time and CPU time. */
  public static Collector time() {
    return of(CollectorKind.TIME, null);
  }

  /** Measures allocated memory. */
  public static Collector memory() {
    return of(CollectorKind.MEMORY, null);
  }

  /** Counts events of the kernel by their names. No names: the usual events. */
  public static Collector perf(String... events) {
    return counting(CollectorKind.PERF, events);
  }

  /** Counts events of PAPI by their names. No names: the usual events. The PAPI library is loaded at the first use. */
  public static Collector papi(String... events) {
    return counting(CollectorKind.PAPI, events);
  }

  private static Collector counting(CollectorKind kind, String[] events) {
    return of(kind, CounterOptions.create().events(Objects.requireNonNull(events, "events must not be null")));
  }

  /** Measures the energy that the whole processor used, in microjoules. */
  public static Collector energy() {
    return of(CollectorKind.ENERGY, null);
  }

  /** Reads power, temperature, clocks, utilization and energy of NVIDIA GPUs from NVML. */
  public static Collector nvml() {
    return of(CollectorKind.NVML, null);
  }

  /**
   * Reads the device's own counters for the kernels in a call. On Vulkan, "Compute shader invocations" is the number of
   * the kernels' threads. On CUDA, the names are those of CUPTI's metrics, which end with ".sum".
   */
  public static Collector device(String... metrics) {
    return counting(CollectorKind.DEVICE, Objects.requireNonNull(metrics, "metrics must not be null"));
  }

  /** Lists the events that a kind of collector can count on this machine. */
  public static List<String> events(CollectorKind kind) {
    return ValueList.texts(Out.take(out -> Native.opd_collector_list_events(kind, out)));
  }
}
