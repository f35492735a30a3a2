package org.poprt;

import java.time.Duration;

/** Durations as the C library has them. */
final class Times {
  private Times() {}

  /** What is too long to be counted is as long as can be. */
  static long nanos(Duration time) {
    try {
      return time.toNanos();
    } catch (ArithmeticException e) {
      return time.isNegative() ? Long.MIN_VALUE : Long.MAX_VALUE;
    }
  }
}
