package io.opdyno;

import java.time.Duration;

/** A row of a report; "(dispatch)" and "(profiler)" are the time of the VM and of the recording. Percent is 100 for all. */
public record Operator(String name, Duration duration, double percent, long count) {}
