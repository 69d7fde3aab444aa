// Two builds of a program on the same input.
import io.opdyno.*;

final class WithCompared {
  private WithCompared() {}

  static void run() {
    CompareOptions options = CompareOptions.create().repeat(0);
    try (PackedFn one = PackedFn.of(args -> 1.0);
        PackedFn other = PackedFn.of(args -> 2.0)) {
      one.register("compared.one");
      other.register("compared.other");
      try (Vm a = vm("compared.one");
          Vm same = vm("compared.one");
          Vm b = vm("compared.other");
          Comparison equal = a.compare(same, options, "main", 1.5);
          Comparison differs = a.compare(b, options, "main", 1.5)) {
        First.check(equal.isEqual() && equal.times() == null, equal.verdict());
        First.check(!differs.isEqual() && differs.verdict().equals(differs.toString()), differs.verdict());
        First.failed(() -> a.compare(b, options, "mian", 1.5), OpdynoException.NotFound.class, "main");
        try (ValueList none = ValueList.of()) {
          First.failed(() -> a.compare(same, options.bArgs(none), "main", 1.5), OpdynoException.InvalidArgument.class, "b_args has 0");
        }
      }
    }
  }

  private static Vm vm(String kernel) {
    try (Executable executable = Executable.assemble(".func main(x) {\n  %y = call " + kernel + "(%x)\n  ret %y\n}");
        Program program = executable.toProgram()) {
      return program.vm();
    }
  }
}
