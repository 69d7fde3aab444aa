package io.opdyno;

import java.nio.charset.StandardCharsets;
import java.util.Objects;

/** An error of the library or of a function that it called. */
public class OpdynoException extends RuntimeException {
  private static final long serialVersionUID = 1;
  private final int code;
  private final String kind;
  private final String backtrace;
  private transient boolean isOfCrossing; // represents another exception that passed through native code

  private OpdynoException(int code, String kind, String message, String backtrace) {
    super(message);
    this.code = code;
    this.kind = kind;
    this.backtrace = backtrace;
  }

  /** Makes an exception of the class for the code. */
  private static OpdynoException create(int code, String kind, String message, String backtrace) {
    switch (codeOf(code)) {
      case INVALID_ARGUMENT:
        return new InvalidArgument(code, kind, message, backtrace);
      case NOT_FOUND:
        return new NotFound(code, kind, message, backtrace);
      case ALREADY_EXISTS:
        return new AlreadyExists(code, kind, message, backtrace);
      case OUT_OF_RANGE:
        return new OutOfRange(code, kind, message, backtrace);
      case BAD_FORMAT:
        return new BadFormat(code, kind, message, backtrace);
      case UNSUPPORTED:
        return new Unsupported(code, kind, message, backtrace);
      case CANCELLED:
        return new Cancelled(code, kind, message, backtrace);
      case DEADLINE_EXCEEDED:
        return new DeadlineExceeded(code, kind, message, backtrace);
      case FAILED_PRECONDITION:
        return new FailedPrecondition(code, kind, message, backtrace);
      case CALL_FAILED:
        return new CallFailed(code, kind, message, backtrace);
      case IO:
        return new Io(code, kind, message, backtrace);
      default:
        return new OpdynoException(code, kind, message, backtrace);
    }
  }

  /** The code, by which programs tell errors apart; INTERNAL for a code that this version does not know. */
  public Code code() {
    return codeOf(code);
  }

  private static Code codeOf(int code) {
    try {
      return Code.swigToEnum(code);
    } catch (IllegalArgumentException unknown) {
      return Code.INTERNAL;
    }
  }

  /** The name of the error's kind, as in Python: "TypeError", "ValueError" … */
  public String kind() {
    return kind;
  }

  /** The native frames if OPDYNO_BACKTRACE is set, else "". */
  public String backtrace() {
    return backtrace;
  }

  @Override
  public String toString() {
    return getClass().getName() + ": " + kind + ": " + getMessage();
  }

  /**
   * Makes an error that a Java callback can throw. Callers in another language get its code and kind. Any other
   * exception has {@link Code#CALL_FAILED} for them. The kind is a name such as "IndexError"; "": the usual kind of the
   * code.
   */
  public static OpdynoException of(Code code, String kind, String message) {
    Objects.requireNonNull(kind, "kind must not be null");
    Objects.requireNonNull(message, "message must not be null");
    return Callbacks.error(code.swigValue(), kind.isEmpty() ? null : Values.utf8(kind), Values.utf8(message));
  }

  static OpdynoException of(Code code, String kind, String message, Throwable cause) {
    OpdynoException made = create(code.swigValue(), kind, message, "");
    made.initCause(cause);
    return made;
  }

  /**
   * Returns the exception to throw for an error. If a callback threw an exception, it is that exception. The first time
   * the exception passes through native code, the error is added to it as suppressed. The error and each of its causes
   * have a code and three texts: kind, message, backtrace.
   */
  static Throwable make(Throwable crossed, int[] codes, byte[][] texts) {
    OpdynoException made = null;
    for (int i = codes.length; i-- > 0; ) {
      OpdynoException cause = made;
      made = create(
              codes[i], Values.text(texts[3 * i]), Values.text(texts[3 * i + 1]), Values.text(texts[3 * i + 2]));
      if (cause != null) made.initCause(cause);
    }
    if (crossed == null) return made;
    made.isOfCrossing = true;
    synchronized (crossed) {
      if (!hasCrossed(crossed)) crossed.addSuppressed(made);
    }
    return crossed;
  }

