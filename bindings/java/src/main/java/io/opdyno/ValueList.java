package io.opdyno;

/** A list of values. */
public final class ValueList extends Handle {
  ValueList(long pointer) {
    super(pointer);
  }
}
