package io.opdyno;

/** Measures something around calls. */
public final class Collector extends Handle {
  Collector(long pointer) {
    super(pointer);
  }
}
