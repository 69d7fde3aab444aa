package io.opdyno;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Converts Java objects to borrowed values of the library and back. A value has two words: kind (and length), and
 * content, in the layout of an opd_value on a little-endian machine. The values are valid until close().
 *
 * <p>{@link PackedFn} lists the possible values.
 */
final class Values implements AutoCloseable {
  static {
    Library.load();
  }

  static final int NONE = 0, INT = 1, BOOL = 2, FLOAT = 3, DLTENSOR = 7, TENSOR = 70;
  private static final int POINTER = 4, DTYPE = 5, DEVICE = 6, CSTRING = 8, BYTES_VIEW = 9, SMALL_STRING = 11, SMALL_BYTES = 12;
  private static final int STRING = 65, BYTES = 66, FUNCTION = 68, SHAPE = 69, ARRAY = 71, MAP = 72, MODULE = 73;

  private long[] words;
  private final List<Handle> begun = new ArrayList<>();
  private final List<Handle> made = new ArrayList<>();
  private final List<long[]> texts = new ArrayList<>();

  long[] one(Object object) {
    return all(new Object[] {object});
  }

  long[] all(Object[] objects) {
    words = new long[objects == null ? 0 : 2 * objects.length];
    for (int i = 0; i < words.length / 2; ++i) {
      view(objects[i], 2 * i);
    }
    return words;
  }

  /** Returns alternating names and values; null if there are no options. */
  long[] options(java.util.Map<String, ?> options) {
    if (options == null) return null;
    List<java.util.Map.Entry<String, ?>> entries = new ArrayList<>(options.entrySet());
    words = new long[4 * entries.size()];
    for (int i = 0; i < entries.size(); ++i) {
      String name = entries.get(i).getKey();
      try {
        view(java.util.Objects.requireNonNull(name, "the name must not be null"), 4 * i);
        view(entries.get(i).getValue(), 4 * i + 2);
      } catch (IllegalArgumentException | IllegalStateException | NullPointerException refused) {
        throw OpdynoException.of(Code.INVALID_ARGUMENT, "ValueError", "option " + name + ": " + refused.getMessage(), refused);
      }
    }
    return words;
  }

  /** Makes the first value owned, so that it outlives this object, and returns it. */
  long[] owned() {
    long[] value = Arrays.copyOf(words, 2);
    own(value);
    return value;
  }

  @Override
  public void close() {
    begun.forEach(Handle::end);
    made.forEach(Handle::close);
    texts.forEach(Values::release);
    begun.clear();
    made.clear();
    texts.clear();
  }

  private void view(Object object, int at) {
    if (object == null) put(at, NONE, 0);
    else if (object instanceof Boolean) put(at, BOOL, (Boolean) object ? 1 : 0);
    else if (object instanceof Double || object instanceof Float)
      put(at, FLOAT, Double.doubleToRawLongBits(((Number) object).doubleValue()));
    else if (object instanceof Long || object instanceof Integer || object instanceof Short || object instanceof Byte)
      put(at, INT, ((Number) object).longValue());
    else if (object instanceof String) viewText(encoded((String) object), true, at);
    else if (object instanceof byte[]) viewText((byte[]) object, false, at);
    else if (object instanceof DType) put(at, DTYPE, ((DType) object).word());
    else if (object instanceof Device) put(at, DEVICE, ((Device) object).word());
    else if (object instanceof Pointer) put(at, POINTER, ((Pointer) object).address());
    else if (object instanceof Handle) viewHandle((Handle) object, at);
    else viewHandle(keep(convert(object)), at);
  }

