package io.opdyno;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.util.Objects;
import java.util.function.LongFunction;

/**
 * Elements of one type in memory of a device, with a shape. The methods of() copy the elements to a tensor on the CPU.
 */
public final class Tensor extends Handle {
  Tensor(long pointer) {
    super(pointer, sizeOf(pointer));
  }

  Tensor(long pointer, long bytes) {
    super(pointer, bytes);
  }

  /** Makes a tensor with uninitialised elements. */
  public static Tensor create(DType dtype, long... shape) {
    return create(Device.CPU, dtype, shape);
  }

  /** Makes a tensor with uninitialised elements on a device. */
  public static Tensor create(Device device, DType dtype, long... shape) {
    return Out.take(out -> Native.opd_tensor_create(shape, dtype, device, out));
  }

  /** Makes a tensor of float32. */
  public static Tensor of(float[] elements, long... shape) {
    ByteBuffer bytes = room(elements.length, 4);
    bytes.asFloatBuffer().put(elements);
    return of(bytes.array(), DType.FLOAT32, shape);
  }

  /** Makes a tensor of float64. */
  public static Tensor of(double[] elements, long... shape) {
    ByteBuffer bytes = room(elements.length, 8);
    bytes.asDoubleBuffer().put(elements);
    return of(bytes.array(), DType.FLOAT64, shape);
  }

  /** Makes a tensor of int32. */
  public static Tensor of(int[] elements, long... shape) {
    ByteBuffer bytes = room(elements.length, 4);
    bytes.asIntBuffer().put(elements);
    return of(bytes.array(), DType.INT32, shape);
  }

  /** Makes a tensor of int64. */
  public static Tensor of(long[] elements, long... shape) {
    ByteBuffer bytes = room(elements.length, 8);
    bytes.asLongBuffer().put(elements);
    return of(bytes.array(), DType.INT64, shape);
  }

  /** Makes a tensor from the bytes of its elements, row by row. */
  public static Tensor of(byte[] elements, DType dtype, long... shape) {
    Objects.requireNonNull(elements, "elements must not be null");
    Tensor made = create(dtype, shape);
    try {
      Native.opd_tensor_copy_from_bytes(made, elements);
      return made;
    } catch (Throwable failed) {
      made.close();
      throw failed;
    }
  }

  /**
   * Makes a tensor that shares the memory of a direct buffer, from its position to its limit, row by row. Writes to the
   * tensor change the buffer. The tensor of a read-only buffer is read-only. The buffer is kept as long as the tensor
   * shares its memory. If the buffer is a view of a MemorySegment, the segment must not be freed before. Programs
   * refuse arguments whose data does not begin at a multiple of 64 bytes; see {@link ByteBuffer#alignedSlice}.
   */
  public static Tensor wrap(ByteBuffer elements, DType dtype, long... shape) {
    Objects.requireNonNull(elements, "elements must not be null");
    Objects.requireNonNull(dtype, "dtype must not be null");
    if (!elements.isDirect()) throw new IllegalArgumentException("the buffer must be direct; of() copies elements of the heap");
    Tensor made = new Tensor(ofBuffer(elements.slice(), dtype.word(), shape, elements.isReadOnly()), 0); // Java counts its buffers itself
    if (made.byteSize() == elements.remaining()) return made;
    try (made) {
      throw new IllegalArgumentException(elements.remaining() + " bytes do not fill " + made);
    }
  }

  private static ByteBuffer room(int count, int size) {
    int most = Integer.MAX_VALUE / size;
    if (count > most) throw new IllegalArgumentException(count + " elements are too many to copy, which are at most " + most);
    return ByteBuffer.allocate(count * size).order(ByteOrder.nativeOrder());
  }

  /** The sizes of the dimensions. */
  public long[] shape() {
    return with(Tensor::dimsOf);
  }

  /** The stride of each dimension, in elements. */
  public long[] strides() {
    return with(Tensor::stridesOf);
  }

  /** The device of the elements. */
  public Device device() {
    return Device.of(with(Tensor::deviceOf));
  }

  /** The type of the elements. */
  public DType dtype() {
    return DType.of(with(Tensor::dtypeOf));
  }

  /** The size of the elements in bytes. */
  public long byteSize() {
    return Native.opd_tensor_bytes(this);
  }

  /**
   * A copy of the elements. IllegalStateException if they have more than 2147483647 bytes, which is the limit of Java
   * arrays.
   */
  public byte[] toBytes() {
    return with(Tensor::bytesOf);
  }

  /** A copy of the elements. IllegalArgumentException if they are not float32. */
  public float[] toFloatArray() {
    FloatBuffer copy = copy(DType.FLOAT32).asFloatBuffer();
    float[] elements = new float[copy.capacity()];
    copy.get(elements);
    return elements;
  }

  /** A copy of the elements. IllegalArgumentException if they are not float64. */
  public double[] toDoubleArray() {
    DoubleBuffer copy = copy(DType.FLOAT64).asDoubleBuffer();
    double[] elements = new double[copy.capacity()];
    copy.get(elements);
    return elements;
  }

  /** A copy of the elements. IllegalArgumentException if they are not int32. */
  public int[] toIntArray() {
    IntBuffer copy = copy(DType.INT32).asIntBuffer();
    int[] elements = new int[copy.capacity()];
    copy.get(elements);
    return elements;
  }

  /** A copy of the elements. IllegalArgumentException if they are not int64. */
  public long[] toLongArray() {
    LongBuffer copy = copy(DType.INT64).asLongBuffer();
    long[] elements = new long[copy.capacity()];
    copy.get(elements);
    return elements;
  }

