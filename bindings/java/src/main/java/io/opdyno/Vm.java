package io.opdyno;

/** A program that is bound to devices. Any number of threads may call it at once. */
public final class Vm extends Handle {
  Vm(long pointer) {
    super(pointer);
  }
}
