package io.opdyno;

/** What an evaluator measured. It prints as its summary. */
public final class Benchmark extends Handle {
  Benchmark(long pointer) {
    super(pointer);
  }
}
