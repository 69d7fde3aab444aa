// Tests the basic functions: loads an artifact of TVM (args[0]), calls it, calls back into Java, gets errors, closes
// everything. Also has helpers of the other tests.
import static io.opdyno.Native.*;
import static io.opdyno.Out.take;

import java.lang.ref.WeakReference;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import io.opdyno.*;

public final class First {
  static final class Refused extends Exception {
    private static final long serialVersionUID = 1;

    Refused(String message) {
      super(message);
    }
  }

  public static void main(String[] args) throws Exception {
    long live = liveBytes();
    try (Program module = take(out -> opd_module_load(Path.of(args[0]), null, out));
        Vm vm = take(out -> opd_vm_create(module, null, out));
        Tensor x = Tensor.of(new float[] {1, 2, 3, -4.5f}, 4)) {
      Object[] input = {x};
      try (Tensor y = (Tensor) Out.<Object>take(out -> opd_vm_call(vm, "main", input, null, out))) {
        check(Arrays.equals(y.toFloatArray(), new float[] {101, 102, 103, 95.5f}), "main adds 100");
        check(Arrays.equals(y.shape(), new long[] {4}), "its result has the input's shape");
      }
      error(() -> opd_vm_call(vm, "mian", input, null, new Out<>()), Code.NOT_FOUND, "main");
      error(() -> opd_vm_call(vm, "main", new Object[0], null, new Out<>()), Code.INVALID_ARGUMENT, "main");
    }
    check(liveBytes() == live, "close() ends all tensors and the constants of the program");
    callbacks();
    closedWhileUsed();
    nulls(args[0]);
    WithOptions.run(args[0]);
    WithCollectors.run(args[0]);
    WithStacks.run(args[0]);
    WithLoans.run();
    WithCalls.run();
    WithChanges.run();
    inDirectory(directory -> WithMethods.run(Path.of(args[0]), directory));
    WithInterrupts.run();
    inDirectory(WithMachine::run);
    WithPointers.run();
    inDirectory(WithParams::run);
    WithMemory.run();
    WithSizes.run();
    inDirectory(directory -> WithPrograms.run(Path.of(args[0]), directory));
    inDirectory(WithRecordings::run);
    inDirectory(WithJvm::run);
    WithEdges.run();
    WithEqual.run();
    WithKvStates.run(Path.of(args[0]));
    WithCompared.run();
    WithReplays.run();
    WithTelemetry.run();
    WithRefusals.run();
    causes();
    chain();
    Program gone = take(out -> opd_module_load(Path.of(args[0]), null, out));
    gone.close();
    gone.close();
    check(thrown(() -> opd_vm_create(gone, null, new Out<>())) instanceof IllegalStateException, "closed handles are refused");
    System.out.println("ok");
  }

  interface Use {
    void use(Path directory) throws Exception;
  }

  /** Runs the use with a temporary directory, which is then removed with its files. */
  static void inDirectory(Use use) throws Exception {
    Path directory = Files.createTempDirectory("opdyno");
    try {
      use.use(directory);
    } finally {
      try (var files = Files.list(directory)) {
        for (Path file : files.toList()) Files.delete(file);
      }
      Files.delete(directory);
    }
  }

  static long liveBytes() {
    return Out.<MemoryStats>take(out -> opd_memory_get_stats(Device.CPU, out)).liveBytes();
  }

  /** A Java function catches an error and throws another one with the first as its cause. */
  static void causes() {
    String program = ".func main() {\n  %0 = call test.causes()\n  ret %0\n}";
    try (PackedFn failing =
        take(out -> opd_function_create(a -> { throw new Refused("the reason"); }, out))) {
      opd_function_register("test.causes", failing, 1);
      try (Executable executable = take(out -> opd_executable_assemble(program.getBytes(java.nio.charset.StandardCharsets.UTF_8), out));
          Program module = take(out -> opd_executable_to_module(executable, out));
          Vm vm = take(out -> opd_vm_create(module, null, out))) {
        Throwable thrown = thrown(() -> opd_vm_call(vm, "main", new Object[0], null, new Out<>()));
        check(thrown instanceof Refused && thrown.getMessage().equals("the reason"), "what was thrown comes out: " + thrown);
        OpdynoException error = (OpdynoException) thrown.getSuppressed()[0];
        check(error.code() == Code.CALL_FAILED && error.getMessage().contains("test.causes"), "with the error: " + error);
        OpdynoException cause = (OpdynoException) error.getCause();
        check(cause.kind().equals("Refused") && cause.getMessage().equals("the reason"), "and its cause: " + cause);
        check(cause.code() == Code.CALL_FAILED && cause.getCause() == null, "of its own code");
      } finally {
        opd_function_remove_global("test.causes");
      }
    }
    chosen();
    check(thrown(() -> opd_map_create(new Object[] {"key", 1, "no value"}, new Out<>())) instanceof IllegalArgumentException, "an odd number of items");
  }

