package io.opdyno;

/** Records what the process does. */
public final class Profiler extends Handle {
  Profiler(long pointer) {
    super(pointer);
  }
}
