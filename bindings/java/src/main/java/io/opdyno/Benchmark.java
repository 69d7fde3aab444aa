package io.opdyno;

/** What an evaluator measured. It prints as its summary. */
public final class Benchmark extends Handle {
  Benchmark(long pointer) {
    super(pointer);
  }

  /** A percentile of the seconds per call, 0 to 100. */
  public double percentile(double percent) {
    return Native.opd_benchmark_percentile(this, percent);
  }

  /** Seconds per call. */
  public double median() {
    return percentile(50);
  }

  /** How it differs from another one. */
  public Report diff(Benchmark after, DiffOptions options) {
    return Out.take(out -> Native.opd_benchmark_diff(this, after, DiffOptions.map(options), out));
  }

  @Override
  public String toString() {
    return Out.take(out -> Native.opd_benchmark_to_text(this, out));
  }
}
