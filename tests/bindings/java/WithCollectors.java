// Tests of collectors written in Java: the calls that they get, their metrics, their exceptions, and their release.
import static io.opdyno.Native.*;
import static io.opdyno.Out.take;

import java.lang.ref.WeakReference;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import io.opdyno.*;

final class WithCollectors {
  private static final int CALLS = 102; // calls of a run: two checks of the argument, then 100 operators

  /** A collector that numbers its states from 1. */
  private static class Numbering implements MetricCollector {
    final List<Device> devices = new ArrayList<>();
    final List<WeakReference<Object>> states = new ArrayList<>();
    final String failsIn;
    int inits, ended;

    Numbering(String failsIn) {
      this.failsIn = failsIn;
    }

    private void enter(String method) throws First.Refused {
      if (method.equals(failsIn)) throw new First.Refused("no " + method);
    }

    @Override
    public void init(Device[] devices) throws First.Refused {
      this.devices.addAll(List.of(devices));
      ++inits;
      enter("init");
    }

    @Override
    public Object start(Device device) throws First.Refused {
      enter("start");
      Object state = new Object[] {device, states.size() + 1L};
      states.add(new WeakReference<>(state));
      return state;
    }

    @Override
    public Map<String, Metric> stop(Object state) throws First.Refused {
      ++ended;
      enter("stop");
      Map<String, Metric> measured = new LinkedHashMap<>();
      measured.put("Größe 😀", Metric.count((Long) ((Object[]) state)[1]));
      measured.put("took", Metric.duration(1.5));
      measured.put("share", Metric.percent(25));
      measured.put("half", Metric.ratio(0.5));
      measured.put("where", Metric.string(((Object[]) state)[0].toString()));
      measured.put("moved", Metric.bytes(1L << 40));
      measured.put("clock", Metric.hertz(2e9));
      return measured;
    }
  }

  static void run(String path) {
    for (WeakReference<Object> ended : numbered(path)) First.awaitEnd(ended, "a collector, or a state of one,");
    functions();
    First.refused("table", () -> opd_collector_create("none", null, new Out<>()));
    First.error(() -> opd_collector_create("", new Numbering(null), new Out<>()), Code.INVALID_ARGUMENT, "name");
  }

  /** Runs a profile with a collector. Returns weak references to the states and the collector. */
  private static List<WeakReference<Object>> numbered(String path) {
    Numbering numbering = new Numbering(null);
    try (Program module = take(out -> opd_module_load(Path.of(path), null, out));
        Vm vm = take(out -> opd_vm_create(module, null, out));
        Tensor x = Tensor.of(new float[] {1, 2, 3, -4.5f}, 4)) {
      profiles(vm, x, numbering);
      failures(vm, x);
    }
    List<WeakReference<Object>> all = new ArrayList<>(numbering.states);
    all.add(new WeakReference<>(numbering));
    return all;
  }

  private static Collector collector(String name, MetricCollector collector) {
    return take(out -> opd_collector_create(name, collector, out));
  }

  private static Report profile(Vm vm, Tensor x, Object... collectors) {
    Map<String, ?> options = Map.of("repeat", 3, "warmup", 2, "collectors", Arrays.asList(collectors));
    return take(out -> opd_vm_profile(vm, "main", new Object[] {x}, null, options, out, null));
  }

  private static void profiles(Vm vm, Tensor x, Numbering numbering) {
    try (Collector ours = collector("Numbering", numbering);
        Collector time = take(out -> opd_collector_create_builtin(CollectorKind.TIME, Map.of("per_thread", true), out));
        Report report = profile(vm, x, ours, time)) {
      First.check(numbering.inits == 1 && numbering.devices.equals(List.of(Device.CPU)), "init: " + numbering.devices);
      First.check(numbering.states.size() == 3 * (1 + CALLS) && numbering.ended == 3 * (1 + CALLS), "ended " + numbering.ended);
      for (int i = 0; i < 3 * CALLS; ++i) { // the collector starts for the run before it starts for the calls
        long number = 2 + i + i / CALLS;
        First.check(call(report, i, "Größe 😀").equals(number), i + ": " + call(report, i, "Größe 😀") + ", not " + number);
      }
      Object[][] metrics = {{"Größe 😀", 2L, MetricKind.COUNT}, {"took", 1.5, MetricKind.DURATION},
          {"share", 25.0, MetricKind.PERCENT}, {"half", 0.5, MetricKind.RATIO},
          {"where", "cpu:0", MetricKind.STRING},
          {"moved (bytes)", 1L << 40, MetricKind.BYTES}, {"clock (Hz)", 2e9, MetricKind.HERTZ}};
      for (Object[] metric : metrics) {
        String name = (String) metric[0];
        First.check(call(report, 0, name).equals(metric[1]), name + ": " + call(report, 0, name));
        Out<MetricKind> kind = new Out<>();
        opd_report_get(report, ReportSection.CALLS, 0, name, new Out<>(), kind);
        First.check(kind.get() == metric[2], name + ": " + kind.get());
      }
      Object total = take((Out<Object> out) -> opd_report_get(report, ReportSection.DEVICES, 0, "Größe 😀", out, null));
      First.check(total.equals(1L + (1 + 103) + (1 + 2 * 103)), "the device has the runs: " + total);
      First.check((Double) call(report, 0, "Wall time (us)") > 0, "the time collector measures");
      First.check(WithOptions.columns(report).contains("CPU time (us) (most of threads)"), "per_thread");
    }
  }