  private ByteBuffer copy(DType expected) {
    check(expected);
    return ByteBuffer.wrap(toBytes()).order(ByteOrder.nativeOrder());
  }

  /** Returns a tensor with another shape, which shares the elements of this tensor. */
  public Tensor reshape(long... shape) {
    return Out.take(out -> Native.opd_tensor_reshape(this, shape, out));
  }

  /** Copies the elements to another tensor, which must have the same shape and dtype. */
  public void copyTo(Tensor to) {
    Native.opd_tensor_copy(this, to);
  }

  /** Copies the tensor to a device. */
  public Tensor to(Device device) {
    Tensor made = create(device, dtype(), shape());
    try {
      copyTo(made);
      return made;
    } catch (Throwable failed) {
      made.close();
      throw failed;
    }
  }

  /**
   * Returns the memory as a buffer, without a copy. The memory is kept as long as the buffer or a view of it is
   * reachable, even if the tensor is closed. The memory must be on the CPU and without gaps, and must not be lent for a
   * call. A Java buffer has at most 2147483647 bytes; for larger tensors, use {@code Segments.of(tensor)}.
   */
  public ByteBuffer buffer() {
    boolean isReadOnly = isReadOnly();
    return with(
        pointer -> {
          ByteBuffer memory = bufferOf(pointer); // from now on, the buffer holds a reference to the tensor
          Handle.endWith(memory, pointer, sizeOf(pointer));
          ByteBuffer shown = isReadOnly ? memory.asReadOnlyBuffer() : memory.duplicate();
          return shown.order(ByteOrder.nativeOrder());
        });
  }

  /** Returns another handle of this tensor. Throws unless the memory may be used after a call; see buffer(). */
  Tensor shared() {
    return with(pointer -> new Tensor(share(pointer)));
  }

  /** The address of the first element. */
  long address() {
    return with(Tensor::addressOf);
  }

  /** Like buffer(), for float32. IllegalArgumentException for another dtype. */
  public FloatBuffer floats() {
    return of(DType.FLOAT32).asFloatBuffer();
  }

  /** Like buffer(), for float64. IllegalArgumentException for another dtype. */
  public DoubleBuffer doubles() {
    return of(DType.FLOAT64).asDoubleBuffer();
  }

  /** Like buffer(), for int32. IllegalArgumentException for another dtype. */
  public IntBuffer ints() {
    return of(DType.INT32).asIntBuffer();
  }

  /** Like buffer(), for int64. IllegalArgumentException for another dtype. */
  public LongBuffer longs() {
    return of(DType.INT64).asLongBuffer();
  }

  /**
   * Makes a tensor of a DLPack tensor without a copy, and takes ownership of it. {@code managed} is the address of a C
   * struct DLManagedTensorVersioned, or of the older DLManagedTensor. The struct's deleter is called once, on any
   * thread, when the tensor and its buffers are no longer in use. Until then the deleter's code must stay loaded. If
   * this method throws, the caller still owns the struct.
   */
  public static Tensor ofDlpack(long managed, boolean isVersioned) {
    return new Tensor(fromDlpack(managed, isVersioned));
  }

  /**
   * Exports the tensor to a consumer of DLPack, without a copy. Returns the address of a new C struct
   * DLManagedTensorVersioned, or of the older DLManagedTensor, which keeps the memory even after close(). The consumer
   * must call the struct's deleter once. If there is no consumer, call {@code Tensor.ofDlpack(address,
   * isVersioned).close()}. The older struct has no flag for read-only tensors, so {@link OpdynoException.Unsupported}
   * is thrown for them.
   */
  public long toDlpack(boolean isVersioned) {
    return with(pointer -> toDlpack(pointer, isVersioned));
  }

  /** Whether the elements must not be written. */
  public boolean isReadOnly() {
    return Native.opd_tensor_is_read_only(this) != 0;
  }

  /** Whether the elements are in row-major order without gaps. */
  public boolean isContiguous() {
    return Native.opd_tensor_is_contiguous(this) != 0;
  }

  /**
   * Whether no other object refers to the tensor or, as far as opdyno knows, to its memory. Buffers and views count as
   * such.
   */
  public boolean isUnique() {
    return Native.opd_tensor_is_unique(this) != 0;
  }

  private ByteBuffer of(DType expected) {
    check(expected);
    return buffer();
  }

  private void check(DType expected) {
    DType given = dtype();
    if (!given.equals(expected)) throw new IllegalArgumentException("the elements are " + given + ", not " + expected);
  }

  private <R> R with(LongFunction<R> use) {
    long pointer = Handle.begin(this);
    try {
      return use.apply(pointer);
    } finally {
      Handle.end(this);
    }
  }

  /** Text such as "Tensor(float32[4], cpu:0)". */
  @Override
  public String toString() {
    return Out.take(out -> Native.opd_value_to_string(this, out));
  }

  private static native long ofBuffer(ByteBuffer elements, long dtype, long[] shape, boolean isReadOnly);

  private static native ByteBuffer bufferOf(long tensor);

  private static native long share(long tensor);

  private static native long addressOf(long tensor);

  private static native long fromDlpack(long managed, boolean isVersioned);

  private static native long toDlpack(long tensor, boolean isVersioned);

  private static native byte[] bytesOf(long tensor);

  private static native long[] dimsOf(long tensor);

  private static native long[] stridesOf(long tensor);

  private static native long deviceOf(long tensor);

  private static native long dtypeOf(long tensor);

  private static native long sizeOf(long tensor);
}
