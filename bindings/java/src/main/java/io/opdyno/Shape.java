package io.opdyno;

/** Sizes of dimensions. */
public final class Shape extends Handle {
  Shape(long pointer) {
    super(pointer);
  }
}
