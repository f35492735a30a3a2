package org.poprt;

/** Hears the library's messages; see {@link Poprt#subscribeLog}. */
@FunctionalInterface
public interface LogListener {
  /**
   * A message that the level lets through.
   *
   * @param level how grave it is
   * @param message a line, without time and line end
   */
  void message(LogLevel level, String message);
}
