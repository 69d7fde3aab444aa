package io.opdyno;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** A number or text that a collector measured, with its kind. */
public final class Metric {
  private final MetricKind kind;
  private final Object value;

  private Metric(MetricKind kind, Object value) {
    this.kind = kind;
    this.value = value;
  }

  /** Converts the result of {@code opd_function_profile}, which is a map from names to pairs of kind and value. */
  static Map<String, Metric> all(ValueMap pairs) {
    Map<String, Metric> metrics = new LinkedHashMap<>();
    pairs.toMap().forEach((name, pair) -> {
      List<Object> kindAndValue = ValueList.items((ValueList) pair);
      MetricKind kind = MetricKind.swigToEnum(((Long) kindAndValue.get(0)).intValue());
      metrics.put((String) name, new Metric(kind, kindAndValue.get(1)));
    });
    return metrics;
  }

  /** A whole number. */
  public static Metric count(long value) {
    return new Metric(MetricKind.COUNT, value);
  }

  /** A duration. */
  public static Metric duration(double microseconds) {
    return new Metric(MetricKind.DURATION, microseconds);
  }

  /** A percentage; 100 is the whole. */
  public static Metric percent(double percent) {
    return new Metric(MetricKind.PERCENT, percent);
  }

  /** Any other number. */
  public static Metric ratio(double ratio) {
    return new Metric(MetricKind.RATIO, ratio);
  }

  /** A text. */
  public static Metric string(String text) {
    return new Metric(MetricKind.STRING, Objects.requireNonNull(text, "text must not be null"));
  }

  /** A number of bytes. The names of such columns end in " (bytes)". */
  public static Metric bytes(long value) {
    return new Metric(MetricKind.BYTES, value);
  }

  /** A frequency. The names of such columns end in " (Hz)". */
  public static Metric hertz(double hertz) {
    return new Metric(MetricKind.HERTZ, hertz);
  }

  /** The kind of the value. */
  public MetricKind kind() {
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
