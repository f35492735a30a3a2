package org.poprt;

import java.nio.ByteBuffer;

/**
 * Provides the data of one input of a session. Unless a method states otherwise, it is called on
 * the thread that runs programs. It must not call the session, except {@link Session#stop}. An
 * exception ends the run, which rethrows it.
 */
@FunctionalInterface
public interface InputHandler {
  /**
   * Waits for the next transfer and writes it.
   *
   * @param data memory for it in native byte order, only valid during the call
   * @return false: there is no data, and the run ends with {@link ErrorCode#CANCELLED}
   */
  boolean fetch(ByteBuffer data);

  /**
   * Writes the next transfer if it is available; repeated calls write the same one until {@link
   * #complete}.
   *
   * @param data memory for it in native byte order, only valid during the call
   * @return false, the default: {@link #fetch} will be called
   */
  default boolean prefetch(ByteBuffer data) {
    return false;
  }

  /** Called when the transfer was used. The next call is for the next transfer. */
  default void complete() {}

  /**
   * Called if the prefetched transfer will not be used, also on a thread that unloads the session
   * or replaces the handler.
   */
  default void invalidatePrefetched() {}

  /** Makes a {@link #fetch} that waits return false. Called on any thread. */
  default void interrupt() {}
}
