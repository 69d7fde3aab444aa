package io.opdyno;

import java.nio.ByteBuffer;

/** A function that reads its arguments from memory, so that calls make no objects for them. */
abstract class DirectFunction implements PackedFunction {
  /** Reads the borrowed arguments from memory and writes the result in front of them. */
  abstract void call(ByteBuffer memory, int at, int count);
}
