package org.poprt;

/** The severity of a message of the library, in increasing order. */
public enum LogLevel {
  /** Every step. */
  TRACE,
  /** Details for debugging. */
  DEBUG,
  /** Information about completed actions. */
  INFO,
  /** An unusual condition. */
  WARNING,
  /** A failure. */
  ERROR,
  /** A failure that prevents further work. */
  CRITICAL;

  private static final LogLevel[] ALL = values();

  static LogLevel of(int number) {
    return ALL[Math.max(0, Math.min(number, ALL.length - 1))];
  }
}
