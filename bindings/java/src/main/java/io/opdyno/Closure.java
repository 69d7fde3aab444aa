package io.opdyno;

import org.jspecify.annotations.Nullable;

/**
 * A C function pointer that calls a packed function, for libraries that take callbacks. Any threads may call it if the function
 * allows that.
 */
public final class Closure extends Handle {
  Closure(long pointer) {
    super(pointer);
  }

  /**
   * Of a signature as {@code "i32(ptr, ptr)"}; {@link PackedFn#ofPointer} explains it. A mistake in it is an
   * {@link OpdynoException.InvalidArgument} with its place.
   */
  public static Closure of(PackedFn function, String signature) {
    return Out.take(out -> Native.opd_closure_create(function, signature, out));
  }

  /** The address of the C function, which must not be called after close(). */
  public Pointer pointer() {
    return new Pointer(Native.opd_closure_pointer(this));
  }

  /**
   * The first failure since the last request, or null: C has no way to pass one on, so the pointer returned 0. It is what the
   * function threw, or an OpdynoException if the result does not fit the signature.
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
