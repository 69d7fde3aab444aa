package io.opdyno;

/** Receives the library's warnings, on any thread. */
@FunctionalInterface
public interface LogCallback {
  void log(opd_log_level level, String message);
}
