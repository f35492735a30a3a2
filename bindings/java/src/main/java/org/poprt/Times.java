package org.poprt;

import java.time.Duration;

/** Converts durations to the form of the C library. */
final class Times {
  private Times() {}

  /** Converts a time; a time that is too long becomes the longest one. */
  static long nanos(Duration time) {
    try {
      return time.toNanos();
    } catch (ArithmeticException e) {
      return time.isNegative() ? Long.MIN_VALUE : Long.MAX_VALUE;
    }
  }
}
