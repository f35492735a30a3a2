package org.poprt;

/** Receives the library's messages; see {@link Poprt#subscribeLog}. */
@FunctionalInterface
public interface LogListener {
  /**
   * Called for each message of at least the level that is set.
   *
   * @param level its severity
   * @param message one line, without time and line feed
   */
  void message(LogLevel level, String message);
}
