package io.opdyno;

import java.util.function.BooleanSupplier;

/**
 * A daemon thread that ends when it has no work, because a thread keeps its class loader alive. After work was added, start()
 * must be called.
 */
final class IdleThread {
  /** Does a part of the work, and may wait for work. Returns false if it found no work for some time. */
  interface Step {
    boolean run() throws InterruptedException;
  }

  private final String name;
  private final Step step;
  private final BooleanSupplier hasWork;
  private volatile boolean isStarted;

  /** The thread ends if a step found no work and {@code hasWork}, which does not wait, is false. */
  IdleThread(String name, Step step, BooleanSupplier hasWork) {
    this.name = name;
    this.step = step;
    this.hasWork = hasWork;
  }

  void start() {
    if (!isStarted) startOne();
  }

  private synchronized void startOne() {
    if (isStarted) return;
    Thread made = new Thread(null, this::run, name, 0, false);
    made.setDaemon(true);
    made.setContextClassLoader(null);
    made.start();
    isStarted = true;
  }

  private synchronized boolean isDone() {
    isStarted = false; // a thread that adds work after this calls startOne()
    isStarted = hasWork.getAsBoolean();
    return !isStarted;
  }

  private void run() {
    for (;;) {
      try {
        if (!step.run() && isDone()) return;
      } catch (Throwable failed) {
        // If one piece of work throws, the others are still done.
      }
    }
  }
}
