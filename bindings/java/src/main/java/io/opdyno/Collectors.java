package io.opdyno;

import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Collectors, for ProfileOptions. */
public final class Collectors {
  private Collectors() {}

  /** One of your own. */
  public static Collector of(String name, MetricCollector collector) {
    Objects.requireNonNull(collector, "collector must not be null");
    return Out.take(out -> Native.opd_collector_create(name, collector, out));
  }

  /** One of the library's; no options (null) are all defaults. */
  public static Collector of(CollectorKind kind, @Nullable CounterOptions options) {
    return Out.take(out -> Native.opd_collector_create_builtin(kind, CounterOptions.map(options), out));
  }

  /** Wall and CPU time. */
  public static Collector time() {
    return of(CollectorKind.TIME, null);
  }

  /** Allocated memory. */
  public static Collector memory() {
    return of(CollectorKind.MEMORY, null);
  }

  /** The kernel's counters, by their names; none: the usual ones. */
  public static Collector perf(String... events) {
    return counting(CollectorKind.PERF, events);
  }

  /** The events of PAPI, by their names; none: the usual ones. The PAPI library is loaded at the first use. */
  public static Collector papi(String... events) {
    return counting(CollectorKind.PAPI, events);
  }

  private static Collector counting(CollectorKind kind, String[] events) {
    return of(kind, CounterOptions.create().events(Objects.requireNonNull(events, "events must not be null")));
  }

  /** The energy that the whole processor used, in microjoules. */
  public static Collector energy() {
    return of(CollectorKind.ENERGY, null);
  }

  /** Power, temperature, clocks, utilization and energy of NVIDIA's GPUs, read by NVML. */
  public static Collector nvml() {
    return of(CollectorKind.NVML, null);
  }

  /**
   * What a device counts of the kernels in a call: on Vulkan their threads, "Compute shader invocations"; on CUDA
   * metrics of CUPTI that end with ".sum".
   */
  public static Collector device(String... metrics) {
    return counting(CollectorKind.DEVICE, Objects.requireNonNull(metrics, "metrics must not be null"));
  }

  /** The events that a kind can count on this machine. */
  public static List<String> events(CollectorKind kind) {
    return ValueList.texts(Out.take(out -> Native.opd_collector_list_events(kind, out)));
  }
}
