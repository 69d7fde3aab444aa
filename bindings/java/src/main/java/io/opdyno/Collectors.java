package io.opdyno;

import java.util.List;

/** Collectors, for ProfileOptions. */
public final class Collectors {
  private Collectors() {}

  /** One of your own. */
  public static Collector of(String name, MetricCollector collector) {
    return Out.take(out -> Native.opd_collector_create(name, collector, out));
  }

  /** One of the library's; no options (null) are all defaults. */
  public static Collector of(CollectorKind kind, CounterOptions options) {
    return Out.take(out -> Native.opd_collector_create_builtin(kind, CounterOptions.map(options), out));
  }

  /** Wall and CPU time. */
  public static Collector time() {
    return of(CollectorKind.TIME, null);
  }

  /** What is allocated. */
  public static Collector memory() {
    return of(CollectorKind.MEMORY, null);
  }

  /** The kernel's counters, by their names; none: the usual ones. */
  public static Collector perf(String... events) {
    return of(CollectorKind.PERF, CounterOptions.create().events(events));
  }

  /** The events of PAPI, by their names; none: the usual ones. The PAPI library is loaded at the first use. */
  public static Collector papi(String... events) {
    return of(CollectorKind.PAPI, CounterOptions.create().events(events));
  }

  /** The energy that the whole processor used, in microjoules. */
  public static Collector energy() {
    return of(CollectorKind.ENERGY, null);
  }

  /** The events that a kind can count on this machine. */
  public static List<String> events(CollectorKind kind) {
    return ValueList.texts(Out.take(out -> Native.opd_collector_list_events(kind, out)));
  }
}
