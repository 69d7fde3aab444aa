package io.opdyno;

/**
 * A part of the program that profilers show on the time line: {@code try (Range range = Range.open("read"))}. It must
 * end on the thread that began it.
 */
public final class Range implements AutoCloseable {
  private final long begun;
  private boolean isOpen = true;

  private Range(long begun) {
    this.begun = begun;
  }

  /** Begins a range. While no profiler records, this costs little. */
  public static Range open(String name) {
    if (!isRecorded()) return new Range(0); // the name is not looked up
    return new Range(Native.opd_range_begin(Native.opd_range_name(name)));
  }

  /** Begins a range that pop() ends. Returns how many pushed ranges enclose it on this thread. */
  public static int push(String name) {
    return Native.opd_range_push(name);
  }

  /**
   * Ends the range that was pushed last on this thread. Returns the number that its push() returned, or -1 if there is
   * no range.
   */
  public static int pop() {
    return Native.opd_range_pop();
  }

  /** Marks a moment on the calling thread. */
  public static void mark(String name) {
    if (isRecorded()) Native.opd_range_mark(Native.opd_range_name(name));
  }

  /** Whether a profiler, or a tool of {@link #isIttAvailable}, records ranges now. */
  public static boolean isRecorded() {
    return Native.opd_range_is_recorded() != 0;
  }

  /**
   * Whether a tool gets ranges by Intel's ITT API (environment variable INTEL_LIBITTNOTIFY64). The tool shows ranges as
   * tasks.
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
