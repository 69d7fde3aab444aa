package io.opdyno;

/** The result of a profile of a VM: a report, and a trace of the same calls. It prints as the report's table. */
public record Profile(Report report, Trace trace) implements AutoCloseable {
  @Override
  public void close() {
    report.close();
    trace.close();
  }

  @Override
  public String toString() {
    return report.toString();
  }
}
