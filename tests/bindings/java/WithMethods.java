// Tests of the classes that programs use: methods, options, exceptions by class, views of memory.
import io.opdyno.*;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

final class WithMethods {
  private WithMethods() {}

  static void run(Path artifact, Path directory) throws Exception {
    program(artifact, directory);
    stateful();
    tensors();
    views();
    readOnly(directory);
    recordings(directory);
    measured();
    options();
  }

  private static void program(Path artifact, Path directory) throws Exception {
    try (Program program = Program.load(artifact);
        Vm vm = program.vm(VmOptions.create().maxDepth(10).allocators(AllocatorKind.NAIVE));
        Tensor x = Tensor.of(new float[] {1, 2, 3, -4.5f}, 4);
        Tensor y = vm.callTensor("main", x);
        PackedFn main = vm.function("main");
        Tensor z = main.callTensor(x)) {
      First.check(Arrays.equals(y.toFloatArray(), new float[] {101, 102, 103, 95.5f}), "main adds 100");
      First.check(z.floats().equals(y.floats()), "as does the function");
      First.check(vm.functions().contains("main") && vm.hasFunction("main") && !vm.hasFunction("mian"), "functions " + vm.functions());
      First.check(vm.parameters("main").equals(List.of("x")), "parameters " + vm.parameters("main"));
      First.check(!program.kind().isEmpty() && program.toJson().startsWith("{"), "kind " + program.kind());
      OpdynoException.NotFound notFound = failed(() -> vm.call("mian", x), OpdynoException.NotFound.class);
      First.check(notFound.code() == Code.NOT_FOUND && notFound.getMessage().contains("Did you mean main"), "" + notFound);
      failed(() -> vm.call("main"), OpdynoException.InvalidArgument.class);
      failed(() -> Program.load(directory.resolve("none.so")), OpdynoException.class);
      try (CancelToken token = CancelToken.create()) {
        token.cancel();
        CallOptions cancelled = CallOptions.create().cancel(token).timeout(Duration.ofMinutes(1));
        failed(() -> vm.call(cancelled, "main", x), OpdynoException.Cancelled.class);
        token.reset();
        ((Tensor) vm.call(cancelled, "main", x)).close();
      }
      profiled(vm, x, directory);
    }
  }

  private static void profiled(Vm vm, Tensor x, Path directory) throws Exception {
    ProfileOptions options = ProfileOptions.create().repeat(3).warmup(0).details(true).builtins(ProfileBuiltins.FOLDED);
    try (Profile profile = vm.profile(options, "main", x)) {
      Report report = profile.report();
      List<Operator> adds = report.operators().stream().filter(operator -> operator.name().equals("add")).toList();
      First.check(adds.size() == 300 && adds.get(0).count() == 1, adds.size() + " additions");
      double percent = report.operators().stream().mapToDouble(Operator::percent).sum();
      First.check(percent > 99 && percent < 101, "they add up to 100 percent: " + percent);
      Object raw = report.get(ReportSection.CALLS, 0, "Duration (us)");
      First.check(Math.abs(report.operators().get(0).duration().toNanos() - 1000 * (Double) raw) <= 1, "in microseconds: " + raw);
      First.check(report.columns(ReportSection.CALLS).contains("Start (us)"), "details");
      First.check(report.count(ReportSection.CALLS) == report.column(ReportSection.CALLS, "Name").size(), "rows");
      First.check(report.toString().contains("add") && profile.toString().equals(report.toString()), "it prints as its table");
      try (Report again = Report.fromJson(report.write(ReportFormat.JSON));
          Report both = Report.merge(report, again);
          Report diff = Report.diff(List.of(report), List.of(again), DiffOptions.create().minEffect(0.5));
          Report roofline = report.withRoofline(0, 0)) {
        First.check(again.write(ReportFormat.CSV).equals(report.write(ReportFormat.CSV)), "JSON there and back");
        First.check(both.count(ReportSection.CALLS) == 2 * report.count(ReportSection.CALLS), "merged");
        First.check(diff.count(ReportSection.CALLS) > 0 && roofline.columns(ReportSection.CALLS).contains("FLOP"), "diff, roofline");
        String short_ = report.write(ReportFormat.TABLE, ReportWriteOptions.create().width(60).maxRows(1));
        First.check(short_.length() < report.toString().length() && short_.contains("more row"), "a summary: " + short_);
      }
      Path trace = directory.resolve("trace.json");
      profile.trace().writeChrome(trace);
      First.check(Files.readString(trace).equals(profile.trace().toChrome()) && profile.trace().droppedCount() == 0, "the trace");
    }
    vm.startProfile(null);
    ((Tensor) vm.call("main", x)).close();
    try (Profile profile = vm.stopProfile()) {
      First.check(profile.report().operators().stream().filter(operator -> operator.name().equals("add")).mapToLong(Operator::count).sum() == 100, "all calls");
    }
  }

