package io.opdyno;

import org.jspecify.annotations.Nullable;

/** Records the work of the process, on all threads. All methods are safe on any thread. */
public final class Profiler extends Handle {
  Profiler(long pointer) {
    super(pointer);
  }

  /** Makes a profiler with all defaults. It is not started yet. */
  public static Profiler create() {
    return create(null);
  }

  /** Makes a profiler; null: all defaults. It is not started yet. */
  public static Profiler create(@Nullable ProfilerOptions options) {
    return Out.take(out -> Native.opd_profiler_create(ProfilerOptions.map(options), out));
  }

  /** Begins to record. */
  public void start() {
    Native.opd_profiler_start(this);
  }

  /**
   * Sets the action of the step that the next start() or step() begins, instead of the schedule. Use it for your own schedules.
   */
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

  /** Returns a trace of the events recorded so far. The recording continues. */
  public Trace snapshot() {
    return Out.take(out -> Native.opd_profiler_snapshot(this, out));
  }

  /**
   * Makes it a flight recorder, from the next start() on: when a dump is requested, a thread of the library writes a file, while
   * the recording continues. Null: no dumps. The options have a path, and the triggers of a dump: a signal, slow calls, errors,
   * or dump(). Throws {@link OpdynoException.FailedPrecondition} after start(). If a file cannot be written, a message goes to
   * the log.
   */
  public void setDumps(@Nullable DumpOptions options) {
    Native.opd_profiler_set_dumps(this, DumpOptions.map(options));
  }

  /** Requests a dump and does not wait for it; stop() does. The file has the reason. */
  public void dump(String reason) {
    Native.opd_profiler_dump(this, reason);
  }

  /** The number of dumps written so far. */
  public long dumpCount() {
    return Native.opd_profiler_dump_count(this);
  }
}
