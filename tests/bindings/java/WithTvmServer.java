// Tests of a session with a TVM server, which does not know opdyno. args[0] is the directory of the artifacts, args[1]
// the address of the server, whose key is "board".
import io.opdyno.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

public final class WithTvmServer {
  private WithTvmServer() {}

  public static void main(String[] args) throws Exception {
    Path artifacts = Path.of(args[0]);
    RpcConnectOptions key = RpcConnectOptions.create().key("board");
    First.failed(() -> RpcSession.connect(args[1]), OpdynoException.FailedPrecondition.class, "has another key");
    try (RpcSession session = RpcSession.connect(args[1], key)) {
      First.check(session.describe().contains("\"server\":\"tvm\""), session.describe());
      Device there = session.cpu();
      First.check(there.exists() && !session.device(new Device(8, 0)).exists(), "a CPU, but no Metal");
      for (String name : new String[] {"kernels.so", "chain_100.so", "tuples.so"}) session.upload(name, Files.readAllBytes(artifacts.resolve(name)));
      session.upload("file", "content".getBytes(StandardCharsets.UTF_8));
      First.check(Arrays.equals(session.download("file"), "content".getBytes(StandardCharsets.UTF_8)), "what was sent comes back");
      kernels(session, there);
      program(session, there);
      tuples(session, there);
      First.failed(() -> session.function("nobody"), OpdynoException.NotFound.class, "no global function");
      First.check(session.describe().contains("\"absence\":\"\""), "after all errors the session goes on");
    }
    System.out.println("ok");
  }

  private static Tensor sent(Device there, float[] elements) {
    try (Tensor here = Tensor.of(elements, elements.length)) {
      return here.to(there);
    }
  }

  private static void kernels(RpcSession session, Device there) {
    try (Program kernels = session.loadProgram("kernels.so");
        PackedFn add = kernels.function("vector_add");
        Tensor x = sent(there, new float[16]);
        Tensor y = sent(there, new float[16]);
        Tensor z = sent(there, new float[16])) {
      float[] numbers = new float[16];
      for (int i = 0; i < 16; ++i) numbers[i] = i;
      try (Tensor here = Tensor.of(numbers, 16)) {
        here.copyTo(x);
        here.copyTo(y);
      }
      add.call(x, y, z);
      for (int i = 0; i < 16; ++i) numbers[i] = 2 * i;
      First.check(Arrays.equals(z.toFloatArray(), numbers), Arrays.toString(z.toFloatArray()));
      First.failed(() -> add.call(x, y), OpdynoException.CallFailed.class, "Expected 3 arguments");
      First.failed(() -> kernels.function("nobody"), OpdynoException.NotFound.class, "nobody");
    }
  }

  private static void program(RpcSession session, Device there) {
    float[] expected = {101, 102, 103, 104};
    try (Program program = session.loadProgram("chain_100.so");
        Vm vm = program.vm(VmOptions.create().devices(there));
        Tensor x = sent(there, new float[] {1, 2, 3, 4})) {
      try (Tensor y = vm.callTensor("main", x)) {
        First.check(y.device().equals(there) && Arrays.equals(y.toFloatArray(), expected), Arrays.toString(y.toFloatArray()));
      }
      try (Tensor here = Tensor.of(new float[] {1, 2, 3, 4}, 4)) {
        vm.setInput("main", here);
      }
      vm.invokeStateful("main");
      try (Tensor output = (Tensor) vm.output("main")) {
        First.check(Arrays.equals(output.toFloatArray(), expected), "in steps");
      }
      First.failed(() -> vm.call("nobody"), OpdynoException.NotFound.class, "nobody");
      First.failed(() -> vm.call("main"), OpdynoException.class, "main");
      try (PackedFn main = vm.function("main");
          Evaluator evaluator = Evaluator.of(main, EvaluatorOptions.create().device(there).number(3).repeat(2));
          Benchmark times = evaluator.call(x)) {
        First.check(times.seconds().length == 2 && times.seconds()[0] > 0 && times.seconds()[0] < 1, Arrays.toString(times.seconds()));
      }
    }
  }

  private static void tuples(RpcSession session, Device there) {
    try (Program program = session.loadProgram("tuples.so");
        Vm vm = program.vm(VmOptions.create().devices(there));
        Tensor x = sent(there, new float[] {1, 2, 3, 4})) {
      Object[] inputs = new Object[vm.parameters("nested").size()];
      Arrays.fill(inputs, x);
      try (ValueList result = (ValueList) vm.call("nested", inputs)) {
        First.check(result.size() > 1, result.toString());
      }
    }
  }
}
