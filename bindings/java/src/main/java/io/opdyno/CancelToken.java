package io.opdyno;

/** Ends calls from outside. */
public final class CancelToken extends Handle {
  CancelToken(long pointer) {
    super(pointer);
  }
}
