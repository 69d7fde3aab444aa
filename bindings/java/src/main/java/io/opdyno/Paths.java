package io.opdyno;

import java.io.ByteArrayOutputStream;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Arrays;

/** Converts paths to the bytes that the system uses, which need not be UTF-8. */
final class Paths {
  private static final Charset OF_SYSTEM = Charset.forName(System.getProperty("sun.jnu.encoding", "UTF-8"));

  private Paths() {}

  /** The bytes of a path, with the 0 byte that C expects; null for null. */
  static byte[] bytes(Path path) {
    if (path == null) return null;
    String text = path.toString();
    if (text.chars().allMatch(c -> c < 128)) return Values.utf8(text);
    byte[] bytes = isWhole(path, text) ? text.getBytes(OF_SYSTEM) : bytesOfUri(path.toUri().getRawPath());
    return Arrays.copyOf(bytes, bytes.length + 1);
  }

  /**
   * Whether the path's text has all its bytes. It lacks some if the system's encoding lacks a character, as in the
   * locale C.
   */
  private static boolean isWhole(Path path, String text) {
    try {
      return path.getFileSystem().getPath(text).equals(path);
    } catch (InvalidPathException lacking) {
      return false;
    }
  }

  /** Decodes a URI, which has each byte of the absolute path unchanged or in the form "%C3". */
  private static byte[] bytesOfUri(String escaped) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    byte[] ascii = escaped.getBytes(StandardCharsets.US_ASCII);
    for (int i = 0; i < ascii.length; ++i) {
      if (ascii[i] != '%') bytes.write(ascii[i]);
      else {
        bytes.write(Integer.parseInt(escaped, i + 1, i + 3, 16));
        i += 2;
      }
    }
    return bytes.toByteArray();
  }
}
