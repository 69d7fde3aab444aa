package io.opdyno;

/** Measures how long calls of a function take. */
public final class Evaluator extends Handle {
  Evaluator(long pointer) {
    super(pointer);
  }
}
