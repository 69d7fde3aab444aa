package io.opdyno;

/**
 * An address in native memory, as an argument or result of C functions; signatures call this type {@code ptr}. C's NULL
 * is Java's null in both directions. A pointer does not keep the memory alive.
 *
 * @param address the address as a number
 */
public record Pointer(long address) {
  /** Text such as "0x7f01c2a0". */
  @Override
  public String toString() {
    return "0x" + Long.toHexString(address);
  }
}
