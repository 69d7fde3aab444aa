package io.opdyno;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The events that a profiler recorded. */
public final class Trace extends Handle {
  Trace(long pointer) {
    super(pointer);
  }

  /** Reads a file that a profiler wrote. */
  public static Trace load(Path path) {
    return Out.take(out -> Native.opd_trace_load(path, out));
  }

  /** Joins traces of several processes or machines. */
  public static Trace merge(List<Trace> traces, @Nullable TraceMergeOptions options) {
    Trace[] all = traces.toArray(Trace[]::new);
    return Out.take(out -> Native.opd_trace_merge(all, TraceMergeOptions.map(options), out));
  }

  /** The number of calls. */
  public long callCount() {
    return Native.opd_trace_call_count(this);
  }

  /** The number of events that were dropped because the buffers were full. */
  public long droppedCount() {
    return Native.opd_trace_dropped_count(this);
  }

  /** Returns the trace as JSON for ui.perfetto.dev. */
  public String toChrome() {
    return toText(TraceFormat.CHROME, null);
  }

  /** Returns the trace as the bytes of a file in a format; null: all defaults. */
  public byte[] write(TraceFormat format, @Nullable TraceWriteOptions options) {
    return Out.take(out -> Native.opd_trace_write(this, format, TraceWriteOptions.map(options), out));
  }

  /** Returns the trace as text in a format, such as a table, stacks, JSON or a page. */
  public String toText(TraceFormat format, @Nullable TraceWriteOptions options) {
    return new String(write(format, options), StandardCharsets.UTF_8);
  }

  /** Writes a file in a format; null: all defaults. If the path ends in ".gz", the file is compressed by gzip. */
  public void save(Path path, TraceFormat format, @Nullable TraceWriteOptions options) {
    Native.opd_trace_save(this, path, format, TraceWriteOptions.map(options));
  }

  /** Writes a file for ui.perfetto.dev. */
  public void writeChrome(Path path) {
    save(path, TraceFormat.CHROME, null);
  }

  /** Makes a report of the trace's calls. */
  public Report toReport(TraceView view) {
    return Out.take(out -> Native.opd_trace_to_report(this, view, null, out));
  }

  /**
   * Makes a report with a row for all calls, ranges or runs of the same name. With the options {@code
   * groupByInputShape} and {@code groupByStackN}, a row also has equal shapes or stacks; null: only equal names.
   */
  public Report averages(@Nullable TraceWriteOptions options) {
    return Out.take(out -> Native.opd_trace_to_report(this, TraceView.KEY_AVERAGES, TraceWriteOptions.map(options), out));
  }
}
