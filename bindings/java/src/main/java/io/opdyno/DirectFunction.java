package io.opdyno;

import java.nio.ByteBuffer;

/** A function that reads its arguments where they lie in memory, without objects for them. */
abstract class DirectFunction implements PackedFunction {
  /** The result comes to a place in memory, behind which the arguments lie. They are borrowed. */
  abstract void call(ByteBuffer memory, int at, int count);
}
