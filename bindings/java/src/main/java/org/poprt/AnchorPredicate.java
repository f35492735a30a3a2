package org.poprt;

/** Selects the anchors of a {@link Session} that handlers or queues serve. */
@FunctionalInterface
public interface AnchorPredicate {
  /**
   * Called once for each anchor, on the thread that creates a session or its queues.
   *
   * @param name the name of the anchor
   * @param output whether it is an output
   * @param programs PopEF's indices of the programs that use it
   * @return true: a handler or queue serves it; false: no queue is created for it or, if a session
   *     is created, an input is zeros and an output is discarded
   */
  boolean accepts(String name, boolean output, int[] programs);
}
