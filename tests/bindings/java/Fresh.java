// Tests that need a new process, such as the first use of the binding. args[0] names the test.
import static io.opdyno.Native.*;

import io.opdyno.*;
import java.io.IOException;
import java.lang.ref.WeakReference;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

public final class Fresh {
  public static void main(String[] args) throws Exception {
    switch (args[0]) {
      case "values" -> opd_array_create(new Object[] {"a text of more than 7 bytes"}, new Out<>());
      case "tensors" -> Tensor.of(new float[] {1}, 1).close();
      case "dropped" -> dropped(args[1]);
      case "paths" -> paths(Path.of(args[1]));
      case "loaded" -> {
        Tensor.of(new float[] {1}, 1).close();
        mapped().forEach(System.out::println);
      }
      case "loaders" -> loaders();
      case "used" -> used();
      case "collected" -> collected();
      default -> throw new IllegalArgumentException(args[0]);
    }
    System.out.println("ok");
  }

  /** Loads each program of a directory, whose names have any bytes, and saves a copy beside each. */
  private static void paths(Path directory) throws IOException {
    List<Path> files;
    try (Stream<Path> listed = Files.list(directory)) {
      files = listed.toList();
    }
    for (Path file : files) {
      try (Program program = Program.load(file)) {
        if (!program.hasFunction("main")) throw new AssertionError(file);
      }
      byte[] content = {1, 2, 3};
      Opdyno.writeFile(file, content);
      if (Files.size(file) != content.length) throw new AssertionError(file);
    }
  }

  /** The mapped files of the binding's native libraries. */
  private static Set<String> mapped() throws IOException {
    try (Stream<String> maps = Files.lines(Path.of("/proc/self/maps"))) {
      return maps.filter(line -> line.contains("/libopdyno_java.so")).map(line -> line.substring(line.indexOf('/')))
          .collect(Collectors.toCollection(TreeSet::new));
    }
  }

  /** Three class loaders load the same classes. Each has its own native library. */
  private static void loaders() throws Exception {
    URL[] classes = {Fresh.class.getProtectionDomain().getCodeSource().getLocation()};
    for (int i = 0; i < 3; ++i) {
      URLClassLoader loader = new URLClassLoader(classes, ClassLoader.getPlatformClassLoader());
      Object none = null;
      loader.loadClass("Fresh").getMethod("main", String[].class).invoke(none, (Object) new String[] {"tensors"});
    }
    mapped().forEach(System.out::println);
  }

  /** Uses features that keep state: a call, an exception through native code, an interrupt, a view. */
  private static void used() throws Exception {
    try (PackedFn same = PackedFn.of(args -> args[0]);
        PackedFn fails = PackedFn.of(args -> { throw new IllegalStateException("a reason"); });
        Executable executable = Executable.assemble(".func main(x) {\n  ret %x\n}");
        Program program = executable.toProgram();
        Vm vm = program.vm();
        Tensor x = Tensor.of(new float[] {1}, 1)) {
      if (same.callLong(4) != 4 || vm.call("main", 7).equals(8L) || x.floats().get(0) != 1) throw new AssertionError();
      Tensor dropped = vm.callTensor("main", x);
      if (dropped.toBytes().length != 4) throw new AssertionError();
      fails.call();
      throw new AssertionError("nothing was thrown");
    } catch (IllegalStateException thrown) {
      if (!thrown.getMessage().equals("a reason")) throw thrown;
    }
  }

  /** Class loaders are used in turn. Each is collected before the next one loads the same file. */
  private static void collected() throws Exception {
    URL[] classes = {Fresh.class.getProtectionDomain().getCodeSource().getLocation()};
    for (int i = 0; i < 2; ++i) {
      URLClassLoader loader = new URLClassLoader(classes, ClassLoader.getPlatformClassLoader());
      Object none = null;
      loader.loadClass("Fresh").getMethod("main", String[].class).invoke(none, (Object) new String[] {"used"});
      loader.close();
      WeakReference<ClassLoader> gone = new WeakReference<>(loader);
      loader = null;
      for (int waits = 0; waits < 600 && gone.get() != null; ++waits) {
        System.gc();
        Thread.sleep(50);
      }
      if (gone.get() != null) throw new AssertionError("the class loader is not collected");
    }
    mapped().forEach(System.out::println);
  }

  /**
   * Makes 2.8 GB of tensors of 4 MB, inside holders that are never closed. The memory must not grow with their number.
   */
  private static void dropped(String holder) {
    long most = 0;
    byte[] file = new byte[0];
    if (holder.equals("loaded params")) {
      try (Params one = Params.create(); Tensor x = Tensor.create(DType.FLOAT32, 1 << 20)) {
        one.set("x", x);
        file = one.toBytes();
      }
    }
    PackedFn result = PackedFn.of(args -> List.of(1, Map.of("x", List.of(Tensor.create(DType.FLOAT32, 1 << 20)))));
    for (int i = 0; i < 700; ++i) {
      if (holder.equals("loaded params")) Params.load(file);
      else if (holder.equals("result")) result.call();
      else hold(holder, Tensor.create(DType.FLOAT32, 1 << 20));
      most = Math.max(most, Device.CPU.memoryStats().liveBytes());
    }
    if (most > 600L << 20) throw new AssertionError(most + " bytes were in use at a time, by " + holder);
  }

  private static void hold(String holder, Tensor tensor) {
    switch (holder) {
      case "tensor" -> {
        return;
      }
      case "list" -> ValueList.of(1, List.of("nested", tensor));
      case "map" -> PackedFn.of(args -> args[0]).call(Map.of("key", tensor));
      case "params" -> Params.create().set("x", tensor);
      case "view" -> tensor.buffer();
      case "reshape" -> tensor.reshape(1 << 10, 1 << 10);
      default -> throw new IllegalArgumentException(holder);
    }
    tensor.close();
  }
}
