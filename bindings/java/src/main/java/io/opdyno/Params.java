package io.opdyno;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** Named tensors, in a file or in memory. Any thread may request tensors, but only one thread at a time may call set(). */
public final class Params extends Handle {
  private final java.util.Map<String, Long> bytesSet = new ConcurrentHashMap<>(); // sizes of tensors from set()

  Params(long pointer) {
    super(pointer, heldBytes(pointer));
  }

  /** Makes an empty set. */
  public static Params create() {
    return Out.take(Native::opd_params_create);
  }

  /** Opens a file; null: all defaults. */
  public static Params open(Path path, @Nullable ParamsOptions options) {
    return Out.take(out -> Native.opd_params_open(path, ParamsOptions.map(options), out));
  }

  /** Opens a file. */
  public static Params open(Path path) {
    return open(path, null);
  }

  /**
   * Opens the bytes of a file, from the position of a direct buffer to its limit. If possible, tensors are views of the
   * buffer, and a write to a view changes the buffer. The buffer is kept as long as there are views. Without the option
   * {@code copy}, the buffer must not be read-only.
   */
  public static Params open(ByteBuffer bytes, @Nullable ParamsOptions options) {
    java.util.Map<String, Object> map = ParamsOptions.map(options);
    if (!bytes.isDirect()) throw new IllegalArgumentException("the buffer must be direct; load() takes bytes of the heap");
    if (bytes.isReadOnly() && (map == null || !Boolean.TRUE.equals(map.get("copy"))))
      throw new IllegalArgumentException("the buffer is read-only, and tensors that are views of it are not: set the option copy");
    try (Values values = new Values()) {
      return new Params(openBytes(bytes.slice(), values.options(map)));
    }
  }

  /** Reads the bytes of a file, copies all tensors, and compares the checksums. */
  public static Params load(byte[] bytes) {
    Objects.requireNonNull(bytes, "bytes must not be null");
    return Out.take(out -> Native.opd_params_load_bytes(bytes, out));
  }

  /** The names, in the order of the file. */
  public List<String> names() {
    List<String> names = new ArrayList<>();
    for (int i = 0, count = Native.opd_params_count(this); i < count; ++i) names.add(Native.opd_params_name(this, i));
    return names;
  }

  /** Describes the tensors, in the order of the file. No tensor is made. */
  public List<TensorInfo> info() {
    List<TensorInfo> all = new ArrayList<>();
    for (int i = 0, count = Native.opd_params_count(this); i < count; ++i) {
      int place = i;
      all.add(Out.take(out -> Native.opd_params_get_info(this, place, out)));
    }
    return all;
  }

  /** Counts of how the tensors were made so far. */
  public ParamsStats stats() {
    return Out.take(out -> Native.opd_params_get_stats(this, out));
  }

  /** The tensor of a name. */
  public Tensor get(String name) {
    return Out.take(out -> Native.opd_params_get(this, name, out));
  }

  /** Adds or replaces a tensor. */
  public void set(String name, Tensor tensor) {
    Native.opd_params_set(this, name, tensor);
    long bytes = tensor.byteSize();
    Long replaced = bytesSet.put(name, bytes);
    Handle.count(this, replaced == null ? bytes : bytes - replaced);
  }

  /**
   * Writes a file, which is replaced as a whole. The file's name decides the format: .npz, .safetensors, .npy (for
   * exactly one tensor), tensor-cache.json (with more files beside it); any other name: TVM's param dict.
   */
  public void save(Path path) {
    Native.opd_params_save(this, path);
  }

  /** The set as the bytes of TVM's param dict. */
  public byte[] toBytes() {
    return Out.take(out -> Native.opd_params_save_bytes(this, out));
  }

  /** The bytes of the tensors that are not views of a file. */
  private static native long heldBytes(long params);

  private static native long openBytes(ByteBuffer bytes, long[] options);
}
