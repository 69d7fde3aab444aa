// Tests of sessions on another machine. args[0] is an artifact, args[1] the address of a server whose key is "board",
// args[2] the address of a tracker that has another server.
import io.opdyno.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

public final class WithSessions {
  private WithSessions() {}

  public static void main(String[] args) throws Exception {
    RpcConnectOptions key = RpcConnectOptions.create().key("board");
    First.failed(() -> RpcSession.connect(args[1]), OpdynoException.FailedPrecondition.class, "has another key");
    First.failed(() -> RpcSession.connect("nowhere"), OpdynoException.InvalidArgument.class, "is not an address");
    First.failed(() -> RpcSession.request("127.0.0.1:1", key), OpdynoException.Io.class, "127.0.0.1:1");
    First.failed(() -> RpcSession.trackerSummary("127.0.0.1:1", null), OpdynoException.Io.class, "127.0.0.1:1");
    WithRefusals.check(RpcSession.class, () -> RpcSession.connect(args[1], key));
    try (RpcSession session = RpcSession.connect(args[1], key)) {
      Device there = session.cpu();
      First.check(there.exists() && there.type() % 128 == 1 && there.type() >= 128, there.toString());
      First.check(Device.of(there.toString()).equals(there), there.toString());
      First.check(!session.device(new Device(8, 0)).exists(), "there is no Metal");
      session.upload("model.so", Files.readAllBytes(Path.of(args[0])));
      First.check(Arrays.equals(session.download("model.so"), Files.readAllBytes(Path.of(args[0]))), "what was sent comes back");
      try (Program program = session.loadProgram("model.so");
          Vm vm = program.vm(VmOptions.create().devices(there));
          Tensor here = Tensor.of(new float[] {1, 2, 3, 4}, 4);
          Tensor x = Tensor.create(there, here.dtype(), 4)) {
        here.copyTo(x);
        First.check(program.kind().equals("rpc") && vm.functions().equals(List.of("main")), vm.functions().toString());
        try (Tensor y = vm.callTensor("main", x)) {
          First.check(y.toString().contains(there.toString()), y.toString());
          First.check(Arrays.equals(y.toFloatArray(), new float[] {101, 102, 103, 104}), Arrays.toString(y.toFloatArray()));
        }
        First.failed(x::buffer, IllegalStateException.class, "does not lie on the CPU");
        vm.setInput("main", here);
        vm.invokeStateful("main");
        try (Tensor output = (Tensor) vm.output("main")) {
          First.check(Arrays.equals(output.toFloatArray(), new float[] {101, 102, 103, 104}), "in steps");
        }
        try (PackedFn main = vm.function("main");
            Evaluator evaluator = Evaluator.of(main, EvaluatorOptions.create().device(there).number(3).repeat(2));
            Benchmark times = evaluator.call(x)) {
          First.check(times.seconds().length == 2, "measured there");
        }
        try (Collector time = Collectors.time();
            Profile profile = vm.profile(ProfileOptions.create().collectors(time), "main", x)) {
          First.check(profile.report().columns(ReportSection.CALLS).contains("Wall time (us)"), "a profile made there");
        }
        CounterOptions unknown = CounterOptions.create().events("no-such-event").elsewhere(true);
        try (Collector perf = Collectors.of(CollectorKind.PERF, unknown)) {
          ProfileOptions options = ProfileOptions.create().collectors(perf);
          First.failed(() -> vm.profile(options, "main", x), OpdynoException.CallFailed.class, "no-such-event");
        }
        First.failed(() -> vm.call("nobody"), OpdynoException.NotFound.class, "nobody");
      }
      try (PackedFn list = session.function("tvm.rpc.server.listdir")) {
        First.check(list.call(".").equals("model.so"), "the session's files");
        First.check(session.describe().contains("\"absence\":\"\""), session.describe());
        session.disconnect();
        First.failed(() -> list.call("."), OpdynoException.Io.class, "it was closed");
      }
      First.failed(() -> session.function("nobody"), OpdynoException.Io.class, "it was closed");
    }
    try (RpcSession session = RpcSession.request(args[2], key); PackedFn list = session.function("tvm.rpc.server.listdir")) {
      First.check(list.call(".").equals(""), "a session of its own");
      First.check(session.describe().contains("\"key\":\"board\""), session.describe());
      String summary = RpcSession.trackerSummary(args[2], null);
      First.check(summary.contains("\"key\":\"server:board\""), summary);
    }
    interrupted(args[1], key);
    System.out.println("ok");
  }

  private static void interrupted(String address, RpcConnectOptions key) throws Exception {
    String source = "#include <stdint.h>\n#include <unistd.h>\n"
        + "int __tvm_ffi_wait(void *self, const void *args, int32_t n, void *result) { sleep(1); return 0; }\n";
    try (RpcSession session = RpcSession.connect(address, key)) {
      session.upload("wait.c", source.getBytes(StandardCharsets.UTF_8));
      try (Program program = session.loadProgram("wait.c"); PackedFn wait = program.function("wait")) {
        Thread me = Thread.currentThread();
        Thread other = new Thread(() -> {
          try {
            Thread.sleep(100);
          } catch (InterruptedException e) {
            return;
          }
          me.interrupt();
        });
        other.start();
        First.failed(wait::call, OpdynoException.Cancelled.class, "in wait");
        First.check(Thread.interrupted(), "the thread is interrupted still");
        other.join();
      }
      First.check(session.describe().contains("\"absence\":\"\""), "the session goes on");
    }
  }
}
