package io.opdyno;

/** A tensor. */
public final class Tensor extends Handle {
  Tensor(long pointer) {
    super(pointer, Tensors.sizeOf(pointer));
  }

  Tensor(long pointer, long bytes) {
    super(pointer, bytes);
  }
}
