package io.opdyno;

/** The type of a tensor's elements, in DLPack's numbers; of text by {@code Native.opd_dtype_from_string}. */
public record DType(int code, int bits, int lanes) {
  public static final DType FLOAT32 = new DType(2, 32, 1);

  long word() {
    return code | (long) bits << 8 | (long) lanes << 16;
  }

  static DType of(long word) {
    return new DType((int) (word & 0xFF), (int) (word >> 8 & 0xFF), (int) (word >> 16 & 0xFFFF));
  }
}
