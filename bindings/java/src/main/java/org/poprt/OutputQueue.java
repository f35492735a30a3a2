package org.poprt;

/** A queue of memory for an output. */
public final class OutputQueue extends Queue {
  OutputQueue(QueueManager manager, RawQueue raw) {
    super(manager, raw, false);
  }
}