  private static void stateful() {
    try (PackedFn pair = PackedFn.of(args -> List.of(args[0], 2 * (Long) args[0]))) {
      pair.register("test.methods.pair");
      try (Executable executable = Executable.assemble(".func main(x) {\n  %y = call test.methods.pair(%x)\n  ret %y\n}");
          Executable same = Executable.load(executable.toBytes());
          Program program = same.toProgram();
          Vm vm = program.vm();
          PackedFn found = PackedFn.global("test.methods.pair")) {
        vm.setInput("main", 21);
        vm.invokeStateful("main");
        First.check(vm.output("main", 1).equals(42L), "an item of the outputs");
        First.check(vm.outputArity("main") == 2 && vm.outputArity("main", 0) == -1, "two outputs, the first of which is no list");
        try (ValueList both = (ValueList) found.call(4)) {
          First.check(both.size() == 2 && both.toList().equals(List.of(4L, 8L)), "a list");
          failed(() -> both.tensor(0), ClassCastException.class);
        }
        First.check(executable.toString().contains("test.methods.pair") && executable.toString().equals(same.toString()), "assembly");
        failed(() -> vm.callTensor("main", 1), ClassCastException.class);
      } finally {
        Native.opd_function_remove_global("test.methods.pair");
      }
    }
    try (PackedFn same = PackedFn.of(args -> args[0]);
        ValueMap map = (ValueMap) same.call(Map.of("a", 1))) {
      First.check(map.size() == 1 && map.get("a").equals(1L) && map.toMap().equals(Map.of("a", 1L)), "a map");
    }
  }

  private static void tensors() {
    try (Tensor doubles = Tensor.of(new double[] {0.1, -2}, 2);
        Tensor ints = Tensor.of(new int[] {1, 2, 3, 4, 5, 6}, 2, 3);
        Tensor longs = Tensor.of(new long[] {1L << 40}, 1);
        Tensor scalar = Tensor.of(new float[] {7});
        Tensor flat = ints.reshape(6);
        Tensor copy = Tensor.create(DType.INT32, 6)) {
      First.check(doubles.doubles().get(0) == 0.1 && longs.longs().get(0) == 1L << 40 && ints.ints().get(5) == 6, "elements");
      First.check(scalar.shape().length == 0 && scalar.floats().get(0) == 7, "a tensor without dimensions");
      First.check(Arrays.equals(ints.shape(), new long[] {2, 3}) && ints.byteSize() == 24 && ints.dtype().equals(DType.INT32), "facts");
      flat.copyTo(copy);
      First.check(Arrays.equals(copy.toBytes(), ints.toBytes()), "copied");
      First.check(Arrays.equals(ints.strides(), new long[] {3, 1}) && scalar.strides().length == 0, "strides");
      First.check(ints.toString().contains("int32[2, 3]"), ints.toString());
      Device other = Device.of("cpu:1");
      try (Tensor there = ints.to(other)) {
        First.check(there.device().equals(other) && ints.device().equals(Device.CPU), "" + there.device());
        First.check(Arrays.equals(there.shape(), ints.shape()) && Arrays.equals(there.toBytes(), ints.toBytes()), "a copy there");
        First.check(!there.isSame(ints) && ints.isSame(ints) && !ints.isSame(null), "another tensor");
      }
      try (PackedFn same = PackedFn.of(args -> args[0]);
          Tensor again = same.callTensor(ints)) {
        First.check(again != ints && again.isSame(ints), "another handle of the same tensor");
        failed(() -> again.isSame(closed()), IllegalStateException.class);
      }
      failed(() -> ints.floats(), IllegalArgumentException.class);
      failed(() -> Tensor.of(new float[] {1, 2}, 3), OpdynoException.InvalidArgument.class);
    }
  }

  private static Tensor closed() {
    Tensor made = Tensor.create(DType.INT32, 1);
    made.close();
    return made;
  }

