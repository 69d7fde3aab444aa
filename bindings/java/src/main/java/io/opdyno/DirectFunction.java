package io.opdyno;

import java.nio.ByteBuffer;

/** A function that reads its arguments from memory, without objects for them. */
abstract class DirectFunction implements PackedFunction {
  /** Writes the result to memory. The borrowed arguments follow it. */
  abstract void call(ByteBuffer memory, int at, int count);
}
