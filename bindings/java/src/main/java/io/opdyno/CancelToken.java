package io.opdyno;

/** Ends calls from outside: see CallOptions. */
public final class CancelToken extends Handle {
  CancelToken(long pointer) {
    super(pointer);
  }

  /** A token that is not cancelled. */
  public static CancelToken create() {
    return Out.take(Native::opd_cancel_token_create);
  }

  /** Ends all calls that use it, and those to come. */
  public void cancel() {
    Native.opd_cancel_token_cancel(this);
  }

  /** Makes it usable again. */
  public void reset() {
    Native.opd_cancel_token_reset(this);
  }
}
