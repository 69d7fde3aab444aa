// Tests of extreme values. Each is refused with its name, or has the documented meaning.
import io.opdyno.*;
import java.time.Duration;
import java.util.List;
import java.util.Map;

final class WithEdges {
  private WithEdges() {}

  static void run() {
    dtypes();
    nulls();
    truths();
    indices();
    texts();
    joined();
    First.check(Report.fromJson("{\"calls\": [], \"device_metrics\": {}, \"configuration\": {}}").operators().isEmpty(), "no operators");
  }

  /** Operator.join() sums up the rows of each name. */
  private static void joined() {
    Duration second = Duration.ofSeconds(1);
    List<Operator> rows = List.of(new Operator("a", second, 20, 1), new Operator("(profiler)", second.multipliedBy(9), 1, 1),
        new Operator("b", second.multipliedBy(3), 59, 2), new Operator("a", second.multipliedBy(4), 20, 3));
    List<Operator> expected = List.of(new Operator("a", second.multipliedBy(5), 40, 4), new Operator("b", second.multipliedBy(3), 59, 2));
    First.check(Operator.join(rows).equals(expected) && Operator.join(List.of()).isEmpty(), "" + Operator.join(rows));
  }

  private static void dtypes() {
    First.failed(() -> new DType(300, 32, 1), IllegalArgumentException.class, "code must lie between 0 and 255, but is 300");
    First.failed(() -> new DType(2, 288, 1), IllegalArgumentException.class, "bits must lie between 0 and 255, but is 288");
    First.failed(() -> new DType(2, 32, 65537), IllegalArgumentException.class, "lanes must lie between 0 and 65535, but is 65537");
    First.failed(() -> new DType(2, 32, -1), IllegalArgumentException.class, "lanes must lie");
    First.check(DType.FLOAT32.toString().equals("float32") && new DType(2, 32, 65535).lanes() == 65535, "those that there are");
  }

  /** A null array of arguments means one null argument. */
  private static void nulls() {
    Object[] none = null;
    try (PackedFn count = PackedFn.of(args -> args.length == 1 && args[0] == null ? "a null" : args.length);
        Executable executable = Executable.assemble(".func main(x) {\n  ret %x\n}");
        Program program = executable.toProgram();
        Vm vm = program.vm();
        ValueList list = ValueList.of(none);
        Evaluator evaluator = Evaluator.of(count, EvaluatorOptions.create().number(1).repeat(1));
        Benchmark benchmark = evaluator.call(none)) {
      First.check(count.call(none).equals("a null") && count.call((Object) null).equals("a null") && count.call().equals(0L), "functions");
      First.check(vm.call("main", none) == null && vm.invokeClosure(count, none).equals("a null"), "VMs");
      First.check(list.size() == 1 && list.get(0) == null && benchmark.seconds().length == 1, "lists");
    }
  }

  private static void truths() {
    try (PackedFn truth = PackedFn.of(args -> args.length > 0)) {
      First.check(truth.callLong(1) == 1 && truth.callLong() == 0 && truth.callDouble(2) == 1, "truth values are numbers for either");
    }
  }

  private static void indices() {
    try (ValueList list = ValueList.of(1, 2.5, "a", List.of(true)); Report report = Report.fromJson("{\"calls\": [], \"device_metrics\": {}, \"configuration\": {}}")) {
      First.failed(() -> list.get(-1), OpdynoException.OutOfRange.class, "index -1 is below 0");
      First.failed(() -> list.get(4), OpdynoException.OutOfRange.class, "4");
      First.failed(() -> report.get(ReportSection.CALLS, -1, "Name"), OpdynoException.OutOfRange.class, "index -1 is below 0");
      First.failed(() -> report.kind(ReportSection.CALLS, -1, "Name"), OpdynoException.OutOfRange.class, "index -1 is below 0");
      First.check(list.toString().equals("[1, 2.5, \"a\", [true]]"), list.toString());
    }
    try (PackedFn same = PackedFn.of(args -> args[0]); ValueMap map = (ValueMap) same.call(Map.of("a", 1))) {
      First.check(map.toString().equals("{\"a\": 1}"), map.toString());
    }
  }

  private static void texts() {
    try (PackedFn same = PackedFn.of(args -> args[0]); PackedFn fails = PackedFn.of(args -> { throw new RuntimeException("half \ud800"); })) {
      First.check(same.call("\ud83d\ude00").equals("\ud83d\ude00"), "a pair of surrogates");
      for (String lone : new String[] {"\ud83d", "a\ude00", "\ude00\ud83d", "\ud83d\ud83d\ude00"}) {
        First.failed(() -> same.call(lone), IllegalArgumentException.class, "text with a lone surrogate at ");
        First.failed(() -> PackedFn.global(lone), IllegalArgumentException.class, "text with a lone surrogate at ");
        First.failed(() -> Executable.assemble(lone), IllegalArgumentException.class, "text with a lone surrogate at ");
      }
      RuntimeException thrown = First.failed(fails::call, RuntimeException.class, "half \ud800");
      First.check(thrown.getSuppressed()[0].getMessage().equals("half ?"), "what was thrown is whole, the error has a mark");
    }
    try (Executable executable = Executable.assemble(".func main(x) {\n  ret %x\n}\n.func one(x) {\n  %t = call vm.builtin.make_tuple(%x)\n  ret %t\n}");
        Program program = executable.toProgram();
        Vm vm = program.vm()) {
      First.check(vm.call(CallOptions.create().timeout(Duration.ofSeconds(Long.MAX_VALUE)), "main", 5).equals(5L), "no time is too long");
      First.failed(() -> vm.call(CallOptions.create().timeout(Duration.ZERO), "one", 5), OpdynoException.DeadlineExceeded.class, "deadline");
    }
  }
}
