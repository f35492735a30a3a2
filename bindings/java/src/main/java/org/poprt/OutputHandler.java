package org.poprt;

import java.nio.ByteBuffer;

/**
 * Receives the data of one output of a session. Unless a method states otherwise, it is called on
 * the thread that runs programs. It must not call the session, except {@link Session#stop}. An
 * exception ends the run, which rethrows it.
 */
@FunctionalInterface
public interface OutputHandler {
  /**
   * Receives the transfer.
   *
   * @param data its bytes in native byte order, only valid during the call
   * @return false: the run ends with {@link ErrorCode#CANCELLED}
   */
  boolean take(ByteBuffer data);

  /** Called when the transfer is finished. The next call is for the next transfer. */
  default void complete() {}

  /** Makes a {@link #take} that waits return false. Called on any thread. */
  default void interrupt() {}
}
