package io.opdyno;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The measurements of an evaluator. Any thread may use it. It prints as its summary. */
public final class Benchmark extends Handle {
  Benchmark(long pointer) {
    super(pointer);
  }

  /**
   * Makes a benchmark from times that were measured elsewhere: seconds per call, one for each repeat, in the order of
   * measurement. Throws {@link OpdynoException.InvalidArgument} if there is no value, or if a value is negative.
   */
  public static Benchmark ofSeconds(double... seconds) {
    return new Benchmark(create(Objects.requireNonNull(seconds, "seconds must not be null")));
  }

  /** Seconds per call, one for each repeat (with concurrency, for each of its threads), in the order of measurement. */
  public double[] seconds() {
    long pointer = Handle.begin(this);
    try {
      return secondsOf(pointer);
    } finally {
      Handle.end(this);
    }
  }

  /** The statistics. */
  public BenchmarkStats stats() {
    return Out.take(out -> Native.opd_benchmark_get_stats(this, out));
  }

  /** A percentile (0 to 100) of the seconds per call. */
  public double percentile(double percent) {
    return Native.opd_benchmark_percentile(this, percent);
  }

  /** The median of the seconds per call. */
  public double median() {
    return percentile(50);
  }

  /** Compares this benchmark with a later one. Returns a report with the change and a verdict. */
  public Report diff(Benchmark after, @Nullable DiffOptions options) {
    return Out.take(out -> Native.opd_benchmark_diff(this, after, DiffOptions.map(options), out));
  }

  @Override
  public String toString() {
    return Out.take(out -> Native.opd_benchmark_to_text(this, out));
  }

  private static native long create(double[] seconds);

  private static native double[] secondsOf(long pointer);
}
