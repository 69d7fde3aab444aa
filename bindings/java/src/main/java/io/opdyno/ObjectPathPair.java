package io.opdyno;

/**
 * The place where two objects differ, as a path in each object. Source: TVM's ObjectPathPair.
 *
 * @param lhsPath the path in the first object
 * @param rhsPath the path in the second object
 */
public record ObjectPathPair(ObjectPath lhsPath, ObjectPath rhsPath) {
  /** Text such as {@code <root>[1] and <root>[1]}. */
  @Override
  public String toString() {
    return lhsPath + " and " + rhsPath;
  }
}
