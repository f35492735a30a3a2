package org.poprt;

/** Passes the library's messages to a listener until closed; see {@link Poprt#subscribeLog}. */
public final class LogSubscription implements AutoCloseable {
  private final LogListener listener;
  private final RawLog raw = new RawLog();
  private final Thread thread = new Thread(this::listen, "poprt log");
  private boolean over; // whether raw is deleted; guarded by this

  private LogSubscription(LogListener listener) {
    this.listener = listener;
    thread.setDaemon(true);
  }

  static LogSubscription of(LogListener listener) {
    LogSubscription made = new LogSubscription(listener);
    try {
      made.thread.start();
    } catch (Throwable e) {
      made.raw.delete();
      throw e;
    }
    return made;
  }

  private void listen() {
    while (raw.take()) {
      try {
        listener.message(LogLevel.of(raw.level()), raw.text());
      } catch (Throwable e) {
        thread.getUncaughtExceptionHandler().uncaughtException(thread, e);
      }
    }
    synchronized (this) {
      over = true;
      raw.delete();
    }
  }

  /**
   * Ends the subscription after earlier messages are delivered, and waits for that, except on the
   * listener's thread or if interrupted. A second call has no effect.
   */
  @Override
  public void close() {
    synchronized (this) {
      if (!over) raw.close();
    }
    if (Thread.currentThread() == thread) return;
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
