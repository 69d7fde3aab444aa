// What calls cost from Java. Speaks as harness.cc --serve does: args[0] is the library of kernels.c.
import io.opdyno.*;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;

public final class Calls {
  private static final long BATCH_NS = 1_000_000;
  private static final int WARM = 50_000;
  private static long sum; // keeps results from being of no use

  private static long batch(Runnable call, int count) {
    long begin = System.nanoTime();
    for (int i = 0; i < count; ++i) call.run();
    return System.nanoTime() - begin;
  }

  /** Nanoseconds a call: the median of five batches. */
  private static double sample(Runnable call) {
    int count = 1;
    while (batch(call, count) < BATCH_NS) count *= 2;
    double[] times = new double[5];
    for (int i = 0; i < times.length; ++i) times[i] = (double) batch(call, count) / count;
    Arrays.sort(times);
    return times[2];
  }

  public static void main(String[] args) throws IOException {
    Program kernels = Program.load(Path.of(args[0]));
    PackedFn nop = kernels.function("nop"), echo = kernels.function("echo");
    PackedFn twice = PackedFn.of(PackedFunction.ofLong(x -> 2 * x));
    nop.register("opdyno.bench.java.nop");
    Vm vm = Executable.assemble(".func main(a) {\n  call opdyno.bench.java.nop(%a)\n  ret %void\n}").toProgram().vm();
    PackedFn main = vm.function("main");
    Tensor x = Tensor.of(new float[16], 16);
    Map<String, Runnable> rows = new LinkedHashMap<>();
    rows.put("java_nop", nop::call);
    rows.put("java_echo_long", () -> sum += echo.callLong(1L << 40));
    rows.put("java_echo_tensor", () -> ((Tensor) echo.call(x)).close());
    rows.put("java_lambda", () -> sum += twice.callLong(5));
    rows.put("java_vm", () -> main.call(x));
    rows.forEach((name, call) -> System.out.println(name + " ns"));
    System.out.println();
    BufferedReader names = new BufferedReader(new InputStreamReader(System.in));
    for (String name; (name = names.readLine()) != null; ) {
      Runnable call = rows.get(name.strip());
      if (call == null) {
        System.out.println("! there is no row " + name);
        continue;
      }
      batch(call, WARM);
      System.out.println(sample(call));
    }
  }
}
