package io.opdyno;

import java.time.Duration;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The row of an operator in a report: a call of the operator, or the sum of several calls. "(dispatch)" is the VM's own
 * time, "(profiler)" the time of the recording. A percentage of 100 is the whole.
 */
public record Operator(String name, Duration duration, double percent, long count) {
  /**
   * Sums up the rows of each name. Returns one row for each name, the longest first, without names that begin with "(".
   */
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
