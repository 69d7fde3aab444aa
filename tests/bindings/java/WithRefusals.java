// Tests of all public methods with closed handles and null: they are refused with the parameter's name, unless null is
// allowed.
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.ByteBuffer;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import io.opdyno.*;

final class WithRefusals {
  /** Functions that make a handle of each class. */
  private static final Map<Class<?>, Supplier<Handle>> MAKERS = new LinkedHashMap<>();

  static {
    String assembly = ".func main(x) {\n  ret %x\n}";
    Supplier<Executable> executable = () -> Executable.assemble(assembly);
    MAKERS.put(Executable.class, executable::get);
    MAKERS.put(Program.class, () -> {
      try (Executable made = executable.get()) {
        return made.toProgram();
      }
    });
    MAKERS.put(Vm.class, () -> {
      try (Executable made = executable.get(); Program program = made.toProgram()) {
        return program.vm();
      }
    });
    MAKERS.put(PackedFn.class, () -> PackedFn.of(args -> args.length == 0 ? null : args[0]));
    MAKERS.put(Closure.class, () -> {
      try (PackedFn code = PackedFn.of(args -> 1)) {
        return Closure.of(code, "i32()");
      }
    });
    MAKERS.put(Tensor.class, () -> Tensor.of(new float[] {1}, 1));
    MAKERS.put(ValueList.class, () -> ValueList.of(1, 2));
    MAKERS.put(ValueMap.class, () -> (ValueMap) Out.<Object>take(out -> Native.opd_function_call((PackedFn) of(PackedFn.class), new Object[] {Map.of("a", 1)}, out)));
    MAKERS.put(Params.class, Params::create);
    MAKERS.put(Report.class, () -> Report.fromJson("{\"calls\": [], \"device_metrics\": {}, \"configuration\": {}}"));
    MAKERS.put(ReportBuilder.class, () -> ReportBuilder.create().addCall());
    MAKERS.put(Profiler.class, () -> Profiler.create());
    MAKERS.put(Trace.class, () -> {
      try (Profiler profiler = Profiler.create()) {
        profiler.start();
        return profiler.stop();
      }
    });
    MAKERS.put(Collector.class, Collectors::time);
    MAKERS.put(CancelToken.class, CancelToken::create);
    MAKERS.put(Evaluator.class, () -> Evaluator.of((PackedFn) of(PackedFn.class)));
    MAKERS.put(Benchmark.class, () -> Benchmark.ofSeconds(1));
    MAKERS.put(Telemetry.class, () -> Telemetry.start(null));
    MAKERS.put(KvState.class, () -> {
      try (PackedFn kernel = PackedFn.of(args -> null); PackedFn create = PackedFn.global("vm.builtin.rnn_state_create"); Tensor initial = Tensor.of(new float[] {0.5f}, 1);
          Handle made = (Handle) create.call(1, 3, 4, List.of(kernel), List.of(kernel), List.of(initial))) {
        return KvState.of(made);
      }
    });
  }

  /** Parameters that may be null, in all methods or in one. Other parameters refuse null with their name. */
  private static final Set<String> OPTIONAL = Set.of(
      "options", "args", "items", "shape", "reports", "key", "value", "token", "callback", "instrument", "prefix", "keepAlive",
      "Program.load name", "Program.function name", "Program.source format", "Program.save format", "PackedFn.ofPointer name", "Vm.output path", "Vm.outputArity path",
      "ReportBuilder.setDevice device", "Range.open name", "Range.push name", "Range.mark name",
      "Telemetry.setParent traceparent", "KvState.begin parents");

  /**
   * Classes that are not tested here: the base class, a class that Java values replace, and the class that WithSessions
   * tests.
   */
  private static final Set<Class<?>> OTHERS = Set.of(Handle.class, Shape.class, RpcSession.class);

  private WithRefusals() {}

  private static Handle of(Class<?> kind) {
    return MAKERS.get(kind).get();
  }

  static void run() throws Exception {
    for (Class<?> kind : classes())
      First.check(!Handle.class.isAssignableFrom(kind) || MAKERS.containsKey(kind) || OTHERS.contains(kind), kind + " is tried");
    int methods = 0;
    for (Class<?> kind : MAKERS.keySet()) methods += closed(kind);
    First.check(methods > 100, methods + " methods of handles");
    int nulls = 0;
    for (Class<?> kind : MAKERS.keySet()) nulls += nulls(kind);
    for (Class<?> kind : List.of(Opdyno.class, Device.class, DType.class, Collectors.class, Range.class, Metric.class, Gauges.class, FlightEvents.class, OpdynoException.class)) nulls += nulls(kind);
    First.check(nulls > 100, nulls + " parameters");
  }

  /** Tests one class. WithSessions calls this for a class that needs another process. */
  static void check(Class<?> kind, Supplier<Handle> maker) throws Exception {
    MAKERS.put(kind, maker);
    First.check(closed(kind) > 5 && nulls(kind) > 5, kind + " has methods");
  }

