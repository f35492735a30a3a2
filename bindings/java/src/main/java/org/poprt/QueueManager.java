package org.poprt;

import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * The queues of a {@link Session}, one for each anchor that {@link QueueOptions#userAnchors}
 * selects. The queues are closed when the session is closed or creates another QueueManager. All
 * methods then throw {@link IllegalStateException}.
 */
public final class QueueManager {
  private final Session session;
  private final Consumer<InputQueue> onTimeout;
  private final Map<String, InputQueue> inputs = new HashMap<>();
  private final Map<String, OutputQueue> outputs = new HashMap<>();
  private Handle<RawQueueManager> handle;
  volatile boolean replaced;

  QueueManager(Session session, Consumer<InputQueue> onTimeout) {
    this.session = session;
    this.onTimeout = onTimeout;
  }

  synchronized void open(RawQueueManager raw) {
    handle = Handle.of(this, raw, RawQueueManager::delete);
  }

  /** The library closes earlier queues only if it accepts the options of those that replace them. */
  void keepIfOpen() {
    try (Use<RawQueueManager> use = handle.use()) {
      replaced = !use.raw().is_open();
    }
  }

  /** Keeps the session open. */
  Use<RawSession> use() {
    if (replaced) throw new IllegalStateException("QueueManager is closed");
    return session.use();
  }

  @SuppressWarnings("try") // the session is kept open
  private <T> T resultOf(Function<RawQueueManager, T> what) {
    try (Use<RawSession> open = use();
        Use<RawQueueManager> use = handle.use()) {
      return what.apply(use.raw());
    }
  }

  /**
   * The queue of an input.
   *
   * @param name the name of the anchor
   * @return always the same object
   * @throws PoprtException with {@link ErrorCode#NOT_FOUND}
   */
  public synchronized InputQueue inputQueue(String name) {
    InputQueue queue = inputs.get(name);
    if (queue != null) return queue;
    queue = resultOf(raw -> new InputQueue(this, raw.input_queue(name)));
    inputs.put(name, queue);
    return queue;
  }

  /**
   * The queue of an output.
   *
   * @param name the name of the anchor
   * @return always the same object
   * @throws PoprtException with {@link ErrorCode#NOT_FOUND}
   */
  public synchronized OutputQueue outputQueue(String name) {
    OutputQueue queue = outputs.get(name);
    if (queue != null) return queue;
    queue = resultOf(raw -> new OutputQueue(this, raw.output_queue(name)));
    outputs.put(name, queue);
    return queue;
  }

  /**
   * Cancels every waiting element, except for memory that the device is using. The queues stay in
   * use.
   */
  public void flushAll() {
    resultOf(
        raw -> {
          raw.flush_all();
          return null;
        });
  }

  /**
   * Like {@link #flushAll}, but permanent: nothing can be enqueued afterwards, and runs find no
   * data.
   */
  public void disconnectAll() {
    resultOf(
        raw -> {
          raw.disconnect_all();
          return null;
        });
  }

  void timedOut(String name) {
    try {
      onTimeout.accept(inputQueue(name));
    } catch (Throwable e) {
      session.stop(); // otherwise the run would wait without end
      throw e;
    }
  }
}
