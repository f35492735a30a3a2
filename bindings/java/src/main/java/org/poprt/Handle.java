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
  private final Consumer<T> interrupt; // ends the calls that wait; null: calls are not interrupted
  private Cleaner.Cleanable cleanable;

  private Handle(String what, T raw, Consumer<T> free, Consumer<T> interrupt) {
    this.what = what;
    this.raw = raw;
    this.free = free;
    this.interrupt = interrupt;
  }

  /** {@code free} must not refer to {@code owner}. */
  static <T> Handle<T> of(Object owner, T raw, Consumer<T> free) {
    return of(owner, raw, free, null);
  }

  /**
   * As above, for an object whose calls wait: when it is closed while calls run, {@code interrupt}
   * ends their waiting, and they throw that it is closed.
   */
  static <T> Handle<T> of(Object owner, T raw, Consumer<T> free, Consumer<T> interrupt) {
    Handle<T> handle = new Handle<>(owner.getClass().getSimpleName(), raw, free, interrupt);
    handle.cleanable = CLEANER.register(owner, handle::shut);
    return handle;
  }

  /** Keeps the native object until {@link #release}. Throws if it is closed. */
  void acquire() {
    if (state.getAndIncrement() >= CLOSED) {
      release();
      throw closed();
    }
  }

  private IllegalStateException closed() {
    return new IllegalStateException(what + " is closed");
  }

  /** Acquires the native object for a try-with-resources block. */
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

  /**
   * Releases the native object after a call. If there is an {@code interrupt}, throws if the object
   * was closed meanwhile, because the result of the call may be that of an interrupted one.
   */
  void releaseAfterCall() {
    boolean interrupted = interrupt != null && state.get() >= CLOSED;
    release();
    if (interrupted) throw closed();
  }

  void close() {
    cleanable.clean();
  }

  /**
   * Calls the action, which makes running calls end, and then closes the object. Has no effect on
   * an object that is closed.
   */
  void close(Consumer<T> action) {
    if (state.getAndIncrement() < CLOSED) action.accept(raw);
    release();
    close();
  }

  private void shut() {
    // Counts as a call, so that the native object exists while it is interrupted.
    if (state.getAndAdd(CLOSED + 1) != 0 && interrupt != null) interrupt.accept(raw);
    release();
  }

  private void tryFree() {
    if (state.compareAndSet(CLOSED, FREED)) free.accept(raw);
  }
}
