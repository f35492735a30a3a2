package org.poprt;

import java.time.Duration;
import java.util.Objects;
import java.util.function.Consumer;

/** Options of the queues of a {@link QueueManager}. */
public final class QueueOptions {
  private int buffers;
  private Duration timeout = Duration.ZERO;
  Consumer<InputQueue> onTimeout;
  AnchorPredicate predicate;

  /** The defaults. */
  public QueueOptions() {}

  /**
   * Elements that fit into a queue.
   *
   * @param count rounded up to a power of two; 0, the default: 16
   * @return this
   */
  public QueueOptions buffers(int count) {
    buffers = count;
    return this;
  }

  /**
   * Sets the action when a run has waited for an input.
   *
   * @param limit the waiting time; zero: the action is never called
   * @param then called repeatedly on the running thread; may enqueue to the queue, for example
   * padding. If it throws, the session is stopped and the run rethrows the exception
   * @return this
   */
  public QueueOptions timeout(Duration limit, Consumer<InputQueue> then) {
    timeout = limit;
    onTimeout = Objects.requireNonNull(then, "then");
    return this;
  }

  /**
   * Selects the anchors with a queue.
   *
   * @param which by default those that the caller must serve
   * @return this
   */
  public QueueOptions userAnchors(AnchorPredicate which) {
    predicate = Objects.requireNonNull(which, "which");
    return this;
  }

  void fill(RawQueueOptions raw, long queues) {
    raw.set_buffers(buffers);
    long fn = onTimeout == null ? 0 : poprt_raw.raw_session_fn(RawTargets.TIMEOUT);
    raw.set_timeout(Times.nanos(timeout), fn, queues);
  }
}
