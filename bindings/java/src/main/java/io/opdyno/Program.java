package io.opdyno;

/** A module: what was loaded of a file, or made. */
public final class Program extends Handle {
  Program(long pointer) {
    super(pointer);
  }
}
