package org.poprt;

/** A queue of memory for an input. */
public final class InputQueue extends Queue {
  InputQueue(QueueManager manager, RawQueue raw) {
    super(manager, raw, true);
  }
}
