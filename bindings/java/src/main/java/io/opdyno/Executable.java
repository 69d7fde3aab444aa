package io.opdyno;

/** A program of the VM, as data. */
public final class Executable extends Handle {
  Executable(long pointer) {
    super(pointer);
  }
}