  /**
   * A view shares the memory and keeps it. The test has its own device, because views of other tests may end at any
   * time.
   */
  private static void views() throws Exception {
    Device own = Device.of("cpu:8");
    Tensor x = Tensor.create(own, DType.FLOAT32, 1 << 18);
    FloatBuffer view = x.floats(), slice = x.buffer().asFloatBuffer().slice(5, 3);
    view.put(5, 2.5f);
    First.check(slice.get(0) == 2.5f && x.toFloatArray()[5] == 2.5f && view.isDirect() && view.capacity() == 1 << 18, "the same memory");
    x.close();
    First.check(own.memoryStats().liveBytes() == 1 << 20, "the views keep it");
    view = null;
    System.gc();
    try (Tensor zeros = Tensor.of(new float[1 << 18], 1 << 18);
        Tensor other = Tensor.create(own, DType.FLOAT32, 1 << 18)) {
      zeros.copyTo(other);
      First.check(slice.get(0) == 2.5f && other.toFloatArray()[5] == 0, "nobody else has it");
    }
    slice = null;
    First.collectUntil(() -> own.memoryStats().liveBytes() == 0);
    First.check(own.memoryStats().liveBytes() == 0, "it ends with the last view: " + own.memoryStats());
    failed(x::buffer, IllegalStateException.class);
    try (Tensor empty = Tensor.create(DType.FLOAT32, 0)) {
      First.check(empty.buffer().capacity() == 0, "no elements");
    }
    try (PackedFn look = PackedFn.of(args -> {
          IllegalStateException refused = failed(((Tensor) args[0])::buffer, IllegalStateException.class);
          First.check(refused.getMessage().contains("lent"), "" + refused);
          return null;
        });
        Tensor lent = Tensor.of(new float[] {1}, 1);
        Closure closure = Out.take(out -> Native.opd_closure_create(look, "void(tensor)", out));
        PackedFn lends = Out.take(out -> Native.opd_function_create_native(Native.opd_closure_pointer(closure), "void(tensor)", null, 0, out))) {
      lends.call(lent);
    }
  }

  private static void readOnly(Path directory) {
    Path file = directory.resolve("weights.params");
    try (Params made = Params.create();
        Tensor w = Tensor.of(new float[] {1, 2}, 2)) {
      made.set("w", w);
      made.save(file);
    }
    try (Params params = Params.open(file);
        Tensor w = params.get("w")) {
      First.check(params.names().equals(List.of("w")) && w.floats().get(1) == 2, "parameters");
      First.check(w.buffer().isReadOnly() == (Native.opd_tensor_is_read_only(w) != 0), "what may not be written is not");
      failed(() -> params.get("v"), OpdynoException.NotFound.class);
    }
  }

  private static void recordings(Path directory) throws Exception {
    try (Profiler profiler = Profiler.create(ProfilerOptions.create().maxEvents(1000))) {
      profiler.start();
      try (Range outer = Range.open("outer \"range\"")) {
        Range.mark("a moment");
        Range inner = Range.open("inner");
        inner.close();
        inner.close(); // a second close() does nothing
        First.check(outer != inner, "ranges");
      }
      try (Trace trace = profiler.stop()) {
        String json = trace.toChrome();
        First.check(json.contains("outer \\\"range\\\"") && json.contains("a moment") && json.contains("inner"), json);
        Path file = directory.resolve("trace.html");
        trace.save(file, TraceFormat.HTML, TraceWriteOptions.create().timeUnit("ms"));
        First.check(Files.size(file) > 1000, "a page");
      }
    }
  }

  private static void measured() {
    int[] calls = {0};
    try (PackedFn counted = PackedFn.of(args -> calls[0]++);
        Evaluator evaluator = Evaluator.of(counted, EvaluatorOptions.create().number(5).repeat(7).warmup(2));
        Benchmark benchmark = evaluator.call()) {
      First.check(calls[0] == 2 + 5 * 7, calls[0] + " calls");
      First.check(benchmark.median() > 0 && benchmark.percentile(100) >= benchmark.median(), "" + benchmark.median());
      First.check(benchmark.toString().contains("mean"), benchmark.toString());
    }
    try (Collector time = Collectors.time();
        Collector mine = Collectors.of("Mine", new MetricCollector() {
          @Override
          public Object start(Device device) {
            return this;
          }

          @Override
          public Map<String, Metric> stop(Object state) {
            return Map.of("mine", Metric.count(3));
          }
        });
        Executable executable = Executable.assemble(".func main(x) {\n  %y = call vm.builtin.copy(%x)\n  ret %y\n}");
        Program program = executable.toProgram();
        Vm vm = program.vm();
        Tensor x = Tensor.of(new float[] {1}, 1);
        Profile profile = vm.profile(ProfileOptions.create().builtins(ProfileBuiltins.ALL).collectors(time, mine), "main", x)) {
      First.check(profile.report().get(ReportSection.CALLS, 0, "mine").equals(3L), "a collector of one's own");
      First.check(profile.report().columns(ReportSection.CALLS).contains("Wall time (us)"), "one of the library's");
    }
  }

  /** Classes of options refuse wrong values like maps of options. */
  private static void options() {
    OpdynoException refused = failed(() -> Profiler.create(ProfilerOptions.create().maxEvents(-1)), OpdynoException.InvalidArgument.class);
    First.check(refused.getMessage().contains("max_events"), "" + refused);
  }

  private static <T extends Throwable> T failed(Runnable call, Class<T> kind) {
    return First.failed(call, kind, "");
  }
}
