package io.opdyno;

import org.jspecify.annotations.Nullable;

/**
 * The result of {@link Vm#compare}: a report with a row for each operator of both programs and for each tensor of the results,
 * and a report of the operators that became slower (null if nothing was measured). It prints as its verdict.
 */
public record Comparison(Report report, @Nullable Report times) implements AutoCloseable {
  /** One sentence that names the first difference and the operator that caused it, or says that there is none. */
  public String verdict() {
    return String.valueOf(report.get(ReportSection.CONFIGURATION, 0, "Verdict"));
  }

  /** Whether both programs return and their results do not differ. */
  public boolean isEqual() {
    return ((Number) report.get(ReportSection.CONFIGURATION, 0, "Equal")).longValue() == 1;
  }

  /** The operators of B, one of which caused the first difference; null if there is no difference. */
  public @Nullable String cause() {
    return report.entry("Cause");
  }

  @Override
  public void close() {
    report.close();
    if (times != null) times.close();
  }

  @Override
  public String toString() {
    return verdict();
  }
}
