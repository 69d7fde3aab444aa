package io.opdyno;

/**
 * An address in native memory, as an argument or result of C functions: the type {@code ptr} of signatures. NULL is null in both
 * directions. The memory is not kept alive.
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
