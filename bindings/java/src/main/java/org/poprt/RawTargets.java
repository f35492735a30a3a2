package org.poprt;

import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The targets of callbacks of sessions, by number. The native code holds no reference, so a session
 * is collected even if its handlers refer to it. A removed number has no target.
 *
 * <p>Sessions call on the thread that has called them. {@link #rethrow} rethrows the exceptions
 * there.
 */
final class RawTargets {
  static final int ACCEPTS = 0;
  static final int TIMEOUT = 1;
  static final int PREFETCH = 2;
  static final int FETCH = 3;
  static final int COMPLETE = 4;
  static final int INVALIDATE = 5;
  static final int INTERRUPT = 6;

  /** One stream's handler, of either direction. */
  interface Stream {
    boolean transfer(boolean prefetch, ByteBuffer data);

    void event(int which);
  }

  private static final ConcurrentHashMap<Long, WeakReference<Object>> TARGETS =
      new ConcurrentHashMap<>();
  private static final AtomicLong LAST = new AtomicLong();
  private static final ThreadLocal<Throwable> THROWN = new ThreadLocal<>();

  private RawTargets() {}

  /** Adds a target, which is found until {@link #remove} as long as it is referenced. */
  static long add(Object target) {
    long id = LAST.incrementAndGet();
    TARGETS.put(id, new WeakReference<>(target));
    return id;
  }

  static void remove(long id) {
    TARGETS.remove(id);
  }

  /** Rethrows exceptions of callbacks of this thread, with {@code failure}, which may be null. */
  static void rethrow(RuntimeException failure) {
    Throwable thrown = THROWN.get();
    THROWN.remove();
    if (thrown == null) {
      if (failure != null) throw failure;
      return;
    }
    if (failure != null) thrown.addSuppressed(failure);
    if (thrown instanceof Error) throw (Error) thrown;
    throw (RuntimeException) thrown;
  }

  private static void keep(Throwable thrown) {
    if (THROWN.get() == null) THROWN.set(thrown); // the first is the cause
  }

  private static <T> T find(long id, Class<T> type) {
    WeakReference<Object> target = TARGETS.get(id);
    return target == null ? null : type.cast(target.get());
  }

  // The native code calls these functions. They must not throw.

  /** Returns 0 if the transfer was made. */
  static int transfer(long id, int which, ByteBuffer data) {
    try {
      Stream stream = find(id, Stream.class);
      if (stream == null) return 1;
      return stream.transfer(which == PREFETCH, data.order(ByteOrder.nativeOrder())) ? 0 : 1;
    } catch (Throwable e) {
      keep(e);
      return 1;
    }
  }

  static void event(long id, int which) {
    try {
      Stream stream = find(id, Stream.class);
      if (stream != null) stream.event(which);
    } catch (Throwable e) {
      keep(e);
    }
  }

  static boolean accepts(long id, byte[] name, boolean output, int[] programs) {
    try {
      AnchorPredicate predicate = find(id, AnchorPredicate.class);
      return predicate != null && predicate.accepts(Utf8.string(name), output, programs);
    } catch (Throwable e) {
      keep(e);
      return false;
    }
  }

  static void timeout(long id, byte[] queue) {
    try {
      QueueManager queues = find(id, QueueManager.class);
      if (queues != null) queues.timedOut(Utf8.string(queue));
    } catch (Throwable e) {
      keep(e);
    }
  }
}
