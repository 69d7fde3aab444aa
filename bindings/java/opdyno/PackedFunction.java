package opdyno;

/**
 * A function of Java that the library may call, on any thread. Handles among the arguments are the callee's to close,
 * and a tensor of memory that the caller only lends is valid during the call.
 */
@FunctionalInterface
public interface PackedFunction {
  Object call(Object... args) throws Throwable;
}
