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

  /** Begins a range. While nothing records, it costs little. */
  public static Range open(String name) {
    if (!isRecorded()) return new Range(0); // its name needs no number
    return new Range(Native.opd_range_begin(Native.opd_range_name(name)));
  }

  /** Begins a range that pop() ends. Returns the number of pushed ranges around it on this thread, from 0. */
  public static int push(String name) {
    return Native.opd_range_push(name);
  }

  /** Ends the range that was pushed last on this thread. Returns the number that its push() returned; -1 if there is none. */
  public static int pop() {
    return Native.opd_range_pop();
  }

  /** Marks a moment. */
  public static void mark(String name) {
    if (isRecorded()) Native.opd_range_mark(Native.opd_range_name(name));
  }

  /** Whether a profiler, or a tool of {@link #isIttAvailable}, records ranges now. */
  public static boolean isRecorded() {
    return Native.opd_range_is_recorded() != 0;
  }

  /**
   * Whether a tool receives ranges through Intel's ITT API (environment variable INTEL_LIBITTNOTIFY64): ranges are then tasks of
   * the tool.
   */
  public static boolean isIttAvailable() {
    return Native.opd_itt_is_available() != 0;
  }

  @Override
  public void close() {
    if (isOpen && begun != 0) Native.opd_range_end(begun);
    isOpen = false;
  }
}
