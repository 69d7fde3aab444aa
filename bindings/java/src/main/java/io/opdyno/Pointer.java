package io.opdyno;

/**
 * An address in native memory, as an argument or result of C functions: the type {@code ptr} of signatures. NULL is null, either
 * way. Nothing keeps what lies there.
 *
 * @param address its number
 */
public record Pointer(long address) {
  /** As "0x7f01c2a0". */
  @Override
  public String toString() {
    return "0x" + Long.toHexString(address);
  }
}
