package io.opdyno;

/** Records what the process does, on all threads. */
public final class Profiler extends Handle {
  Profiler(long pointer) {
    super(pointer);
  }

  /** Not yet started; no options (null) are all defaults. */
  public static Profiler create(ProfilerOptions options) {
    return Out.take(out -> Native.opd_profiler_create(ProfilerOptions.map(options), out));
  }

  /** Begins to record. */
  public void start() {
    Native.opd_profiler_start(this);
  }

  /** Ends a step of the schedule; gives the trace of a cycle that it ends, else null. */
  public Trace step() {
    return Out.take(out -> Native.opd_profiler_step(this, out));
  }

  /** Ends the recording; gives its trace, or null if the schedule gave all. */
  public Trace stop() {
    return Out.take(out -> Native.opd_profiler_stop(this, out));
  }

  /** What was recorded so far. */
  public Trace snapshot() {
    return Out.take(out -> Native.opd_profiler_snapshot(this, out));
  }
}
