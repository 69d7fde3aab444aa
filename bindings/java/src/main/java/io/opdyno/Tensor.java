package io.opdyno;

import java.lang.ref.Cleaner;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;

/** Memory with a shape and a type of its elements. What of() makes is a copy that lies on the CPU. */
public final class Tensor extends Handle {
  private static final Cleaner VIEWS = Cleaner.create();

  Tensor(long pointer) {
    super(pointer, Tensors.sizeOf(pointer));
  }

  Tensor(long pointer, long bytes) {
    super(pointer, bytes);
  }

  /** Of elements that nobody has set yet. */
  public static Tensor create(DType dtype, long... shape) {
    return Out.take(out -> Native.opd_tensor_create(shape, dtype, Device.CPU, out));
  }

  /** Of float32. */
  public static Tensor of(float[] elements, long... shape) {
    return Tensors.of(elements, shape);
  }

  /** Of float64. */
  public static Tensor of(double[] elements, long... shape) {
    ByteBuffer bytes = ByteBuffer.allocate(Math.multiplyExact(8, elements.length)).order(ByteOrder.nativeOrder());
    bytes.asDoubleBuffer().put(elements);
    return Tensors.of(bytes.array(), DType.FLOAT64, shape);
  }

  /** Of int32. */
  public static Tensor of(int[] elements, long... shape) {
    ByteBuffer bytes = ByteBuffer.allocate(Math.multiplyExact(4, elements.length)).order(ByteOrder.nativeOrder());
    bytes.asIntBuffer().put(elements);
    return Tensors.of(bytes.array(), DType.INT32, shape);
  }

  /** Of int64. */
  public static Tensor of(long[] elements, long... shape) {
    ByteBuffer bytes = ByteBuffer.allocate(Math.multiplyExact(8, elements.length)).order(ByteOrder.nativeOrder());
    bytes.asLongBuffer().put(elements);
    return Tensors.of(bytes.array(), DType.INT64, shape);
  }

  /** Of elements as they lie in memory, row by row. */
  public static Tensor of(byte[] elements, DType dtype, long... shape) {
    return Tensors.of(elements, dtype, shape);
  }

  /** The sizes of the dimensions. */
  public long[] shape() {
    return Tensors.shape(this);
  }

  /** The type of the elements. */
  public DType dtype() {
    return Tensors.dtype(this);
  }

  /** The size of the elements in bytes. */
  public long byteSize() {
    return Native.opd_tensor_bytes(this);
  }

  /** A copy of the elements. */
  public byte[] toBytes() {
    return Tensors.bytes(this);
  }

  /** A copy of the elements; an IllegalArgumentException if they are no float32. */
  public float[] toFloatArray() {
    return Tensors.floats(this);
  }

  /** The same elements, in the same memory, with another shape. */
  public Tensor reshape(long... shape) {
    return Out.take(out -> Native.opd_tensor_reshape(this, shape, out));
  }

  /** Copies the elements to another tensor. */
  public void copyTo(Tensor to) {
    Native.opd_tensor_copy(this, to);
  }

  /**
   * The memory itself, not a copy. It lasts as long as somebody has the buffer or a view of it, also when the tensor is
   * closed. The memory must lie on the CPU and without gaps, and not be lent for a call.
   */
  public ByteBuffer buffer() {
    long pointer = Handle.begin(this);
    try {
      ByteBuffer memory = bufferOf(pointer); // holds a reference to the tensor from here on
      Tensor held = new Tensor(pointer);
      VIEWS.register(memory, held::close);
      ByteBuffer shown = Native.opd_tensor_is_read_only(held) != 0 ? memory.asReadOnlyBuffer() : memory.duplicate();
      return shown.order(ByteOrder.nativeOrder());
    } finally {
      Handle.end(this);
    }
  }

  /** As buffer(), of float32; an IllegalArgumentException if they are something else. */
  public FloatBuffer floats() {
    return of(DType.FLOAT32).asFloatBuffer();
  }

  /** As buffer(), of float64; an IllegalArgumentException if they are something else. */
  public DoubleBuffer doubles() {
    return of(DType.FLOAT64).asDoubleBuffer();
  }

  /** As buffer(), of int32; an IllegalArgumentException if they are something else. */
  public IntBuffer ints() {
    return of(DType.INT32).asIntBuffer();
  }

  /** As buffer(), of int64; an IllegalArgumentException if they are something else. */
  public LongBuffer longs() {
    return of(DType.INT64).asLongBuffer();
  }

  private ByteBuffer of(DType expected) {
    DType given = dtype();
    if (given.equals(expected)) return buffer();
    throw new IllegalArgumentException("the elements are " + given + ", not " + expected);
  }

  /** As "Tensor(float32[4], cpu:0)". */
  @Override
  public String toString() {
    return Out.take(out -> Native.opd_value_to_string(this, out));
  }

  private static native ByteBuffer bufferOf(long tensor);
}
