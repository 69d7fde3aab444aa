package io.opdyno;

import org.jspecify.annotations.Nullable;

/**
 * A C function pointer that calls a packed function, for libraries that take callbacks. Any thread may call it if the
 * packed function allows that.
 */
public final class Closure extends Handle {
  Closure(long pointer) {
    super(pointer);
  }

  /**
   * Makes a C function with a signature such as {@code "i32(ptr, ptr)"}; {@link PackedFn#ofPointer} explains signatures. Throws
   * {@link OpdynoException.InvalidArgument} for a wrong signature; the message has the place of the mistake.
   */
  public static Closure of(PackedFn function, String signature) {
    return Out.take(out -> Native.opd_closure_create(function, signature, out));
  }

  /** The address of the C function, which must not be called after close(). */
  public Pointer pointer() {
    return new Pointer(Native.opd_closure_pointer(this));
  }

  /**
   * Returns and clears the first failure since the previous call of this method; null if there is none. Because C
   * cannot receive an exception, the C function returns 0 after a failure. The failure is the exception of the packed
   * function, or an OpdynoException if the result does not fit the signature.
   */
  public @Nullable Throwable takeError() {
    long pointer = Handle.begin(this);
    try {
      return takeError(pointer);
    } finally {
      Handle.end(this);
    }
  }

  private static native Throwable takeError(long pointer);
}
