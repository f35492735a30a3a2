package org.poprt;

import static java.nio.charset.StandardCharsets.UTF_8;

/** Converts strings to and from the form of the C library. */
final class Utf8 {
  private Utf8() {}

  /** Refuses a text that C would end at its first zero character. */
  static byte[] bytes(String text, String argument) {
    if (text == null) throw new NullPointerException("argument '" + argument + "' is null");
    if (text.indexOf('\0') >= 0)
      throw new IllegalArgumentException("argument '" + argument + "' contains the character \\0");
    return text.getBytes(UTF_8);
  }

  static String string(byte[] bytes) {
    return bytes == null ? "" : new String(bytes, UTF_8);
  }
}
