package io.opdyno;

/** A C function pointer that calls a packed function. */
public final class Closure extends Handle {
  Closure(long pointer) {
    super(pointer);
  }
}
