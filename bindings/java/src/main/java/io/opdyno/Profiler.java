package io.opdyno;

import org.jspecify.annotations.Nullable;

/** Records the work of all threads of the process. All methods are safe on any thread. */
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

  /** Starts the recording, or the schedule if the options have one. */
  public void start() {
    Native.opd_profiler_start(this);
  }

  /**
   * Sets the action of the step that the next start() or step() begins. It replaces the schedule's action, for
   * schedules of your own.
   */
  public void setAction(ProfilerAction action) {
    Native.opd_profiler_set_action(this, action);
  }

  /** Ends a step of the schedule. If a cycle ends with this step, returns its trace, else null. */
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
   * Makes the profiler a flight recorder from the next start() on. When a dump is requested, a thread of the library
   * writes a file, while the recording continues. Null: no dumps. The options have a path and what triggers a dump: a
   * signal, slow calls or errors; dump() always does. Throws {@link OpdynoException.FailedPrecondition} after start().
   * If a file cannot be written, the log gets a message.
   */
  public void setDumps(@Nullable DumpOptions options) {
    Native.opd_profiler_set_dumps(this, DumpOptions.map(options));
  }

  /** Requests a dump without waiting for it; stop() waits. The file contains the reason. */
  public void dump(String reason) {
    Native.opd_profiler_dump(this, reason);
  }

  /** The number of dumps written so far. */
  public long dumpCount() {
    return Native.opd_profiler_dump_count(this);
  }
}
