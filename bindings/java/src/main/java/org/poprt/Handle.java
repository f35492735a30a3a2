package org.poprt;

import java.lang.ref.Cleaner;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/**
 * The native object of a public one. It is freed once, when the public object is closed or
 * unreachable and no call uses it, because the C library forbids freeing an object in use.
 */
final class Handle<T> {
  static final Cleaner CLEANER = Cleaner.create();
  private static final long CLOSED = 1L << 61;
  private static final long FREED = 1L << 62;

  /** The number of running calls, plus CLOSED after close, replaced by FREED at the end. */
  private final AtomicLong state = new AtomicLong();

  private final String what;
  private final T raw;
  private final Consumer<T> free;
  private Cleaner.Cleanable cleanable;

  private Handle(String what, T raw, Consumer<T> free) {
    this.what = what;
    this.raw = raw;
    this.free = free;
  }

  /** {@code free} must not refer to {@code owner}. */
  static <T> Handle<T> of(Object owner, T raw, Consumer<T> free) {
    Handle<T> handle = new Handle<>(owner.getClass().getSimpleName(), raw, free);
    handle.cleanable = CLEANER.register(owner, handle::shut);
    return handle;
  }

  /** Keeps the native object until {@link #release}. Throws if it is closed. */
  void acquire() {
    if (state.getAndIncrement() >= CLOSED) {
      release();
      throw new IllegalStateException(what + " is closed");
    }
  }

  /** Acquires it for a try-with-resources block. */
  Use<T> use() {
    return new Use<>(this);
  }

  /** Returns the native object. Only valid between acquire and release. */
  T raw() {
    return raw;
  }

  void release() {
    if (state.decrementAndGet() == CLOSED) tryFree();
  }

  void close() {
    cleanable.clean();
  }

  private void shut() {
    if (state.getAndAdd(CLOSED) == 0) tryFree();
  }

  private void tryFree() {
    if (state.compareAndSet(CLOSED, FREED)) free.accept(raw);
  }
}
