package io.opdyno;

import java.util.Objects;

/** A VM program as data. It can be assembled, read and written. */
public final class Executable extends Handle {
  Executable(long pointer) {
    super(pointer);
  }

  /** Assembles a program from its text form, which docs/assembly.md describes. */
  public static Executable assemble(String text) {
    return Out.take(out -> Native.opd_executable_assemble(Values.encoded(Objects.requireNonNull(text, "text must not be null")), out));
  }

  /** Reads a program in its binary form. */
  public static Executable load(byte[] bytes) {
    Objects.requireNonNull(bytes, "bytes must not be null");
    return Out.take(out -> Native.opd_executable_load_bytes(bytes, out));
  }

  /** Returns the program of a module. */
  public static Executable of(Program program) {
    Objects.requireNonNull(program, "program must not be null");
    return Out.take(out -> Native.opd_executable_from_module(program, out));
  }

  /** Makes a module, from which VMs can be made. It imports what the module of {@link #of} imported. */
  public Program toProgram() {
    return Out.take(out -> Native.opd_executable_to_module(this, out));
  }

  /** Writes the program as text. */
  public String write(ExecutableFormat format) {
    return Out.take(out -> Native.opd_executable_write(this, format, out));
  }

  /** Writes the program in its binary form. */
  public byte[] toBytes() {
    return Out.take(out -> Native.opd_executable_save_bytes(this, out));
  }

  @Override
  public String toString() {
    return write(ExecutableFormat.ASSEMBLY);
  }
}
