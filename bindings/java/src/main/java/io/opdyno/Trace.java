package io.opdyno;

import java.nio.file.Path;
import java.util.List;

/** What a profiler recorded. */
public final class Trace extends Handle {
  Trace(long pointer) {
    super(pointer);
  }

  /** Of a file that a profiler wrote. */
  public static Trace load(Path path) {
    return Out.take(out -> Native.opd_trace_load(path.toString(), out));
  }

  /** Joins traces of several processes or machines. */
  public static Trace merge(List<Trace> traces, TraceMergeOptions options) {
    Trace[] all = traces.toArray(Trace[]::new);
    return Out.take(out -> Native.opd_trace_merge(all, TraceMergeOptions.map(options), out));
  }

  /** The number of calls. */
  public long callCount() {
    return Native.opd_trace_call_count(this);
  }

  /** The number of events for which there was no room. */
  public long droppedCount() {
    return Native.opd_trace_dropped_count(this);
  }

  /** For ui.perfetto.dev, as JSON. */
  public String toChrome() {
    return Out.take(out -> Native.opd_trace_to_chrome(this, out));
  }

  /** Writes a file in a format; no options (null) are all defaults. */
  public void save(Path path, TraceFormat format, TraceWriteOptions options) {
    Native.opd_trace_save(this, path.toString(), format, TraceWriteOptions.map(options));
  }

  /** Writes a file for ui.perfetto.dev. */
  public void writeChrome(Path path) {
    save(path, TraceFormat.CHROME, null);
  }

  /** A report of its calls. */
  public Report toReport(TraceView view) {
    return Out.take(out -> Native.opd_trace_to_report(this, view, out));
  }
}