  /** A Java function throws an error with a code that it chooses. Code in other languages sees this code. */
  static void chosen() {
    OpdynoException own = OpdynoException.of(Code.OUT_OF_RANGE, "IndexError", "größer"), usual = OpdynoException.of(Code.NOT_FOUND, "", "nothing");
    check(own instanceof OpdynoException.OutOfRange && own.kind().equals("IndexError") && own.getMessage().equals("größer"), "" + own);
    check(usual instanceof OpdynoException.NotFound && usual.kind().equals("LookupError") && usual.getCause() == null, "" + usual);
    try (PackedFn fails = PackedFn.of(args -> { throw own; }); PackedFn passes = PackedFn.of(args -> fails.call())) {
      check(thrown(passes::call) == own, "it comes out as itself");
      OpdynoException seen = (OpdynoException) own.getSuppressed()[0];
      check(own.getSuppressed().length == 1 && seen.code() == Code.OUT_OF_RANGE && seen.kind().equals("IndexError"), "" + seen);
      check(seen.getMessage().equals("größer"), "" + seen);
    }
  }

  private static final String CAUSES = """
      #include <stddef.h>
      #include <stdint.h>
      typedef struct { const char *data; size_t size; } Text;
      extern int TVMFFIErrorCreateWithCauseAndExtraContext(const Text *kind, const Text *message, const Text *backtrace,
                                                           void *cause, void *extra, void **out);
      extern void TVMFFIErrorSetRaised(void *error);
      extern int TVMFFIObjectDecRef(void *object);
      int __tvm_ffi_fails(void *self, const void *args, int32_t n, void *result) {
        static const Text kinds[] = {{"IndexError", 10}, {"KeyError", 8}, {"ValueError", 10}}, none = {"", 0};
        static const Text messages[] = {{"no place", 8}, {"no key", 6}, {"no model", 8}};
        void *error = NULL;
        for (int i = 0; i < 3; ++i) {
          void *cause = error;
          if (TVMFFIErrorCreateWithCauseAndExtraContext(&kinds[i], &messages[i], &none, cause, NULL, &error)) return -1;
          if (cause) TVMFFIObjectDecRef(cause);
        }
        TVMFFIErrorSetRaised(error);
        TVMFFIObjectDecRef(error);
        return -1;
      }
      """;

  /** Errors of C code with causes. Each has its kind and the code that errors of functions have. */
  static void chain() {
    try (Program c = WithPointers.compile(CAUSES); PackedFn fails = c.function("fails")) {
      List<String> seen = new ArrayList<>();
      for (Throwable each = thrown(fails::call); each != null; each = each.getCause()) {
        OpdynoException error = (OpdynoException) each;
        seen.add(error.code() + " " + error.kind() + ": " + error.getMessage());
      }
      check(seen.equals(List.of("CALL_FAILED ValueError: no model", "CALL_FAILED KeyError: no key", "CALL_FAILED IndexError: no place")), "" + seen);
    }
  }

  static void callbacks() {
    try (PackedFn join = take(out -> opd_function_create(First::join, out));
        PackedFn refuse = take(out -> opd_function_create(a -> { throw new Refused("not " + a[0]); }, out))) {
      Object[] values = {"größer 😀", 7, 2.5, true, null, new byte[] {0, 1}, new long[] {2, 3}, List.of("a", 1L)};
      Object joined = take(out -> opd_function_call(join, values, out));
      check(joined.equals("größer 😀 7 2.5 true null [0, 1] [2, 3] [a, 1]"), "values cross: " + joined);
      PackedFunction twice = a -> 2 * (Long) a[0];
      try (PackedFn inner = (PackedFn) Out.<Object>take(out -> opd_function_call(join, new Object[] {twice}, out))) {
        check(take((Out<Object> out) -> opd_function_call(inner, new Object[] {21}, out)).equals(42L), "a lambda is a value");
      }
      Throwable crossed = thrown(() -> opd_function_call(refuse, new Object[] {"now"}, new Out<>()));
      check(crossed instanceof Refused && crossed.getMessage().equals("not now"), "an exception comes out as itself");
      RuntimeException again = new RuntimeException("again"), other = new RuntimeException("other");
      again.addSuppressed(other);
      try (PackedFn inner = PackedFn.of(a -> { throw again; }); PackedFn outer = PackedFn.of(a -> inner.call())) {
        for (int i = 0; i < 3; ++i) check(thrown(outer::call) == again, "it comes out as itself each time");
      }
      Throwable[] suppressed = again.getSuppressed();
      check(suppressed.length == 2 && suppressed[0] == other && suppressed[1] instanceof OpdynoException, "with one error: " + suppressed.length);
      OpdynoException native_ = (OpdynoException) crossed.getSuppressed()[0];
      check(native_.kind().equals("Refused") && native_.code() == Code.CALL_FAILED, "with its error: " + native_);
    }
  }

