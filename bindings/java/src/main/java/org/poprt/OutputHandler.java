package org.poprt;

import java.nio.ByteBuffer;

/**
 * Takes the data of one output of a session. Called on the thread that runs programs. It must not
 * call the session, except {@link Session#stop}. What it throws ends the run, which throws it.
 */
@FunctionalInterface
public interface OutputHandler {
  /**
   * Takes the transfer.
   *
   * @param data its bytes in native byte order, only valid during the call
   * @return false: the run ends with {@link ErrorCode#CANCELLED}
   */
  boolean take(ByteBuffer data);

  /** Goes on to the next transfer. */
  default void complete() {}

  /** Makes a {@link #take} that waits return false. Called on any thread. */
  default void interrupt() {}
}
