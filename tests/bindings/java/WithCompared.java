// Tests of the comparison of two builds of a program on the same input.
import io.opdyno.*;

final class WithCompared {
  private WithCompared() {}

  static void run() {
    cause();
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
        First.check(equal.isEqual() && equal.times() == null && equal.cause() == null, equal.verdict());
        First.check(!differs.isEqual() && differs.verdict().equals(differs.toString()), differs.verdict());
        First.failed(() -> a.compare(b, options, "mian", 1.5), OpdynoException.NotFound.class, "main");
        try (ValueList none = ValueList.of()) {
          First.failed(() -> a.compare(same, options.bArgs(none), "main", 1.5), OpdynoException.InvalidArgument.class, "b_args has 0");
        }
      }
    }
  }

  /** The comparison names the operator whose tensor differs. */
  private static void cause() {
    String tensor =
        """
        .func main() {
          %s = call vm.builtin.alloc_storage(%vm, shape(16), 0, dtype(uint8), "global")
          %t = call vm.builtin.alloc_tensor(%s, 0, shape(4), dtype(float32))
          call KERNEL(%t)
          ret %t
        }
        """;
    try (PackedFn ones = filling(1);
        PackedFn twos = filling(2)) {
      ones.register("compared.ones");
      twos.register("compared.twos");
      try (Vm a = assembled(tensor.replace("KERNEL", "compared.ones"));
          Vm b = assembled(tensor.replace("KERNEL", "compared.twos"));
          Comparison differs = a.compare(b, CompareOptions.create().repeat(0), "main")) {
        First.check("compared.twos".equals(differs.cause()), differs.cause() + ": " + differs);
      }
    }
  }

  private static PackedFn filling(float element) {
    return PackedFn.of(args -> {
      try (Tensor elements = Tensor.of(new float[] {element, element, element, element}, 4);
          Tensor filled = (Tensor) args[0]) {
        elements.copyTo(filled);
      }
      return null;
    });
  }

  private static Vm vm(String kernel) {
    return assembled(".func main(x) {\n  %y = call " + kernel + "(%x)\n  ret %y\n}");
  }

  private static Vm assembled(String text) {
    try (Executable executable = Executable.assemble(text);
        Program program = executable.toProgram()) {
      return program.vm();
    }
  }
}