  /** Makes an object of the library from a Java object. */
  private static Handle convert(Object object) {
    if (object instanceof long[]) {
      return Out.<Shape>take(out -> Native.opd_shape_create((long[]) object, out));
    }
    if (object instanceof PackedFunction) {
      return Out.<PackedFn>take(out -> Native.opd_function_create((PackedFunction) object, out));
    }
    if (object instanceof List || object instanceof Object[]) {
      Object[] items = object instanceof List ? ((List<?>) object).toArray() : (Object[]) object;
      return Out.<ValueList>take(out -> Native.opd_array_create(items, out));
    }
    if (object instanceof java.util.Map) {
      List<Object> pairs = new ArrayList<>();
      ((java.util.Map<?, ?>) object).forEach((key, value) -> pairs.addAll(Arrays.asList(key, value)));
      return Out.<ValueMap>take(out -> Native.opd_map_create(pairs.toArray(), out));
    }
    throw new IllegalArgumentException(object.getClass().getName() + " is not a value that a function takes");
  }

  private Handle keep(Handle handle) {
    made.add(handle);
    return handle;
  }

  private void viewHandle(Handle handle, int at) {
    long pointer = Handle.begin(handle);
    begun.add(handle);
    if (handle instanceof Tensor) checkLoan(pointer);
    put(at, kindOf(handle, pointer), pointer);
  }

  static int kindOf(Handle handle, long pointer) {
    if (handle instanceof Tensor) return TENSOR;
    if (handle instanceof PackedFn) return FUNCTION;
    if (handle instanceof Program) return MODULE;
    if (handle instanceof ValueList) return ARRAY;
    if (handle instanceof ValueMap) return MAP;
    if (handle instanceof Shape) return SHAPE;
    return typeOf(pointer);
  }

  private void viewText(byte[] bytes, boolean isText, int at) {
    long[] value = new long[2];
    makeText(bytes, isText, value);
    texts.add(value);
    System.arraycopy(value, 0, words, at, 2);
  }

  private void put(int at, int kind, long content) {
    words[at] = kind;
    words[at + 1] = content;
  }

  static void put(ByteBuffer memory, int at, int kind, long content) {
    memory.putLong(at, kind);
    memory.putLong(at + 8, content);
  }

  /** Writes a value. Returns false for a handle, or for an object that must become one. */
  static boolean putPlain(ByteBuffer memory, int at, Object object) {
    if (object == null) put(memory, at, NONE, 0);
    else if (object instanceof Long || object instanceof Integer || object instanceof Short || object instanceof Byte)
      put(memory, at, INT, ((Number) object).longValue());
    else if (object instanceof Double || object instanceof Float)
      put(memory, at, FLOAT, Double.doubleToRawLongBits(((Number) object).doubleValue()));
    else if (object instanceof Boolean) put(memory, at, BOOL, (Boolean) object ? 1 : 0);
    else if (object instanceof DType) put(memory, at, DTYPE, ((DType) object).word());
    else if (object instanceof Device) put(memory, at, DEVICE, ((Device) object).word());
    else if (object instanceof Pointer) put(memory, at, POINTER, ((Pointer) object).address());
    else return false;
    return true;
  }

  /** Takes ownership of a value and returns its Java object. */
  static Object take(ByteBuffer memory, int at) {
    long head = memory.getLong(at), content = memory.getLong(at + 8);
    switch ((int) head) {
      case NONE:
        return null;
      case INT:
        return content;
      case FLOAT:
        return Double.longBitsToDouble(content);
      default:
        return take(new long[] {head, content});
    }
  }

  /** Returns the Java object of a borrowed value. */
  static Object copy(ByteBuffer memory, int at) {
    long head = memory.getLong(at), content = memory.getLong(at + 8);
    if ((int) head <= DEVICE) return take(memory, at);
    long[] value = {head, content};
    if ((int) head == CSTRING || (int) head == BYTES_VIEW) return textOf(value);
    retain(value);
    return take(value);
  }

  /**
   * Takes ownership of values and returns their Java objects; null if there is no first value, for example after a
   * failed call.
   */
  static Object[] takeAll(long[] values) {
    if (values[0] == NONE) return null;
    Object[] objects = new Object[values.length / 2];
    for (int i = 0; i < objects.length; ++i) objects[i] = take(Arrays.copyOfRange(values, 2 * i, 2 * i + 2));
    return objects;
  }

