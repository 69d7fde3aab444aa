package io.opdyno;

import java.time.Duration;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A row of a report: a call of an operator, or the sum of several calls. "(dispatch)" and "(profiler)" are the time of the VM and
 * of the recording. A percentage of 100 is the whole.
 */
public record Operator(String name, Duration duration, double percent, long count) {
  /** Joins rows: one for each name, with the sums of its rows, the longest first. Names that begin with "(" are left out. */
  public static List<Operator> join(Collection<Operator> rows) {
    Map<String, Operator> sums = new LinkedHashMap<>();
    for (Operator row : rows) {
      if (!row.name().startsWith("(")) sums.merge(row.name(), row, Operator::plus);
    }
    return sums.values().stream().sorted(Comparator.comparing(Operator::duration).reversed()).toList();
  }

  private Operator plus(Operator other) {
    return new Operator(name, duration.plus(other.duration), percent + other.percent, count + other.count);
  }
}
