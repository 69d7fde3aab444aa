// Thread.interrupt() ends calls.
import io.opdyno.*;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.List;

final class WithInterrupts {
  private static volatile boolean isDone;

  private WithInterrupts() {}

  static void run() throws Exception {
    interrupted();
    failedLook();
  }

  /** What goes wrong while the interrupts of one thread are looked at does not end this for the others. */
  private static void failedLook() throws Exception {
    Class<?> kind = Class.forName("io.opdyno.Interrupts$Running");
    Method ofThread = kind.getDeclaredMethod("ofThread"), list = kind.getDeclaredMethod("list");
    ofThread.setAccessible(true);
    list.setAccessible(true);
    Thread broken = new Thread(() -> {
      try {
        Object running = ofThread.invoke(null);
        list.invoke(running);
        Field token = kind.getDeclaredField("token"), depth = kind.getDeclaredField("depth");
        token.setAccessible(true);
        depth.setAccessible(true);
        ((CancelToken) token.get(running)).close(); // each look at this thread throws
        depth.set(running, 1);
        Thread.currentThread().interrupt();
        while (!isDone) Thread.onSpinWait();
      } catch (ReflectiveOperationException e) {
        throw new AssertionError(e);
      }
    });
    broken.start();
    try {
      while (!broken.isInterrupted()) Thread.onSpinWait();
      interrupted();
      interrupted();
    } finally {
      isDone = true;
    }
    broken.join();
  }

  /** A call that would go on until it is interrupted. */
  static void interrupted() throws Exception {
    Thread me = Thread.currentThread();
    int[] calls = {0};
    try (PackedFn again = PackedFn.of(args -> {
          if (++calls[0] == 3) me.interrupt();
          if (calls[0] > 100_000_000) throw new First.Refused("nobody ended the call");
          return 1L;
        })) {
      again.register("test.methods.again");
      String loop = ".func main() {\nagain:\n  %x = call test.methods.again()\n  goto again\n}";
      Vm vm;
      try (Executable executable = Executable.assemble(loop);
          Program program = executable.toProgram()) {
        vm = program.vm();
      }
      try (vm; PackedFn main = vm.function("main");
          PackedFn nested = PackedFn.of(args -> vm.call("main"));
          Evaluator evaluator = Evaluator.of(main, EvaluatorOptions.create().number(1).repeat(1));
          Evaluator within = Evaluator.of(nested, EvaluatorOptions.create().number(1).repeat(1))) {
        List<Runnable> ways = List.of(() -> vm.call("main"), () -> vm.callTensor("main"), () -> vm.invokeClosure(main), evaluator::call, within::call,
            () -> vm.profile("main"), nested::call, () -> vm.call(CallOptions.create().timeout(Duration.ofDays(1)), "main"));
        for (Runnable way : ways) {
          calls[0] = 0;
          First.failed(way, OpdynoException.Cancelled.class, "");
          First.check(calls[0] >= 3 && Thread.interrupted(), "the thread is interrupted still, after " + calls[0]);
        }
      } finally {
        Native.opd_function_remove_global("test.methods.again");
      }
    }
    try (Executable executable = Executable.assemble(".func main(x) {\n  ret %x\n}");
        Program program = executable.toProgram();
        Vm after = program.vm()) {
      First.check(after.call("main", 5).equals(5L), "calls go on");
      try (PackedFn main = after.function("main")) {
        First.check(main.call(5).equals(5L), "no token is left to the thread");
      }
    }
  }
}
