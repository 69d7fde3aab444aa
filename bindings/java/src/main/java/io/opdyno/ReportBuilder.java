package io.opdyno;

/** A report in the making. */
public final class ReportBuilder extends Handle {
  ReportBuilder(long pointer) {
    super(pointer);
  }
}
