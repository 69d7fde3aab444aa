package io.opdyno;

import java.nio.file.Path;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Functions of the whole library: version, threads, log, files, and the machine's peaks. All methods are safe on any
 * thread.
 */
public final class Opdyno {
  private Opdyno() {}

  /** The library's version, such as "0.2.0". */
  public static String version() {
    return Native.opd_version();
  }

  /**
   * How the library was built, as a JSON object: version, compiler, architecture, features, and the TVM releases that it loads.
   */
  public static String buildInfo() {
    return Out.take(Native::opd_build_info);
  }

  /** The number of threads that a parallel kernel may use, including the calling thread. */
  public static int threadCount() {
    return Native.opd_threads_count();
  }

  /**
   * Sets the number of threads that a parallel kernel may use, 1 to 1024. 0 restores the default, which depends on the
   * environment and the processors. Running kernels keep their threads. Throws {@link OpdynoException.OutOfRange} for another
   * number.
   */
  public static void setThreadCount(int count) {
    Native.opd_threads_set_count(count);
  }

  /**
   * Sets the function that gets the library's warnings; null: no function. The library releases the previous function
   * as soon as no call of it runs.
   */
  public static void setLog(@Nullable LogCallback callback) {
    Native.opd_log_set_callback(callback);
  }

  /**
   * Writes a file like the library's own files: a regular file is replaced as a whole, so that its readers see either
   * the old or the new content. Throws {@link OpdynoException.NotFound} if the directory does not exist.
   */
  public static void writeFile(Path path, byte[] content) {
    Native.opd_file_write(path, Objects.requireNonNull(content, "content must not be null"));
  }

  /** Whether this build can run programs for a target: "llvm", "cuda", "opencl -device=mali" …; false for an unknown target. */
  public static boolean isEnabled(String target) {
    return Native.opd_module_enabled(target) != 0;
  }

  /**
   * Measures the peaks of the processors, which takes about half a second. Measurements at the same time disturb each
   * other.
   */
  public static MachinePeak measurePeak() {
    return Out.take(Native::opd_machine_measure_peak);
  }
}
