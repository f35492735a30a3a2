package org.poprt;

import java.time.Duration;

/** Converts durations to the form of the C library. */
final class Times {
  private Times() {}

  /**
   * Converts a time; a time that is too long becomes the longest one. The smallest number is never
   * returned, because some options have another meaning for it.
   */
  static long nanos(Duration time) {
    try {
      return Math.max(time.toNanos(), -Long.MAX_VALUE);
    } catch (ArithmeticException e) {
      return time.isNegative() ? -Long.MAX_VALUE : Long.MAX_VALUE;
    }
  }
}
