package io.opdyno;

import org.jspecify.annotations.Nullable;

/**
 * The type of a tensor's elements, in the encoding of DLPack. A number for which DLPack has no bits is an
 * IllegalArgumentException.
 *
 * @param code the kind: 0 is signed, 1 is unsigned, 2 is floating-point …
 * @param bits the number of bits of a lane
 * @param lanes the number of lanes of an element, usually 1
 */
public record DType(int code, int bits, int lanes) {
  public DType {
    check("code", code, 0xFF);
    check("bits", bits, 0xFF);
    check("lanes", lanes, 0xFFFF);
  }

  private static void check(String what, int number, int most) {
    if (number < 0 || number > most) throw new IllegalArgumentException(what + " must lie between 0 and " + most + ", but is " + number);
  }

  /** The dtype of Java's float. */
  public static final DType FLOAT32 = new DType(2, 32, 1);

  /** The dtype of Java's double. */
  public static final DType FLOAT64 = new DType(2, 64, 1);

  /** The dtype of Java's int. */
  public static final DType INT32 = new DType(0, 32, 1);

  /** The dtype of Java's long. */
  public static final DType INT64 = new DType(0, 64, 1);

  /**
   * Parses text such as "float32", "uint8" or "float32x4". Throws {@link OpdynoException.InvalidArgument} for other
   * text.
   */
  public static DType of(String text) {
    return Out.take(out -> Native.opd_dtype_from_string(text, out));
  }

  /** The size of an element in bytes, rounded up. */
  public int itemSize() {
    return (bits * lanes + 7) / 8;
  }

  // Written by hand, because the methods that Java 17 makes for a record keep the class loader alive after their first
  // call.
  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof DType dtype && word() == dtype.word();
  }

  @Override
  public int hashCode() {
    return Long.hashCode(word());
  }

  long word() {
    return code | (long) bits << 8 | (long) lanes << 16;
  }

  static DType of(long word) {
    return new DType((int) (word & 0xFF), (int) (word >> 8 & 0xFF), (int) (word >> 16 & 0xFFFF));
  }

  /** Text such as "float32". */
  @Override
  public String toString() {
    return Out.take(out -> Native.opd_dtype_to_string(this, out));
  }
}