  /**
   * Whether the exception has a suppressed error already. More are not added: a program may throw one exception
   * repeatedly.
   */
  private static boolean hasCrossed(Throwable thrown) {
    for (Throwable suppressed : thrown.getSuppressed())
      if (suppressed instanceof OpdynoException error && error.isOfCrossing) return true;
    return false;
  }

  /** Kind, message and code of the error that represents an exception in native code. */
  static byte[][] describe(Throwable thrown) {
    boolean ours = thrown instanceof OpdynoException;
    String kind = ours ? ((OpdynoException) thrown).kind : thrown.getClass().getSimpleName();
    String message = thrown.getMessage() == null ? "" : thrown.getMessage().replace("\0", "\\0"); // no NUL in C
    int code = ours ? ((OpdynoException) thrown).code : Code.CALL_FAILED.swigValue();
    String[] texts = {kind.isEmpty() ? "Throwable" : kind, message, String.valueOf(code)};
    for (int i = 0; i < texts.length; ++i) texts[i] = new String(texts[i].getBytes(StandardCharsets.UTF_8), StandardCharsets.UTF_8); // "?" for lone surrogates
    return Values.utf8(texts);
  }

  /** An argument is not valid. */
  public static final class InvalidArgument extends OpdynoException {
    private static final long serialVersionUID = 1;

    private InvalidArgument(int code, String kind, String message, String backtrace) {
      super(code, kind, message, backtrace);
    }
  }

  /** There is no object of that name. */
  public static final class NotFound extends OpdynoException {
    private static final long serialVersionUID = 1;

    private NotFound(int code, String kind, String message, String backtrace) {
      super(code, kind, message, backtrace);
    }
  }

  /** The name is already taken. */
  public static final class AlreadyExists extends OpdynoException {
    private static final long serialVersionUID = 1;

    private AlreadyExists(int code, String kind, String message, String backtrace) {
      super(code, kind, message, backtrace);
    }
  }

  /** A number is outside of its range. */
  public static final class OutOfRange extends OpdynoException {
    private static final long serialVersionUID = 1;

    private OutOfRange(int code, String kind, String message, String backtrace) {
      super(code, kind, message, backtrace);
    }
  }

  /** A file is damaged or has another format. */
  public static final class BadFormat extends OpdynoException {
    private static final long serialVersionUID = 1;

    private BadFormat(int code, String kind, String message, String backtrace) {
      super(code, kind, message, backtrace);
    }
  }

  /** This build or machine does not support the request. */
  public static final class Unsupported extends OpdynoException {
    private static final long serialVersionUID = 1;

    private Unsupported(int code, String kind, String message, String backtrace) {
      super(code, kind, message, backtrace);
    }
  }

  /** A call was cancelled, or its thread was interrupted. */
  public static final class Cancelled extends OpdynoException {
    private static final long serialVersionUID = 1;

    private Cancelled(int code, String kind, String message, String backtrace) {
      super(code, kind, message, backtrace);
    }
  }

  /** A call exceeded its deadline. */
  public static final class DeadlineExceeded extends OpdynoException {
    private static final long serialVersionUID = 1;

    private DeadlineExceeded(int code, String kind, String message, String backtrace) {
      super(code, kind, message, backtrace);
    }
  }

  /** The object is not in a state that allows the call. */
  public static final class FailedPrecondition extends OpdynoException {
    private static final long serialVersionUID = 1;

    private FailedPrecondition(int code, String kind, String message, String backtrace) {
      super(code, kind, message, backtrace);
    }
  }

  /** A called function failed. */
  public static final class CallFailed extends OpdynoException {
    private static final long serialVersionUID = 1;

    private CallFailed(int code, String kind, String message, String backtrace) {
      super(code, kind, message, backtrace);
    }
  }

  /** A file could not be read or written. */
  public static final class Io extends OpdynoException {
    private static final long serialVersionUID = 1;

    private Io(int code, String kind, String message, String backtrace) {
      super(code, kind, message, backtrace);
    }
  }
}
