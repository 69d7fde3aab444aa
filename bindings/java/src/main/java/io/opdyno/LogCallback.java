package io.opdyno;

/** Receives the library's warnings, on any thread, several at once: see {@link Opdyno#setLog}. */
@FunctionalInterface
public interface LogCallback {
  /** Receives a message of one line. Its exceptions are dropped. */
  void log(LogLevel level, String message);
}
