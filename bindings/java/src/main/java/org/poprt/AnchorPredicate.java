package org.poprt;

/** Selects the anchors of a {@link Session} that the user serves. */
@FunctionalInterface
public interface AnchorPredicate {
  /**
   * Called once for each anchor, while a session or its queues are made, on that thread.
   *
   * @param name of the anchor
   * @param output whether it is an output
   * @param programs that use it: PopEF's indices
   * @return true: a handler or queue serves it; false: an input is zeros, an output is dropped
   */
  boolean accepts(String name, boolean output, int[] programs);
}