  private static void failures(Vm vm, Tensor x) {
    for (String place : new String[] {"init", "start", "stop"}) {
      Numbering bad = new Numbering(place);
      Numbering good = new Numbering(null);
      try (Collector first = collector("Bad", bad);
          Collector second = collector("Good", good);
          Report report = profile(vm, x, first, second)) {
        First.check(configuration(report, "Collector error: Bad").equals("no " + place), configuration(report, "Collector error: Bad"));
        First.check(WithOptions.rows(report, "add") == 300 && good.ended == 3 * (1 + CALLS), "the run goes on");
        First.check(bad.ended == bad.states.size(), "what started stops: " + bad.ended);
      }
    }
    Map<String, Metric> nameless = new LinkedHashMap<>();
    nameless.put("x", null);
    Object[][] wrong = {{nameless, "x must not be null"}, {Map.of("a\0b", Metric.count(1)), "NUL"}, {Map.of("", Metric.count(1)), "name"}};
    for (Object[] one : wrong) {
      @SuppressWarnings("unchecked")
      Map<String, Metric> measured = (Map<String, Metric>) one[0];
      try (Collector ours = collector("Wrong", giving("state", measured));
          Report report = profile(vm, x, ours)) {
        String said = configuration(report, "Collector error: Wrong");
        First.check(said.contains((String) one[1]), one[1] + ": " + said);
      }
    }
    try (Collector nowhere = collector("Nowhere", giving(null, null));
        Report report = profile(vm, x, nowhere)) {
      First.error(() -> opd_report_get(report, ReportSection.CONFIGURATION, 0, "Collector error: Nowhere", new Out<>(), null),
          Code.NOT_FOUND, "Nowhere"); // null means that the device is not supported
    }
  }

  private static MetricCollector giving(Object state, Map<String, Metric> measured) {
    return new MetricCollector() {
      @Override
      public Object start(Device device) {
        return state;
      }

      @Override
      public Map<String, Metric> stop(Object ended) {
        First.check(ended == state && state != null, "stop gets what start gave");
        return measured;
      }
    };
  }

  /** A function is called twice to warm up and measured once. Its exceptions stay unchanged. */
  private static void functions() {
    int[] calls = {0};
    Numbering numbering = new Numbering(null);
    try (PackedFn counted = take(out -> opd_function_create(args -> calls[0] += (int) (long) (Long) args[0], out));
        Collector ours = collector("Numbering", numbering);
        Collector bad = collector("Bad", new Numbering("stop"));
        PackedFn measured = take(out -> opd_function_profile(counted, Device.CPU, new Collector[] {ours}, 2, out));
        PackedFn fails = take(out -> opd_function_profile(counted, Device.CPU, new Collector[] {bad}, 0, out));
        ValueMap map = (ValueMap) Out.<Object>take(out -> opd_function_call(measured, new Object[] {7}, out))) {
      First.check(calls[0] == 21 && numbering.ended == 1, "three calls: " + calls[0] + ", " + numbering.ended);
      try (ValueList pair = (ValueList) Out.<Object>take(out -> opd_map_get(map, "moved (bytes)", out))) {
        First.check(First.items(pair).equals(List.of(6L, 1L << 40)), "kind and value: " + First.items(pair));
      }
      Throwable thrown = First.thrown(() -> opd_function_call(fails, new Object[] {7}, new Out<>()));
      First.check(thrown instanceof First.Refused && thrown.getMessage().equals("no stop"), "an exception crosses: " + thrown);
    }
  }

  private static Object call(Report report, int row, String column) {
    return take((Out<Object> out) -> opd_report_get(report, ReportSection.CALLS, row, column, out, null));
  }

  private static String configuration(Report report, String key) {
    return (String) Out.<Object>take(out -> opd_report_get(report, ReportSection.CONFIGURATION, 0, key, out, null));
  }
}
