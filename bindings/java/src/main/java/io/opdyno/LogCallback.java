package io.opdyno;

/** Gets the library's warnings, on any thread and on several at once; see {@link Opdyno#setLog}. */
@FunctionalInterface
public interface LogCallback {
  /** Gets a message of one line. Exceptions of this method are dropped. */
  void log(LogLevel level, String message);
}
