package io.opdyno;

/** A device, in DLPack's numbers; of text by {@code Native.opd_device_from_string}. */
public record Device(int type, int id) {
  public static final Device CPU = new Device(1, 0);

  long word() {
    return type & 0xFFFFFFFFL | (long) id << 32;
  }

  static Device of(long word) {
    return new Device((int) word, (int) (word >> 32));
  }
}
