package io.opdyno;

/** Takes measurements around calls; see {@link Collectors}. */
public final class Collector extends Handle {
  Collector(long pointer) {
    super(pointer);
  }
}