  static void closedWhileUsed() {
    PackedFn[] self = new PackedFn[1];
    self[0] = take(out -> opd_function_create(a -> {
      self[0].close();
      return "still here";
    }, out));
    Object result = take(out -> opd_function_call(self[0], null, out));
    check(result.equals("still here"), "a call keeps the handle that is closed meanwhile");
    check(thrown(() -> opd_function_call(self[0], null, new Out<>())) instanceof IllegalStateException, "once only");
  }

  /** Only arguments that may be NULL by the headers accept null. */
  static void nulls(String path) throws Exception {
    byte[] library = Files.readAllBytes(Path.of(path));
    try (Program module = take(out -> opd_module_load_bytes(library, null, null, out));
        Vm vm = take(out -> opd_vm_create(module, null, out))) {
      opd_vm_set_instrument(vm, null);
      refused("module", () -> opd_vm_create(null, null, new Out<>()));
      refused("name", () -> opd_vm_call(vm, null, null, null, new Out<>()));
      refused("vm", () -> opd_vm_has_function(null, "main"));
    }
  }

  static void refused(String what, Runnable call) {
    Throwable thrown = thrown(call);
    check(thrown instanceof NullPointerException && thrown.getMessage().equals(what + " must not be null"), "null: " + thrown);
  }

  /** Joins all values as text. A single function is returned unchanged. */
  static Object join(Object... values) {
    if (values.length == 1 && values[0] instanceof PackedFn) return values[0];
    StringBuilder text = new StringBuilder();
    for (Object value : values) {
      if (value instanceof ValueList list) {
        value = items(list);
        list.close();
      }
      text.append(value instanceof byte[] b ? Arrays.toString(b) : value instanceof long[] l ? Arrays.toString(l) : value);
      text.append(' ');
    }
    return text.toString().strip();
  }

  static List<Object> items(ValueList list) {
    List<Object> items = new ArrayList<>();
    for (int i = 0; i < opd_array_count(list); ++i) {
      int index = i;
      items.add(take(out -> opd_array_get(list, index, out)));
    }
    return items;
  }

  /** Waits until no native code holds the object. */
  static void awaitEnd(WeakReference<?> reference, String what) {
    collectUntil(() -> reference.get() == null);
    check(reference.get() == null, what + " ends");
  }

  /**
   * Runs the garbage collector until the condition holds. A thread releases dropped objects, and may wait for a
   * processor.
   */
  static void collectUntil(BooleanSupplier isDone) {
    for (int i = 0; i < 6000 && !isDone.getAsBoolean(); ++i) {
      System.gc();
      LockSupport.parkNanos(5_000_000);
    }
  }

  static void error(Runnable call, Code code, String part) {
    Throwable thrown = thrown(call);
    check(thrown instanceof OpdynoException e && e.code() == code && e.getMessage().contains(part), code + ": " + thrown);
    System.out.println(thrown);
  }

  /** Returns the exception of the call. Checks its class, and that its message contains the text. */
  static <T extends Throwable> T failed(Runnable call, Class<T> kind, String part) {
    Throwable thrown = thrown(call);
    check(kind.isInstance(thrown) && String.valueOf(thrown.getMessage()).contains(part), kind + " with " + part + ", not " + thrown);
    return kind.cast(thrown);
  }

  static Throwable thrown(Runnable call) {
    try {
      call.run();
      return null;
    } catch (Throwable thrown) {
      return thrown;
    }
  }

  static void check(boolean good, String what) {
    if (!good) throw new AssertionError(what);
  }
}
