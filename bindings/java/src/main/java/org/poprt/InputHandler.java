package org.poprt;

import java.nio.ByteBuffer;

/**
 * Gives a session the data of one input. Called on the thread that runs programs. It must not call
 * the session, except {@link Session#stop}. What it throws ends the run, which throws it.
 */
@FunctionalInterface
public interface InputHandler {
  /**
   * Writes the next transfer, waiting for it.
   *
   * @param data memory for it in native byte order, only valid during the call
   * @return false: there is none, and the run ends with {@link ErrorCode#CANCELLED}
   */
  boolean fetch(ByteBuffer data);

  /**
   * Writes the next transfer if it is there already; the same one again until {@link #complete}.
   *
   * @param data memory for it in native byte order, only valid during the call
   * @return false, the default: {@link #fetch} will be called
   */
  default boolean prefetch(ByteBuffer data) {
    return false;
  }

  /** The transfer was used: go on to the next one. */
  default void complete() {}

  /** What was prefetched will not be used. */
  default void invalidatePrefetched() {}

  /** Makes a {@link #fetch} that waits return false. Called on any thread. */
  default void interrupt() {}
}
