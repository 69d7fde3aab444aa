package io.opdyno;

/**
 * A part of the program that profilers show on the time line: {@code try (Range range = Range.open("read"))}. It ends on the
 * thread on which it began.
 */
public final class Range implements AutoCloseable {
  private final long begun;
  private boolean isOpen = true;

  private Range(long begun) {
    this.begun = begun;
  }

  /** Begins a range. */
  public static Range open(String name) {
    return new Range(Native.opd_range_begin(Native.opd_range_name(name)));
  }

  /** Records a moment. */
  public static void mark(String name) {
    Native.opd_range_mark(Native.opd_range_name(name));
  }

  @Override
  public void close() {
    if (isOpen) Native.opd_range_end(begun);
    isOpen = false;
  }
}
