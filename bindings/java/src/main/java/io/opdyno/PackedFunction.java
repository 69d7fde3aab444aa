package io.opdyno;

/**
 * A function of Java that the library may call, on any thread. Handles among the arguments are the callee's to close. A
 * tensor of memory that the caller only lends ends with the call: it is an IllegalStateException to use it later, and as a
 * result it is copied.
 */
@FunctionalInterface
public interface PackedFunction {
  Object call(Object... args) throws Throwable;
}
