package io.opdyno;

/** Named tensors, in a file or in memory. */
public final class Params extends Handle {
  Params(long pointer) {
    super(pointer);
  }
}
