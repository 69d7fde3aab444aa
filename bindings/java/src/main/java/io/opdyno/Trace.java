package io.opdyno;

/** What a profiler recorded. */
public final class Trace extends Handle {
  Trace(long pointer) {
    super(pointer);
  }
}
