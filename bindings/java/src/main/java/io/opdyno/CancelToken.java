package io.opdyno;

import org.jspecify.annotations.Nullable;

/** Ends calls from outside: see CallOptions. All methods are safe on any thread. */
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

  /** The operator that a call with this token is running, for messages about calls that hang; null if there is none. */
  public @Nullable String currentOperator() {
    return Native.opd_cancel_token_current_operator(this);
  }

  /**
   * Sets the token of the calling thread, which ends all its calls; null: none. It takes the place of the one by which
   * Thread.interrupt() ends calls of a {@link PackedFn} and of an {@link Evaluator}; those of a {@link Vm} without a token in their
   * options end by either. The thread must not be virtual, since the token belongs to the native one. Inside of a call it is an
   * {@link OpdynoException.FailedPrecondition}.
   */
  public static void setDefault(@Nullable CancelToken token) {
    Native.opd_cancel_token_set_default(token);
    Interrupts.setDefault(token);
  }
}
