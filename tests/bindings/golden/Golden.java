// The scenario of golden.c, in Java.
import io.opdyno.*;
import java.nio.file.Path;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

public final class Golden {
  private static String show(Tensor tensor) {
    float[] values = tensor.toFloatArray();
    return IntStream.range(0, values.length).mapToObj(i -> String.format("%.0f", values[i])).collect(Collectors.joining(" "));
  }

  private static void run(Vm vm, Tensor x) {
    System.out.println("functions " + String.join(" ", vm.functions()));
    System.out.println("parameters " + String.join(" ", vm.parameters("main")));
    try (Tensor y = vm.callTensor("main", x)) {
      System.out.println("result " + show(y));
    }
    vm.setInput("main", x);
    vm.invokeStateful("main");
    try (Tensor y = (Tensor) vm.output("main")) {
      System.out.println("stateful " + show(y));
    }
    try {
      vm.call("mian", x);
    } catch (OpdynoException.NotFound error) {
      System.out.println("error " + error.kind() + ": " + error.getMessage());
    }
  }

  private static void callBack() {
    try (PackedFn scale = PackedFn.of(PackedFunction.ofLong(n -> 6 * n))) {
      scale.register("golden.scale");
      try (Executable text = Executable.assemble(".func main(n) {\n  %m = call golden.scale(%n)\n  ret %m\n}");
          Program program = text.toProgram();
          Vm vm = program.vm()) {
        System.out.println("callback " + vm.call("main", 7));
      }
      PackedFn.remove("golden.scale");
    }
  }

  private static void instrument(Vm vm, Tensor x) {
    int[] counts = new int[2];
    try (PackedFn count = PackedFn.of(args -> {
      ++counts[args[2].equals(true) ? 0 : 1];
      for (Object arg : args) if (arg instanceof Handle handle) handle.close();
      return null;
    })) {
      vm.setInstrument(count);
      vm.callTensor("main", x).close();
      vm.setInstrument(null);
    }
    System.out.println("instrument " + counts[0] + " before, " + counts[1] + " after");
  }

  private static void profile(Vm vm, Tensor x) {
    try (Profile profile = vm.profile("main", x);
        Report again = Report.fromJson(profile.report().write(ReportFormat.JSON))) {
      long adds = profile.report().operators().stream().filter(operator -> operator.name().equals("add")).count();
      System.out.println("profile " + profile.report().operators().size() + " rows, " + adds + " of add");
      System.out.println("trace " + profile.trace().callCount() + " calls, " + profile.trace().droppedCount() + " dropped");
      System.out.println("JSON " + again.operators().size() + " rows");
    }
  }

  public static void main(String[] args) {
    try (Program program = Program.load(Path.of(args[0]));
        Tensor x = Tensor.of(new float[] {0, 1, 2, 3}, 4);
        Vm vm = program.vm();
        Vm fresh = program.vm()) {
      System.out.println("module " + program.kind());
      run(vm, x);
      callBack();
      instrument(vm, x);
      profile(fresh, x); // without inputs that were set
    }
  }
}
