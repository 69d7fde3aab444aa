// The first thing that a program does with the binding: each in a process of its own, named by args[0].
import static io.opdyno.Native.*;

import io.opdyno.*;
import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

public final class Fresh {
  public static void main(String[] args) throws Exception {
    switch (args[0]) {
      case "values" -> opd_array_create(new Object[] {"a text of more than 7 bytes"}, new Out<>());
      case "tensors" -> Tensor.of(new float[] {1}, 1).close();
      case "dropped" -> dropped();
      case "loaded" -> {
        Tensor.of(new float[] {1}, 1).close();
        mapped().forEach(System.out::println);
      }
      case "loaders" -> loaders();
      default -> throw new IllegalArgumentException(args[0]);
    }
    System.out.println("ok");
  }

  /** The files of native libraries of the binding that are mapped. */
  private static Set<String> mapped() throws IOException {
    try (Stream<String> maps = Files.lines(Path.of("/proc/self/maps"))) {
      return maps.filter(line -> line.contains("/libopdyno_java.so")).map(line -> line.substring(line.indexOf('/')))
          .collect(Collectors.toCollection(TreeSet::new));
    }
  }

  /** Three class loaders of the same classes, each with a native library of its own. */
  private static void loaders() throws Exception {
    URL[] classes = {Fresh.class.getProtectionDomain().getCodeSource().getLocation()};
    for (int i = 0; i < 3; ++i) {
      URLClassLoader loader = new URLClassLoader(classes, ClassLoader.getPlatformClassLoader());
      Object none = null;
      loader.loadClass("Fresh").getMethod("main", String[].class).invoke(none, (Object) new String[] {"tensors"});
    }
    mapped().forEach(System.out::println);
  }

  /** 2.8 GB of tensors, 4 MB each, none of which is closed. Their memory must not grow with their number. */
  private static void dropped() {
    long most = 0;
    for (int i = 0; i < 700; ++i) {
      Out.<Tensor>take(out -> opd_tensor_create(new long[] {1 << 20}, DType.FLOAT32, Device.CPU, out));
      most = Math.max(most, Out.<MemoryStats>take(out -> opd_memory_get_stats(Device.CPU, out)).liveBytes());
    }
    if (most > 600L << 20) throw new AssertionError(most + " bytes were in use at a time");
  }
}
