package io.opdyno;

/** A map of values to values. */
public final class ValueMap extends Handle {
  ValueMap(long pointer) {
    super(pointer);
  }
}
