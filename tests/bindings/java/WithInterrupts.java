// Tests that Thread.interrupt() cancels calls.
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
    onVirtualThread();
    otherDefault();
    failedLook();
  }

  /** Two virtual threads call in turns. They may share a native thread. Java has virtual threads since Java 21. */
  private static void onVirtualThread() throws Exception {
    if (Runtime.version().feature() < 21) return;
    Throwable[] failed = {null};
    for (int i = 0; i < 2; ++i) {
      Runnable run = () -> {
        try {
          interrupted();
        } catch (Throwable e) {
          failed[0] = e;
        }
      };
      ((Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, run)).join();
    }
    if (failed[0] != null) throw new AssertionError(failed[0]);
  }

  /**
   * If the program sets a default token, this token cancels functions. Both it and an interrupt cancel calls of a VM.
   */
  private static void otherDefault() throws Exception {
    Thread me = Thread.currentThread();
    try (CancelToken token = CancelToken.create();
        PackedFn interrupts = PackedFn.of(args -> { me.interrupt(); return 1L; });
        PackedFn cancels = PackedFn.of(args -> { token.cancel(); return 1L; })) {
      interrupts.register("test.interrupts");
      cancels.register("test.cancels");
      CancelToken.setDefault(token);
      try (Executable executable = Executable.assemble(loop("interrupts") + loop("cancels"));
          Program program = executable.toProgram();
          Vm vm = program.vm();
          PackedFn bound = vm.function("cancels")) {
        First.failed(() -> vm.call("interrupts"), OpdynoException.Cancelled.class, "");
        First.check(Thread.interrupted(), "the thread is interrupted still");
        for (Runnable way : List.<Runnable>of(() -> vm.call("cancels"), bound::call)) {
          First.failed(way, OpdynoException.Cancelled.class, "");
          token.reset();
        }
      } finally {
        CancelToken.setDefault(null);
        PackedFn.remove("test.interrupts");
        PackedFn.remove("test.cancels");
      }
    }
  }

  private static String loop(String name) {
    return ".func " + name + "() {\nagain:\n  %x = call test." + name + "()\n  goto again\n}\n";
  }

  /** If the poll of one thread fails, the other threads are still polled. */
  private static void failedLook() throws Exception {
    Class<?> kind = Class.forName("io.opdyno.Interrupts$Running"), area = Class.forName("io.opdyno.Area");
    Method ofThread = area.getDeclaredMethod("get"), get = area.getDeclaredMethod("running"), list = kind.getDeclaredMethod("list");
    for (Method method : List.of(ofThread, get, list)) method.setAccessible(true);
    Thread broken = new Thread(() -> {
      try {
        Object running = get.invoke(ofThread.invoke(null));
        list.invoke(running);
        Field token = kind.getDeclaredField("token"), depth = kind.getDeclaredField("depth");
        token.setAccessible(true);
        depth.setAccessible(true);
        ((CancelToken) token.get(running)).close(); // each poll of this thread throws
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

  /** Runs an empty program with the token. Returns whether the result is null. */
  private static boolean nothing(CancelToken token) {
    try (Executable executable = Executable.assemble(".func main() {\n  ret %void\n}");
        Program program = executable.toProgram();
        Vm vm = program.vm()) {
      return vm.call(CallOptions.create().cancel(token), "main") == null;
    }
  }

  /** Makes a call that runs until it is interrupted. */
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
      Vm vm, other;
      try (Executable executable = Executable.assemble(loop);
          Program program = executable.toProgram()) {
        vm = program.vm();
        other = program.vm();
      }
      try (vm; other; PackedFn main = vm.function("main");
          CancelToken own = CancelToken.create();
          PackedFn nested = PackedFn.of(args -> vm.call("main"));
          Evaluator evaluator = Evaluator.of(main, EvaluatorOptions.create().number(1).repeat(1));
          Evaluator within = Evaluator.of(nested, EvaluatorOptions.create().number(1).repeat(1))) {
        List<Runnable> ways = List.of(() -> vm.call("main"), () -> vm.callTensor("main"), () -> vm.invokeClosure(main), evaluator::call, within::call,
            () -> vm.profile("main"), () -> vm.compare(other, null, "main"), nested::call, () -> vm.call(CallOptions.create().timeout(Duration.ofDays(1)), "main"),
            main::call, () -> main.callLong(), () -> main.call(new Object[0]),
            () -> vm.call(CallOptions.create().cancel(own), "main"), () -> vm.invokeClosure(CallOptions.create().cancel(own), main));
        for (Runnable way : ways) {
          calls[0] = 0;
          First.failed(way, OpdynoException.Cancelled.class, "");
          First.check(calls[0] >= 3 && Thread.interrupted(), "the thread is interrupted still, after " + calls[0]);
        }
        First.check(nothing(own), "a token of the program is left as it was");
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
