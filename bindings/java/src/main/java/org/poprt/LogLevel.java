package org.poprt;

/** How grave a message of the library is, from unimportant on. */
public enum LogLevel {
  /** Every step. */
  TRACE,
  /** Details for debugging. */
  DEBUG,
  /** Information about completed actions. */
  INFO,
  /** Something is odd. */
  WARNING,
  /** Something failed. */
  ERROR,
  /** A failure that prevents further work. */
  CRITICAL;

  private static final LogLevel[] ALL = values();

  static LogLevel of(int number) {
    return ALL[Math.max(0, Math.min(number, ALL.length - 1))];
  }
}
