package io.opdyno;

/** An error of the library, or one that a called function raised. */
public final class OpdynoException extends RuntimeException {
  private static final long serialVersionUID = 1;
  private final int code;
  private final String kind;
  private final String backtrace;

  private OpdynoException(int code, String kind, String message, String backtrace) {
    super(message);
    this.code = code;
    this.kind = kind;
    this.backtrace = backtrace;
  }

  /** What went wrong; OPD_INTERNAL for a code that this version does not know. */
  public opd_code code() {
    try {
      return opd_code.swigToEnum(code);
    } catch (IllegalArgumentException unknown) {
      return opd_code.OPD_INTERNAL;
    }
  }

  /** The name that says what kind of error it is: "TypeError", "ValueError" … */
  public String kind() {
    return kind;
  }

  /** Native frames, where the library was asked to keep them. */
  public String backtrace() {
    return backtrace;
  }

  @Override
  public String toString() {
    return getClass().getName() + ": " + kind + ": " + getMessage();
  }

  static OpdynoException of(opd_code code, String message, Throwable cause) {
    OpdynoException made = new OpdynoException(code.swigValue(), "ValueError", message, "");
    made.initCause(cause);
    return made;
  }

  /**
   * What to throw for an error: what a callback threw, if it was that, with the error added as suppressed. There is a code
   * for the error and each of its causes, and three texts: kind, message, backtrace.
   */
  static Throwable make(Throwable crossed, int[] codes, byte[][] texts) {
    OpdynoException made = null;
    for (int i = codes.length; i-- > 0; ) {
      OpdynoException cause = made;
      made = new OpdynoException(
              codes[i], Values.text(texts[3 * i]), Values.text(texts[3 * i + 1]), Values.text(texts[3 * i + 2]));
      if (cause != null) made.initCause(cause);
    }
    if (crossed == null) return made;
    crossed.addSuppressed(made);
    return crossed;
  }

  /** Kind and message for the error that stands for an exception. */
  static byte[][] describe(Throwable thrown) {
    boolean ours = thrown instanceof OpdynoException;
    String kind = ours ? ((OpdynoException) thrown).kind : thrown.getClass().getSimpleName();
    String message = thrown.getMessage() == null ? "" : thrown.getMessage().replace("\0", "\\0"); // C's texts have none
    return Values.utf8(new String[] {kind.isEmpty() ? "Throwable" : kind, message});
  }
}
