package io.opdyno;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Rows of metrics of calls and devices, and a configuration. It prints as its table. */
public final class Report extends Handle {
  Report(long pointer) {
    super(pointer);
  }

  /** Reads a report from JSON that TVM or write() wrote. */
  public static Report fromJson(String json) {
    return Out.take(out -> Native.opd_report_from_json(Values.encoded(Objects.requireNonNull(json, "json must not be null")), out));
  }

  /** Joins reports of several runs, machines or ranks. */
  public static Report merge(Report... reports) {
    return Out.take(out -> Native.opd_report_merge(reports, out));
  }

  /** Compares two sets of runs. Returns a report with a row for each operator: its change and a verdict. */
  public static Report diff(List<Report> before, List<Report> after, @Nullable DiffOptions options) {
    Report[] old = before.toArray(Report[]::new), now = after.toArray(Report[]::new);
    return Out.take(out -> Native.opd_report_diff(old, now, DiffOptions.map(options), out));
  }

  /** Writes the report as text. */
  public String write(ReportFormat format) {
    return write(format, null);
  }

  /** Writes the report as text, with options; null: all defaults. */
  public String write(ReportFormat format, @Nullable ReportWriteOptions options) {
    return Out.take(out -> Native.opd_report_write(this, format, ReportWriteOptions.map(options), out));
  }

  /**
   * Exports the calls as an Arrow stream with one batch. Fills the C struct ArrowArrayStream at an address, such as the
   * result of {@code org.apache.arrow.c.ArrowArrayStream.memoryAddress()}. The stream keeps its memory even after
   * close(). The consumer has to release the stream.
   */
  public void toArrow(long address) {
    Native.opd_report_to_arrow(this, address);
  }

  /** The number of rows. */
  public int count(ReportSection section) {
    return Native.opd_report_count(this, section);
  }

  /** The names of the metrics of the rows. */
  public List<String> columns(ReportSection section) {
    return ValueList.texts(Out.take(out -> Native.opd_report_list(this, section, out)));
  }

  /** A metric of a row, which is a Long, Double or String; null if only other rows have it. */
  public @Nullable Object get(ReportSection section, int row, String name) {
    ValueList.checkIndex(row);
    return Out.<Object>take(out -> Native.opd_report_get(this, section, row, name, out, null));
  }

  /** The kind of a row's metric; MetricKind.NONE if only other rows have it. */
  public MetricKind kind(ReportSection section, int row, String name) {
    ValueList.checkIndex(row);
    return Out.take(out -> Native.opd_report_get(this, section, row, name, new Out<>(), out));
  }

  /** An entry of the configuration as text; null if there is none. */
  @Nullable String entry(String name) {
    return columns(ReportSection.CONFIGURATION).contains(name) ? String.valueOf(get(ReportSection.CONFIGURATION, 0, name)) : null;
  }

  /** A metric of all rows; null for rows that lack it. */
  public List<@Nullable Object> column(ReportSection section, String name) {
    return ValueList.items(Out.take(out -> Native.opd_report_get_column(this, section, name, out, null)));
  }

  /** The metrics of each row by name. A row leaves out metrics that it lacks. The configuration is one row. */
  public List<Map<String, @Nullable Object>> rows(ReportSection section) {
    List<Map<String, @Nullable Object>> rows = new ArrayList<>();
    for (int i = 0, count = count(section); i < count; ++i) rows.add(new LinkedHashMap<>());
    for (String name : columns(section)) {
      List<Object> column = column(section, name);
      for (int i = 0; i < rows.size(); ++i) if (column.get(i) != null) rows.get(i).put(name, column.get(i));
    }
    return rows;
  }

  /**
   * The rows of calls, with the columns that every report of a VM has. Each call of an operator has its own row. There
   * are also the rows "(dispatch)" and "(profiler)". {@link Operator#join} makes one row for each name.
   */
  public List<Operator> operators() {
    if (count(ReportSection.CALLS) == 0) return List.of();
    List<Object> names = column(ReportSection.CALLS, "Name"), times = column(ReportSection.CALLS, "Duration (us)");
    List<Object> percents = column(ReportSection.CALLS, "Percent"), counts = column(ReportSection.CALLS, "Count");
    List<Operator> made = new ArrayList<>();
    for (int i = 0; i < names.size(); ++i) {
      Duration duration = Duration.ofNanos(Math.round(1000 * number(times.get(i)).doubleValue()));
      made.add(new Operator((String) names.get(i), duration, number(percents.get(i)).doubleValue(), number(counts.get(i)).longValue()));
    }
    return made;
  }

  private static Number number(Object metric) {
    return metric instanceof Number given ? given : 0;
  }

  /**
   * Adds counts of operations and bytes to the operators for which names and shapes tell them. 0: the peak is not
   * known.
   */
  public Report withRoofline(double peakGflops, double peakGigabytesPerSecond) {
    return Out.take(out -> Native.opd_report_add_roofline(this, peakGflops, peakGigabytesPerSecond, out));
  }

  /** Calls withRoofline() with the peaks of {@link Opdyno#measurePeak}. */
  public Report withRoofline(MachinePeak peak) {
    return withRoofline(peak.gflops(), peak.bandwidthGbps());
  }

  @Override
  public String toString() {
    return write(ReportFormat.TABLE);
  }
}
