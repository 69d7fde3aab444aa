// The scenario of golden.c in Java.
import io.opdyno.*;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

public final class Golden {
  /** The elements of a tensor. For a matrix, the index of the largest element in each row. */
  private static String show(Tensor tensor) {
    float[] values = tensor.toFloatArray();
    int rows = (int) tensor.shape()[0], columns = values.length / rows;
    return IntStream.range(0, rows)
        .mapToObj(row -> columns == 1 ? String.format("%.0f", values[row]) : String.valueOf(largest(values, row * columns, columns)))
        .collect(Collectors.joining(" "));
  }

  private static int largest(float[] values, int first, int count) {
    int largest = 0;
    for (int i = 1; i < count; ++i) if (values[first + i] > values[first + largest]) largest = i;
    return largest;
  }

  private static void run(Vm vm, Object... args) {
    System.out.println("functions " + String.join(" ", vm.functions()));
    System.out.println("parameters " + String.join(" ", vm.parameters("main")));
    try (Tensor y = vm.callTensor("main", args)) {
      System.out.println("result " + show(y));
    }
    vm.setInput("main", args);
    vm.invokeStateful("main");
    try (Tensor y = (Tensor) vm.output("main")) {
      System.out.println("stateful " + show(y));
    }
    try {
      vm.call("mian", args);
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

  private static void instrument(Vm vm, Object... args) {
    int[] counts = new int[2];
    try (PackedFn count = PackedFn.of(seen -> {
      ++counts[seen[2].equals(true) ? 0 : 1];
      for (Object arg : seen) if (arg instanceof Handle handle) handle.close();
      return null;
    })) {
      vm.setInstrument(count);
      vm.callTensor("main", args).close();
      vm.setInstrument(null);
    }
    System.out.println("instrument " + counts[0] + " before, " + counts[1] + " after");
  }

  private static void profile(Vm vm, String name, Object... args) {
    try (Profile profile = vm.profile("main", args);
        Report again = Report.fromJson(profile.report().write(ReportFormat.JSON))) {
      long calls = profile.report().operators().stream().filter(operator -> operator.name().equals(name)).count();
      System.out.println("profile " + profile.report().operators().size() + " rows, " + calls + " of " + name);
      System.out.println("trace " + profile.trace().callCount() + " calls, " + profile.trace().droppedCount() + " dropped");
      System.out.println("JSON " + again.operators().size() + " rows");
    }
  }

  private static void show(Program program, String name, Object... args) {
    try (Vm vm = program.vm();
        Vm fresh = program.vm()) {
      System.out.println("module " + program.kind());
      run(vm, args);
      instrument(vm, args);
      profile(fresh, name, args); // a new VM, whose inputs are not set
    }
  }

  private static void showArtifact(Path path) {
    try (Program program = Program.load(path);
        Tensor x = Tensor.of(new float[] {0, 1, 2, 3}, 4)) {
      show(program, "add", x);
    }
  }

  private static Tensor images(Path path) {
    try (Params heldOut = Params.open(path);
        Tensor pixels = heldOut.get("images")) {
      byte[] from = pixels.toBytes();
      float[] scaled = new float[20 * 8 * 8];
      for (int i = 0; i < scaled.length; ++i) scaled[i] = from[i] / 16f;
      return Tensor.of(scaled, 20, 8, 8, 1);
    }
  }

  private static void showDigits(Path directory) throws IOException {
    try (Executable text = Executable.assemble(Files.readString(directory.resolve("digits.opdasm")));
        Program program = text.toProgram();
        Program kernels = Program.load(directory.resolve("kernels.c"));
        Params trained = Params.open(directory.resolve("data/digits.params"))) {
      program.addImport(kernels);
      List<Tensor> args = new ArrayList<>(List.of(images(directory.resolve("data/digits_test.npz"))));
      for (String name : trained.names()) args.add(trained.get(name));
      show(program, "conv2d", args.toArray());
      args.forEach(Tensor::close);
    }
  }

  public static void main(String[] args) throws IOException {
    showArtifact(Path.of(args[0]));
    callBack();
    showDigits(Path.of(args[1]));
  }
}
