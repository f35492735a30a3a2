package org.poprt;

/** How grave a message of the library is, from unimportant on. */
public enum LogLevel {
  /** Every step. */
  TRACE,
  /** For who looks for a mistake. */
  DEBUG,
  /** What was done. */
  INFO,
  /** Something is odd. */
  WARNING,
  /** Something failed. */
  ERROR,
  /** Nothing goes on. */
  CRITICAL;

  private static final LogLevel[] ALL = values();

  static LogLevel of(int number) {
    return ALL[Math.max(0, Math.min(number, ALL.length - 1))];
  }
}
