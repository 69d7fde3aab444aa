package io.opdyno;

import org.jspecify.annotations.Nullable;

/** Records the work of the process, on all threads. All methods are safe on any thread. */
public final class Profiler extends Handle {
  Profiler(long pointer) {
    super(pointer);
  }

  /** Not yet started, with all defaults. */
  public static Profiler create() {
    return create(null);
  }

  /** Not yet started; no options (null) are all defaults. */
  public static Profiler create(@Nullable ProfilerOptions options) {
    return Out.take(out -> Native.opd_profiler_create(ProfilerOptions.map(options), out));
  }

  /** Begins to record. */
  public void start() {
    Native.opd_profiler_start(this);
  }

  /** Sets the action of the step that the next start() or step() begins, in place of the schedule: for schedules of your own. */
  public void setAction(ProfilerAction action) {
    Native.opd_profiler_set_action(this, action);
  }

  /** Ends a step of the schedule. Returns the trace of a cycle that ends with it, else null. */
  public @Nullable Trace step() {
    return Out.take(out -> Native.opd_profiler_step(this, out));
  }

  /** Ends the recording. Returns its trace, or null if the schedule was not recording. */
  public @Nullable Trace stop() {
    return Out.take(out -> Native.opd_profiler_stop(this, out));
  }

  /** A trace of the events recorded so far; the recording goes on. */
  public Trace snapshot() {
    return Out.take(out -> Native.opd_profiler_snapshot(this, out));
  }

  /**
   * Makes it a flight recorder, from the next start() on: when a dump is requested, a thread of the library writes a file,
   * while the recording goes on. Null: no dumps. Options name a path, and the causes of a dump: a signal, slow calls, errors, or dump().
   * After start() it is an {@link OpdynoException.FailedPrecondition}. If a file cannot be written, a message goes to the log.
   */
  public void setDumps(@Nullable DumpOptions options) {
    Native.opd_profiler_set_dumps(this, DumpOptions.map(options));
  }

  /** Asks for a dump and does not wait for it; stop() does. The reason stands in the file. */
  public void dump(String reason) {
    Native.opd_profiler_dump(this, reason);
  }

  /** The number of dumps that were written so far. */
  public long dumpCount() {
    return Native.opd_profiler_dump_count(this);
  }
}
