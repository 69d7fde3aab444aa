package io.opdyno;

/**
 * Where two objects differ: a path in each. Source: TVM's ObjectPathPair.
 *
 * @param lhsPath in the first one
 * @param rhsPath in the second one
 */
public record ObjectPathPair(ObjectPath lhsPath, ObjectPath rhsPath) {
  /** As {@code <root>[1] and <root>[1]}. */
  @Override
  public String toString() {
    return lhsPath + " and " + rhsPath;
  }
}
