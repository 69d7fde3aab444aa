// Tests of options of every kind: numbers, truth values, texts, devices, handles and lists of them; and of wrong
// options.
import static io.opdyno.Native.*;
import static io.opdyno.Out.take;

import java.lang.ref.WeakReference;
import java.math.BigInteger;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import io.opdyno.*;

final class WithOptions {
  private static final int OPERATORS = 100; // operators of the artifact, each of which adds 1

  static void run(String path) {
    long live = First.liveBytes();
    try (Program module = take(out -> opd_module_load(Path.of(path), Map.of("copy", true, "format", "so"), out));
        Vm vm = take(out -> opd_vm_create(module,
            Map.of("devices", List.of(Device.CPU), "allocators", List.of(1), "max_depth", 20), out));
        Tensor x = Tensor.of(new float[] {1, 2, 3, -4.5f}, 4)) {
      calls(vm, x);
      sessions(vm, x);
      tables(vm, x);
      wrong(module, vm, x);
    }
    First.awaitEnd(evaluators(), "a lambda among the options");
    First.check(First.liveBytes() == live, "wrong options keep no handle: " + First.liveBytes() + " for " + live);
  }

  private static void calls(Vm vm, Tensor x) {
    Object[] input = {x};
    try (Tensor into = Tensor.of(new float[4], 4);
        CancelToken cancel = take(out -> opd_cancel_token_create(out))) {
      Map<String, ?> options = Map.of("names", List.of("x"), "outputs", List.of(into), "timeout_ns", 1L << 40, "cancel", cancel);
      ((Tensor) Out.<Object>take(out -> opd_vm_call(vm, "main", input, options, out))).close();
      First.check(Arrays.equals(into.toFloatArray(), new float[] {101, 102, 103, 95.5f}), "outputs are given");
      List<?> positional = Arrays.asList((Object) null);
      ((Tensor) Out.<Object>take(out -> opd_vm_call(vm, "main", input, Map.of("names", positional), out))).close();
      First.error(() -> opd_vm_call(vm, "main", input, Map.of("names", List.of("y")), new Out<>()),
          Code.INVALID_ARGUMENT, "\"y\"");
      opd_cancel_token_cancel(cancel);
      First.error(() -> opd_vm_call(vm, "main", input, options, new Out<>()), Code.CANCELLED, "main");
    }
  }

  /** Profiles every second of four calls, with at most 30 records for each. */
  private static void sessions(Vm vm, Tensor x) {
    for (long most : new long[] {1 << 20, 30}) {
      opd_vm_profile_start(vm, Map.of("sample_interval", 2, "max_records", most, "details", true));
      for (int i = 0; i < 4; ++i) {
        ((Tensor) Out.<Object>take(out -> opd_vm_call(vm, "main", new Object[] {x}, null, out))).close();
      }
      Out<Trace> made = new Out<>();
      try (Report report = take(out -> opd_vm_profile_stop(vm, out, made));
          Trace trace = made.get()) {
        boolean all = most > 30;
        First.check(rows(report, "add") == 2 * OPERATORS == all, "half of the calls: " + rows(report, "add"));
        First.check(opd_trace_dropped_count(trace) == 0 == all, "dropped: " + opd_trace_dropped_count(trace));
        First.check(columns(report).contains("Call Path"), "details: " + columns(report));
      }
    }
  }

  private static void tables(Vm vm, Tensor x) {
    int folded = ProfileBuiltins.FOLDED.swigValue();
    Map<String, ?> options = Map.of("warmup", 0, "repeat", 3, "builtins", folded);
    try (Report report = take(out -> opd_vm_profile(vm, "main", new Object[] {x}, null, options, out, null))) {
      First.check(rows(report, "add") == 3 * OPERATORS && rows(report, "(builtins)") > 0, "three folded runs");
      String all = take(out -> opd_report_write(report, ReportFormat.TABLE, null, out));
      String plain = take(out -> opd_report_write(report, ReportFormat.TABLE, Map.of("col_sums", 0, "aggregate", false), out));
      First.check(all.contains("\nSum ") && !plain.contains("\nSum "), "col_sums: " + plain);
      First.check(lines(all, "add ") == 1 && lines(plain, "add ") == 3 * OPERATORS, "aggregate: " + all);
      Report[] both = {report};
      First.error(() -> opd_report_diff(both, both, Map.of("level", 7), new Out<>()), Code.INVALID_ARGUMENT, "level");
      First.error(() -> opd_report_diff(both, both, Map.of("level", 0.1, "metric", "Größe"), new Out<>()),
          Code.NOT_FOUND, "Größe");
    }
  }

