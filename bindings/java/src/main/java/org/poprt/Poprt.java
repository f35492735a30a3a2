package org.poprt;

import java.nio.file.Path;
import java.util.Objects;

/**
 * The library as a whole.
 *
 * <p>The native libraries are loaded with the first class that needs them: from the folder that the
 * property {@code poprt.library.path} names; else from the jar ({@code
 * native/linux-x86_64/}), unpacked once into a folder of the user in that of {@code
 * poprt.cache.path} or in the user's cache; else from {@code java.library.path}. A {@code
 * libpoprt.so.1} that is older than the classes, or of another major version, is refused. Java 24
 * and newer need {@code --enable-native-access=ALL-UNNAMED}.
 */
public final class Poprt {
  private Poprt() {}

  /**
   * Version of the library.
   *
   * @return a text such as "1.0.0"
   */
  public static String version() {
    return poprt_raw.raw_version_string();
  }

  /**
   * Sets the level of messages to stderr, or to listeners if there are any.
   *
   * @param level TRACE, DEBUG, INFO, WARNING, ERROR, CRITICAL or OFF, in upper or lower case
   * @throws PoprtException with {@link ErrorCode#INVALID_ARGUMENT} for another name
   */
  public static void setLogLevel(String level) {
    poprt_raw.raw_set_log_level(level);
  }

  /**
   * Passes the library's messages to a listener instead of stderr. The listener is called on a
   * separate thread, in the order of the messages, and may call the library. Its exceptions go to
   * that thread's {@link Thread#getUncaughtExceptionHandler}, and it still receives later messages.
   * If there are several listeners, each gets every message. A listener that is 10 000 messages
   * late loses some, and a warning reports it.
   *
   * @param listener the receiver of messages
   * @return the subscription, which ends when it is closed, but not when it is collected
   * @since 1.0
   */
  public static LogSubscription subscribeLog(LogListener listener) {
    return LogSubscription.of(Objects.requireNonNull(listener, "listener"));
  }

  /**
   * Returns the activity of sessions and runners of all processes that publish it
   * (POPRT_TELEMETRY=1 in their environment) in the default folder.
   *
   * @return a JSON array with an object for each; empty if there are none
   * @throws PoprtException with {@link ErrorCode#PERMISSION_DENIED} or {@link
   *     ErrorCode#INVALID_ARGUMENT} when the default folder cannot be used
   */
  public static String readTelemetry() {
    return poprt_raw.raw_telemetry_read("");
  }

  /**
   * Returns the activity of sessions and runners that publish it in a folder (POPRT_TELEMETRY_DIR).
   *
   * @param folder the folder of the telemetry
   * @return a JSON array with an object for each; empty if there are none, or if the folder is
   *     missing or may not be read
   */
  public static String readTelemetry(Path folder) {
    return poprt_raw.raw_telemetry_read(folder.toString());
  }

  /**
   * The number of bytes that these classes have copied for runs since the start: those of buffers
   * that are not direct. Direct buffers are used in place.
   *
   * @return number of bytes
   */
  public static long bytesCopied() {
    return poprt_raw.raw_bytes_copied();
  }
}