  /** Takes ownership of a value and returns its Java object. */
  static Object take(long[] value) {
    long content = value[1];
    switch ((int) value[0]) {
      case NONE:
        return null;
      case INT:
        return content;
      case POINTER:
        return new Pointer(content);
      case BOOL:
        return content != 0;
      case FLOAT:
        return Double.longBitsToDouble(content);
      case DTYPE:
        return DType.of(content);
      case DEVICE:
        return Device.of(content);
      case SMALL_STRING:
      case SMALL_BYTES:
      case STRING:
      case BYTES:
        try {
          return textOf(value);
        } finally {
          release(value);
        }
      case SHAPE:
        try {
          return dimsOf(content);
        } finally {
          release(value);
        }
      default:
        return handleOf((int) value[0], content);
    }
  }

  private static Handle handleOf(int kind, long pointer) {
    switch (kind) {
      case FUNCTION:
        return new PackedFn(pointer);
      case TENSOR:
        return new Tensor(pointer);
      case ARRAY:
        return new ValueList(pointer);
      case MAP:
        return new ValueMap(pointer);
      case MODULE:
        return new Program(pointer);
      default:
        return new Handle(pointer);
    }
  }

  private static Object textOf(long[] value) {
    byte[] bytes = bytesOf(value);
    int kind = (int) value[0];
    return kind == CSTRING || kind == SMALL_STRING || kind == STRING ? text(bytes) : bytes;
  }

  static String text(byte[] utf8) {
    return utf8 == null ? null : new String(utf8, StandardCharsets.UTF_8);
  }

  /** Encodes text in UTF-8. Refuses unpaired surrogates, which UTF-8 cannot represent. */
  static byte[] encoded(String text) {
    for (int i = 0; i < text.length(); ++i) {
      if (!Character.isSurrogate(text.charAt(i))) continue;
      if (i + 1 == text.length() || !Character.isSurrogatePair(text.charAt(i), text.charAt(i + 1)))
        throw new IllegalArgumentException("text with a lone surrogate at " + i);
      ++i;
    }
    return text.getBytes(StandardCharsets.UTF_8);
  }

  /** Converts a time of an option to nanoseconds. A time that is too long becomes the longest possible one. */
  static long nanos(java.time.Duration time) {
    try {
      return time.toNanos();
    } catch (ArithmeticException tooLong) {
      return time.isNegative() ? Long.MIN_VALUE : Long.MAX_VALUE;
    }
  }

  /** Converts a limit of time. In C, 0 is no limit; a duration of 0 is over at once. */
  static long timeoutNanos(java.time.Duration time) {
    return time.isZero() ? 1 : nanos(time);
  }

  /** Returns the text's bytes with the 0 byte that C expects. */
  static byte[] utf8(String text) {
    if (text == null) return null;
    if (text.indexOf('\0') >= 0) throw new IllegalArgumentException("text with a NUL character: " + text);
    byte[] bytes = encoded(text);
    return Arrays.copyOf(bytes, bytes.length + 1);
  }

  static byte[][] utf8(String[] texts) {
    return Arrays.stream(texts).map(Values::utf8).toArray(byte[][]::new);
  }

  /** Returns all keys, then all values. */
  static byte[][] utf8(java.util.Map<String, String> texts) {
    List<java.util.Map.Entry<String, String>> entries = new ArrayList<>(texts.entrySet()); // the map may change
    List<String> all = new ArrayList<>();
    entries.forEach(entry -> all.add(entry.getKey()));
    entries.forEach(entry -> all.add(entry.getValue()));
    return utf8(all.toArray(String[]::new));
  }

  private static native void makeText(byte[] bytes, boolean isText, long[] out);

  private static native byte[] bytesOf(long[] value);

  private static native void retain(long[] value);

  private static native void own(long[] value);

  private static native void checkLoan(long tensor);

  static native void endBorrow(long tensor);

  private static native void release(long[] value);

  private static native long[] dimsOf(long shape);

  private static native int typeOf(long object);

  /** Returns the number of bytes of the tensors in a list or map. */
  static native long heldBytes(long object);
}