  private static WeakReference<PackedFunction> evaluators() {
    int[] calls = {0, 0};
    PackedFunction before = args -> ++calls[1];
    Map<String, ?> options = Map.of("device", Device.CPU, "number", 3, "repeat", 4L, "preprocess", before);
    try (PackedFn counted = take(out -> opd_function_create(args -> ++calls[0], out));
        Evaluator evaluator = take(out -> opd_evaluator_create(counted, options, out))) {
      try (Benchmark benchmark = take(out -> opd_evaluator_call(evaluator, null, out))) {
        First.check(Out.<BenchmarkStats>take(out -> opd_benchmark_get_stats(benchmark, out)).number() == 3, "calls of a repeat");
        First.check(calls[0] == 1 + 3 * 4 && calls[1] == 4, "calls: " + Arrays.toString(calls));
      }
      refused(given -> opd_evaluator_create(counted, given, new Out<>()), "device", "cpu", "option device must be a Device");
      First.error(() -> opd_evaluator_create(counted, Map.of("number", 0), new Out<>()), Code.INVALID_ARGUMENT, "number");
    }
    return new WeakReference<>(before);
  }

  /**
   * Each wrong option is refused with its name, before the library is called. Values that were read before it are
   * released.
   */
  private static void wrong(Program module, Vm vm, Tensor x) {
    Tensor closed = Tensor.of(new float[1], 1);
    closed.close();
    for (Object[] given : new Object[][] {
        {"repaet", 2, "\"repaet\" is unknown: opd_profile_options has warmup, repeat,"},
        {"repeat", 2.5, "option repeat must be a whole number, not float"},
        {"repeat", "2", "option repeat must be a whole number, not ffi.SmallStr"},
        {"repeat", 1L << 31, "option repeat must lie between -2147483648 and 2147483647, but is 2147483648"},
        {"repeat", BigInteger.ONE, "option repeat: java.math.BigInteger is not"},
        {"max_records", -1, "option max_records must lie between 0 and"},
        {"collectors", 3, "option collectors must be a List, not int"},
        {"collectors", List.of(x), "option collectors[0] must be a Collector, not ffi.Tensor"},
        {"collectors", Arrays.asList((Object) null), "option collectors[0] must be a Collector, not None"},
        {"collectors", List.of(x, closed), "option collectors: the Tensor is closed"}}) {
      refused(options -> opd_vm_profile(vm, "main", new Object[] {x}, null, options, new Out<>(), null), given);
    }
    for (Object[] given : new Object[][] {
        {"names", List.of("x", "y"), "option names must have as many items as args: 1, not 2"},
        {"names", List.of("x\0"), "option names[0] must not have a NUL character"},
        {"cancel", closed, "option cancel: the Tensor is closed"},
        {"cancel", vm, "option cancel must be a Cancel, not opdyno.Vm"},
        {"outputs", List.of(x, vm), "option outputs[1] must be a Tensor, not opdyno.Vm"}}) {
      refused(options -> opd_vm_call(vm, "main", new Object[] {x}, options, new Out<>()), given);
    }
    refused(options -> opd_vm_create(module, options, new Out<>()), "devices", List.of("cpu"), "option devices[0] must be a Device");
    refused(options -> opd_vm_create(module, options, new Out<>()), "allocators", List.of(0, 0), "as many items as devices: 1, not 2");
    refused(options -> opd_collector_create_builtin(CollectorKind.TIME, options, new Out<>()), "devices", List.of(Device.CPU, Device.CPU), "as events: 1, not 2");
    Throwable thrown = First.thrown(() -> opd_tensor_copy(x, closed));
    First.check(thrown instanceof IllegalStateException, "the tensor before a closed one can end: " + thrown);
  }

  private static void refused(java.util.function.Consumer<Map<String, ?>> call, Object... given) {
    Throwable thrown = First.thrown(() -> call.accept(Map.of((String) given[0], given[1])));
    First.check(thrown instanceof OpdynoException e && e.code() == Code.INVALID_ARGUMENT
        && e.getMessage().contains((String) given[2]), given[2] + " is said of " + given[0] + ": " + thrown);
  }

  static long rows(Report report, String name) {
    long count = 0;
    for (int i = 0; i < opd_report_call_count(report); ++i) {
      int row = i;
      if (name.equals(take((Out<Object> out) -> opd_report_get(report, ReportSection.CALLS, row, "Name", out, null)))) ++count;
    }
    return count;
  }

  static List<Object> columns(Report report) {
    try (ValueList names = take(out -> opd_report_list(report, ReportSection.CALLS, out))) {
      return First.items(names);
    }
  }

  private static long lines(String text, String beginning) {
    return text.lines().filter(line -> line.startsWith(beginning)).count();
  }
}
