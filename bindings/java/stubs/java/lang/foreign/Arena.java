package java.lang.foreign;

/** The part of the JDK's interface that the sources use, for the compiler of Java 17. The jar does not contain it. */
public interface Arena {
  static Arena ofAuto() {
    throw new UnsupportedOperationException();
  }
}
