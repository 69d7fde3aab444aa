package io.opdyno;

import java.util.Objects;

/** A number or text that a collector measured, and what it is. */
public final class Metric {
  private final opd_metric_kind kind;
  private final Object value;

  private Metric(opd_metric_kind kind, Object value) {
    this.kind = kind;
    this.value = value;
  }

  public static Metric count(long value) {
    return new Metric(opd_metric_kind.OPD_METRIC_COUNT, value);
  }

  public static Metric duration(double microseconds) {
    return new Metric(opd_metric_kind.OPD_METRIC_DURATION, microseconds);
  }

  /** Of 100 for all. */
  public static Metric percent(double percent) {
    return new Metric(opd_metric_kind.OPD_METRIC_PERCENT, percent);
  }

  public static Metric ratio(double ratio) {
    return new Metric(opd_metric_kind.OPD_METRIC_RATIO, ratio);
  }

  public static Metric string(String text) {
    return new Metric(opd_metric_kind.OPD_METRIC_STRING, Objects.requireNonNull(text, "text"));
  }

  /** The names of such columns end in " (bytes)". */
  public static Metric bytes(long value) {
    return new Metric(opd_metric_kind.OPD_METRIC_BYTES, value);
  }

  /** The names of such columns end in " (Hz)". */
  public static Metric hertz(double hertz) {
    return new Metric(opd_metric_kind.OPD_METRIC_HERTZ, hertz);
  }

  public opd_metric_kind kind() {
    return kind;
  }

  /** A Long, Double or String. */
  public Object value() {
    return value;
  }

  @Override
  public String toString() {
    return value + " (" + kind + ")";
  }
}
