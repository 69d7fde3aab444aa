package java.lang.foreign;

/** What the sources use of the JDK's interface, for the compiler of Java 17. The jar does not have it. */
public interface Arena {
  static Arena ofAuto() {
    throw new UnsupportedOperationException();
  }
}
