package org.poprt;

/** What the native code calls. Nothing may be thrown out of these. */
abstract class RawCallbacks {
  void done(int code, byte[] message) {}

  void progress(double part, byte[] what) {}

  void afterPass(
      byte[] pass, long rewrites, double milliseconds, long nodesBefore, long nodesAfter) {}
}
