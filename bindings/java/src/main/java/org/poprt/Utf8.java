package org.poprt;

import static java.nio.charset.StandardCharsets.UTF_8;

/** Converts strings to and from the form of the C library. */
final class Utf8 {
  private Utf8() {}

  static byte[] bytes(String text) {
    if (text.indexOf('\0') >= 0) throw new IllegalArgumentException("a string contains \\0");
    return text.getBytes(UTF_8);
  }

  static String string(byte[] bytes) {
    return bytes == null ? "" : new String(bytes, UTF_8);
  }
}
