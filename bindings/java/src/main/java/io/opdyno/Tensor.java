package io.opdyno;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.util.Objects;
import java.util.function.LongFunction;

/** Memory with a shape and a type of its elements. A tensor made by of() is a copy that lies on the CPU. */
public final class Tensor extends Handle {
  Tensor(long pointer) {
    super(pointer, sizeOf(pointer));
  }

  Tensor(long pointer, long bytes) {
    super(pointer, bytes);
  }

  /** Of elements that are not set yet. */
  public static Tensor create(DType dtype, long... shape) {
    return create(Device.CPU, dtype, shape);
  }

  /** Likewise, on a device. */
  public static Tensor create(Device device, DType dtype, long... shape) {
    return Out.take(out -> Native.opd_tensor_create(shape, dtype, device, out));
  }

  /** Of float32. */
  public static Tensor of(float[] elements, long... shape) {
    ByteBuffer bytes = room(elements.length, 4);
    bytes.asFloatBuffer().put(elements);
    return of(bytes.array(), DType.FLOAT32, shape);
  }

  /** Of float64. */
  public static Tensor of(double[] elements, long... shape) {
    ByteBuffer bytes = room(elements.length, 8);
    bytes.asDoubleBuffer().put(elements);
    return of(bytes.array(), DType.FLOAT64, shape);
  }

  /** Of int32. */
  public static Tensor of(int[] elements, long... shape) {
    ByteBuffer bytes = room(elements.length, 4);
    bytes.asIntBuffer().put(elements);
    return of(bytes.array(), DType.INT32, shape);
  }

  /** Of int64. */
  public static Tensor of(long[] elements, long... shape) {
    ByteBuffer bytes = room(elements.length, 8);
    bytes.asLongBuffer().put(elements);
    return of(bytes.array(), DType.INT64, shape);
  }

  /** Of elements as they lie in memory, row by row. */
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
   * Of the memory of a direct buffer, from its position to its limit, row by row: not a copy. What writes the tensor writes the
   * buffer; a tensor of a buffer that is read-only is read-only. The buffer is kept until nothing shares its memory any more. Memory
   * of a MemorySegment must not be freed before. Programs refuse arguments that do not begin at a multiple of 64 bytes: see
   * {@link ByteBuffer#alignedSlice}.
   */
  public static Tensor wrap(ByteBuffer elements, DType dtype, long... shape) {
    Objects.requireNonNull(elements, "elements must not be null");
    Objects.requireNonNull(dtype, "dtype must not be null");
    if (!elements.isDirect()) throw new IllegalArgumentException("the buffer must be direct; of() copies elements of the heap");
    Tensor made = new Tensor(ofBuffer(elements.slice(), dtype.word(), shape, elements.isReadOnly()), 0); // Java counts its buffers
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

  /** How many elements lie between neighbours along each dimension. */
  public long[] strides() {
    return with(Tensor::stridesOf);
  }

  /** Where the elements lie. */
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

  /** A copy of the elements; an IllegalStateException if they have more bytes than an array of Java, which has 2147483647 at most. */
  public byte[] toBytes() {
    return with(Tensor::bytesOf);
  }

  /** A copy of the elements; an IllegalArgumentException if they are no float32. */
  public float[] toFloatArray() {
    FloatBuffer copy = copy(DType.FLOAT32).asFloatBuffer();
    float[] elements = new float[copy.capacity()];
    copy.get(elements);
    return elements;
  }

  /** A copy of the elements; an IllegalArgumentException if they are no float64. */
  public double[] toDoubleArray() {
    DoubleBuffer copy = copy(DType.FLOAT64).asDoubleBuffer();
    double[] elements = new double[copy.capacity()];
    copy.get(elements);
    return elements;
  }

  /** A copy of the elements; an IllegalArgumentException if they are no int32. */
  public int[] toIntArray() {
    IntBuffer copy = copy(DType.INT32).asIntBuffer();
    int[] elements = new int[copy.capacity()];
    copy.get(elements);
    return elements;
  }

  /** A copy of the elements; an IllegalArgumentException if they are no int64. */
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

  /** The same elements, in the same memory, with another shape. */
  public Tensor reshape(long... shape) {
    return Out.take(out -> Native.opd_tensor_reshape(this, shape, out));
  }

  /** Copies the elements to another tensor. */
  public void copyTo(Tensor to) {
    Native.opd_tensor_copy(this, to);
  }

  /** A copy on a device. */
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
   * The memory itself, not a copy. It lasts as long as somebody has the buffer or a view of it, also when the tensor is
   * closed. The memory must lie on the CPU and without gaps, and not be lent for a call. A buffer of Java has at most 2147483647
   * bytes: {@code Segments.of(tensor)} shows larger ones.
   */
  public ByteBuffer buffer() {
    boolean isReadOnly = isReadOnly();
    return with(
        pointer -> {
          ByteBuffer memory = bufferOf(pointer); // holds a reference to the tensor from here on
          Handle.endWith(memory, pointer, sizeOf(pointer));
          ByteBuffer shown = isReadOnly ? memory.asReadOnlyBuffer() : memory.duplicate();
          return shown.order(ByteOrder.nativeOrder());
        });
  }

  /** Another handle of the same tensor, whose memory may be shown beyond a call: see buffer(). */
  Tensor shared() {
    return with(pointer -> new Tensor(share(pointer)));
  }

  /** Where the first element lies. */
  long address() {
    return with(Tensor::addressOf);
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

  /**
   * Takes over a DLPack tensor without a copy: the address of a C struct DLManagedTensorVersioned, or of the older
   * DLManagedTensor. Its deleter is called once, on any thread, when neither the tensor nor a buffer of it is in use any more;
   * until then its code must stay loaded. If this throws, the struct is still the caller's.
   */
  public static Tensor ofDlpack(long managed, boolean isVersioned) {
    return new Tensor(fromDlpack(managed, isVersioned));
  }

  /**
   * Lends the memory to a consumer of DLPack, without a copy: the address of a new C struct DLManagedTensorVersioned, or of the
   * older DLManagedTensor, which keeps the memory also after close(). The consumer must call the deleter in the struct once;
   * where there is none, {@code Tensor.ofDlpack(address, isVersioned).close()} does. The older struct cannot say that a tensor is
   * read-only: one that is is an {@link OpdynoException.Unsupported}.
   */
  public long toDlpack(boolean isVersioned) {
    return with(pointer -> toDlpack(pointer, isVersioned));
  }

  /** Whether the elements must not be written. */
  public boolean isReadOnly() {
    return Native.opd_tensor_is_read_only(this) != 0;
  }

  /** Whether the elements lie row by row, without gaps. */
  public boolean isContiguous() {
    return Native.opd_tensor_is_contiguous(this) != 0;
  }

  /** Whether nothing else refers to the tensor, nor to its memory as far as opdyno knows: buffers and views do. */
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

  /** As "Tensor(float32[4], cpu:0)". */
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
