package org.poprt;

/** A running call that uses a native object. */
final class Use<T> implements AutoCloseable {
  private final Handle<T> handle;

  Use(Handle<T> handle) {
    this.handle = handle;
    handle.acquire();
  }

  T raw() {
    return handle.raw();
  }

  @Override
  public void close() {
    handle.releaseAfterCall();
  }
}
