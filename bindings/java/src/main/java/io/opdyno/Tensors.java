package io.opdyno;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Tensors and Java's arrays. Elements are copied. */
public final class Tensors {
  static {
    Library.load();
  }

  private Tensors() {}

  public static Tensor of(float[] elements, long... shape) {
    ByteBuffer bytes = ByteBuffer.allocate(4 * elements.length).order(ByteOrder.nativeOrder());
    bytes.asFloatBuffer().put(elements);
    return of(bytes.array(), DType.FLOAT32, shape);
  }

  /** Elements as they lie in memory, row by row. */
  public static Tensor of(byte[] elements, DType dtype, long... shape) {
    Tensor made = Out.take(out -> Native.opd_tensor_create(shape, dtype, Device.CPU, out));
    try {
      Native.opd_tensor_copy_from_bytes(made, elements);
      return made;
    } catch (Throwable failed) {
      made.close();
      throw failed;
    }
  }

  public static float[] floats(Tensor tensor) {
    if (!dtype(tensor).equals(DType.FLOAT32)) throw new IllegalArgumentException("not a tensor of float32");
    ByteBuffer bytes = ByteBuffer.wrap(bytes(tensor)).order(ByteOrder.nativeOrder());
    float[] elements = new float[bytes.capacity() / 4];
    bytes.asFloatBuffer().get(elements);
    return elements;
  }

  public static byte[] bytes(Tensor tensor) {
    return with(tensor, Tensors::bytesOf);
  }

  public static long[] shape(Tensor tensor) {
    return with(tensor, Tensors::dimsOf);
  }

  public static DType dtype(Tensor tensor) {
    return DType.of(with(tensor, Tensors::dtypeOf));
  }

  private static <R> R with(Tensor tensor, java.util.function.LongFunction<R> use) {
    long pointer = Handle.begin(java.util.Objects.requireNonNull(tensor, "tensor"));
    try {
      return use.apply(pointer);
    } finally {
      Handle.end(tensor);
    }
  }

  private static native byte[] bytesOf(long tensor);

  private static native long[] dimsOf(long tensor);

  private static native long dtypeOf(long tensor);

  static native long sizeOf(long tensor);
}
