package org.poprt;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.ForkJoinPool;
import java.util.function.Function;

/**
 * A queue of memory that a {@link Session} reads or writes, for one anchor. Any thread may use it.
 * Threads that enqueue wait for each other. Therefore a completion on the thread that runs programs
 * may only enqueue to a queue to which no other thread enqueues: that thread may wait for space,
 * which only the run makes.
 */
public abstract class Queue {
  private final QueueManager manager;
  private final Handle<RawQueue> handle;
  private final Anchor anchor;
  private final boolean input;

  Queue(QueueManager manager, RawQueue raw, boolean input) {
    this.manager = manager;
    this.input = input;
    handle = Handle.of(this, raw, RawQueue::delete);
    RawAnchor served = raw.anchor();
    // Another thread may have closed the queues since this call began.
    if (served == null) throw new IllegalStateException("QueueManager is closed");
    anchor = Anchor.list(1, i -> served).get(0);
  }

  /**
   * The anchor of the queue.
   *
   * @return the anchor
   */
  public final Anchor anchor() {
    return anchor;
  }

  /**
   * The number of elements that fit into the queue.
   *
   * @return a power of two
   */
  public final long capacity() {
    return resultOf(RawQueue::capacity);
  }

  /**
   * The number of waiting elements.
   *
   * @return 0 to {@link #capacity}
   */
  public final long readAvailable() {
    return resultOf(RawQueue::read_available);
  }

  @SuppressWarnings("try") // the session is kept open
  private <T> T resultOf(Function<RawQueue, T> what) {
    try (Use<RawSession> open = manager.use();
        Use<RawQueue> use = handle.use()) {
      return what.apply(use.raw());
    }
  }

  /**
   * Appends memory of any size: a part of a transfer, one, or several. Blocks while the queue is
   * full. A direct buffer is used in place and must stay unchanged until the future completes; a
   * heap buffer is copied. The future completes on a thread of the common pool.
   *
   * @param memory from its position to its limit
   * @return completes when it was consumed or filled; cancelled if it was discarded because the
   * queue was flushed, disconnected or closed. Cancelling the future does not remove the element
   * @throws PoprtException with {@link ErrorCode#CANCELLED} (disconnected, or full while the
   * session was stopped) or {@link ErrorCode#INVALID_ARGUMENT} (the type, or empty memory)
   */
  public final CompletableFuture<Void> enqueue(Buffer memory) {
    return enqueue(memory, ForkJoinPool.commonPool());
  }

  /**
   * As {@link #enqueue(Buffer)}, with an executor for completions.
   *
   * @param memory from its position to its limit
   * @param executor the executor of completions; {@code Runnable::run} uses the thread that runs
   * programs, flushes or closes, or one of the library: dependent actions must then not block
   * @return as for {@link #enqueue(Buffer)}
   * @throws PoprtException as for {@link #enqueue(Buffer)}
   */
  public final CompletableFuture<Void> enqueue(Buffer memory, Executor executor) {
    Bindings.check(anchor, memory, input);
    ByteBuffer staged = null;
    if (!memory.isDirect())
      staged = input ? Memory.staged(memory) : Memory.allocate(Memory.bytes(memory));
    Buffer used = staged == null ? memory : staged;
    Element element = new Element(memory, input ? null : staged, used, executor);
    long callback = poprt_raw.raw_callback(element);
    try {
      append(Memory.address(used), Memory.bytes(used), callback);
    } catch (Throwable e) {
      poprt_raw.raw_free_callback(callback);
      throw e;
    }
    return element.future;
  }

  private void append(long address, long bytes, long callback) {
    long done = poprt_raw.raw_done_fn();
    resultOf(
        raw -> {
          if (input) raw.enqueue_input(address, bytes, done, callback);
          else raw.enqueue_output(address, bytes, done, callback);
          return null;
        });
  }

  /** The object to which native code refers until the element is done. */
  private static final class Element extends RawCallbacks {
    final CompletableFuture<Void> future = new CompletableFuture<>();
    private final Buffer memory;
    private final ByteBuffer copyBack;

    @SuppressWarnings("unused") // keeps it from being collected
    private final Buffer used;

    private final Executor executor;

    Element(Buffer memory, ByteBuffer copyBack, Buffer used, Executor executor) {
      this.memory = memory;
      this.copyBack = copyBack;
      this.used = used;
      this.executor = executor;
    }

    @Override
    void done(int code, byte[] message) {
      try {
        executor.execute(() -> complete(code, message));
      } catch (Throwable e) {
        future.completeExceptionally(e); // the executor rejects new tasks
      }
    }

    private void complete(int code, byte[] message) {
      try {
        if (code == 0) {
          if (copyBack != null) Memory.write(copyBack, memory);
          future.complete(null);
        } else {
          future.completeExceptionally(new CancellationException(Utf8.string(message)));
        }
      } catch (Throwable e) {
        future.completeExceptionally(e);
      }
    }
  }
}
