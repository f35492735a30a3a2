package org.poprt;

import java.nio.ByteBuffer;

/** The callbacks of native code. They must not throw. */
abstract class RawCallbacks {
  void done(int code, byte[] message) {}

  /** Writes the bytes, which are valid during the call. Returns false to stop the writer. */
  boolean write(ByteBuffer data) {
    return false;
  }

  /**
   * Fills the memory, which is valid during the call, from an offset on. Returns false on
   * failure.
   */
  boolean read(long offset, ByteBuffer into) {
    return false;
  }

  void progress(double part, byte[] what) {}

  void afterPass(
      byte[] pass, long rewrites, double milliseconds, long nodesBefore, long nodesAfter) {}
}