  /** The public classes of the package. */
  private static List<Class<?>> classes() throws Exception {
    List<Class<?>> found = new ArrayList<>();
    Path packageClasses = Path.of(Handle.class.getProtectionDomain().getCodeSource().getLocation().toURI()).resolve("io/opdyno");
    try (DirectoryStream<Path> files = Files.newDirectoryStream(packageClasses, "*.class")) {
      for (Path file : files) {
        String name = file.getFileName().toString().replace(".class", "");
        if (name.equals("Segments")) continue; // Segments needs Java 22
        Class<?> kind = Class.forName("io.opdyno." + name);
        if (Modifier.isPublic(kind.getModifiers())) found.add(kind);
      }
    }
    First.check(found.size() > 50, found.size() + " classes");
    return found;
  }

  private static int closed(Class<?> kind) throws Exception {
    Handle handle = of(kind);
    handle.close();
    int count = 0;
    for (Method method : kind.getDeclaredMethods()) {
      if (!Modifier.isPublic(method.getModifiers()) || Modifier.isStatic(method.getModifiers()) || method.isSynthetic()) continue;
      Throwable thrown = thrown(method, handle, samples(method));
      First.check(thrown instanceof IllegalStateException && thrown.getMessage().equals("the " + kind.getSimpleName() + " is closed"), method + ": " + thrown);
      ++count;
    }
    return count;
  }

  private static int nulls(Class<?> kind) throws Exception {
    int count = 0;
    for (Method method : kind.getDeclaredMethods()) {
      if (!Modifier.isPublic(method.getModifiers()) || method.isSynthetic() || method.getName().equals("equals")) continue;
      for (int i = 0; i < method.getParameterCount(); ++i) {
        if (method.getParameterTypes()[i].isPrimitive()) continue;
        Object[] args = samples(method);
        args[i] = null;
        Object on = Modifier.isStatic(method.getModifiers()) ? null : kind == Device.class ? Device.CPU : of(kind);
        Throwable thrown = thrown(method, on, args);
        String name = method.getParameters()[i].getName(), place = kind.getSimpleName() + "." + method.getName() + " " + name;
        if (!OPTIONAL.contains(name) && !OPTIONAL.contains(place))
          First.check(thrown instanceof NullPointerException && names(thrown.getMessage(), name), "null for " + place + ": " + thrown);
        else First.check(!(thrown instanceof NullPointerException), "null may be given for " + place + ": " + thrown);
        if (on instanceof Handle handle) handle.close();
        ++count;
      }
    }
    return count;
  }

  /**
   * Whether the message names the parameter, in Java's or C's spelling. The classes are compiled with names of
   * parameters.
   */
  private static boolean names(String message, String parameter) {
    String ofC = parameter.replaceAll("([A-Z])", "_$1").toLowerCase();
    return message != null && (message.startsWith(ofC + " must not") || message.startsWith(parameter + " must not") || message.contains('"' + parameter + '"'));
  }

  private static Throwable thrown(Method method, Object on, Object[] args) throws Exception {
    try {
      method.invoke(on, args);
      return null;
    } catch (InvocationTargetException thrown) {
      return thrown.getCause();
    }
  }

  private static Object[] samples(Method method) {
    return Arrays.stream(method.getParameterTypes()).map(WithRefusals::sample).toArray();
  }

  /** Returns some value of a type. */
  private static Object sample(Class<?> type) {
    if (MAKERS.containsKey(type)) return of(type);
    if (type.isEnum()) return type.getEnumConstants()[0];
    Map<Class<?>, Object> plain = new LinkedHashMap<>();
    plain.put(int.class, 0);
    plain.put(long.class, 0L);
    plain.put(double.class, 0.0);
    plain.put(boolean.class, false);
    plain.put(String.class, "x");
    plain.put(Object.class, 1);
    plain.put(Path.class, Path.of("/dev/null/none"));
    plain.put(ByteBuffer.class, ByteBuffer.allocateDirect(8));
    plain.put(List.class, List.of());
    plain.put(Runnable.class, (Runnable) () -> {});
    plain.put(TelemetryValue.class, TelemetryValue.create());
    plain.put(Set.class, Set.of());
    plain.put(Map.class, Map.of());
    plain.put(Device.class, Device.CPU);
    plain.put(DType.class, DType.INT32);
    plain.put(Pointer.class, new Pointer(1));
    plain.put(Metric.class, Metric.count(1));
    plain.put(MetricCollector.class, new WithPointers.Counting(false));
    plain.put(MachinePeak.class, new MachinePeak(1, 1, 1, 0));
    if (type.isArray()) return java.lang.reflect.Array.newInstance(type.getComponentType(), 0);
    return plain.get(type); // null for options
  }
}
