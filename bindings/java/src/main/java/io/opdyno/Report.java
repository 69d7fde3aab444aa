package io.opdyno;

/** Rows of metrics of calls and devices, and a configuration. It prints as its table. */
public final class Report extends Handle {
  Report(long pointer) {
    super(pointer);
  }
}
