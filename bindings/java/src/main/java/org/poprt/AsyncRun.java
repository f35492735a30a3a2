package org.poprt;

import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/**
 * The future of a run. The native code refers to its {@link Completion}, and therefore to the
 * memory, until the run is complete. The runner is freed when it is closed and has no runs.
 */
final class AsyncRun extends CompletableFuture<Void> {
  static {
    // Loads the classes of failures in advance, because thousands of runs with an expired limit
    // would wait for the first one to load them.
    PoprtException.ofRun(ErrorCode.DEADLINE_EXCEEDED.number(), new byte[0]);
  }

  private RawRun run;
  private boolean over;
  private int cancelling;

  private AsyncRun() {}

  static AsyncRun submit(
      Handle<RawRunner> runner,
      RawBindings bindings,
      Bindings.Kept kept,
      Executor executor,
      RawRequestOptions options) {
    AsyncRun future = new AsyncRun();
    runner.acquire(); // done() releases it
    long callback = 0;
    try {
      kept.before();
      callback = poprt_raw.raw_callback(new Completion(future, runner, kept, executor));
      long done = poprt_raw.raw_done_fn();
      future.submitted(
          options == null
              ? runner.raw().execute_async(bindings, done, callback)
              : runner.raw().execute_async_with(bindings, options, done, callback));
    } catch (Throwable e) {
      poprt_raw.raw_free_callback(callback);
      runner.release();
      throw e;
    }
    return future;
  }

  private synchronized void submitted(RawRun submitted) {
    if (over) submitted.delete();
    else run = submitted;
  }

  private synchronized void over() {
    over = true;
    free();
  }

  private void free() {
    if (run == null || !over || cancelling != 0) return;
    run.delete();
    run = null;
  }

  private synchronized RawRun borrow() {
    if (over || run == null) return null;
    cancelling++;
    return run;
  }

  private synchronized void giveBack() {
    cancelling--;
    free();
  }

  /**
   * A run that has begun is not cancelled: its memory is in use, and the future ends with it. The
   * native call is made without the lock, because it calls back.
   */
  @Override
  public boolean cancel(boolean mayInterruptIfRunning) {
    RawRun borrowed = borrow();
    if (borrowed == null) return isCancelled();
    boolean cancelled = borrowed.cancel();
    giveBack();
    if (cancelled) super.cancel(mayInterruptIfRunning);
    return isCancelled();
  }

  @Override
  public <U> CompletableFuture<U> newIncompleteFuture() {
    return new CompletableFuture<>();
  }

  /**
   * The callback of the run, and also the task of the executor: a lambda as the task would have to
   * be linked when the first run is complete.
   */
  private static final class Completion extends RawCallbacks implements Runnable {
    private final AsyncRun future;
    private final Handle<RawRunner> runner;
    private final Bindings.Kept kept;
    private final Executor executor;
    private int code;
    private byte[] message;

    Completion(
        AsyncRun future, Handle<RawRunner> runner, Bindings.Kept kept, Executor executor) {
      this.future = future;
      this.runner = runner;
      this.kept = kept;
      this.executor = executor;
    }

    @Override
    void done(int code, byte[] message) {
      this.code = code;
      this.message = message;
      future.over();
      runner.release();
      try {
        executor.execute(this);
      } catch (Throwable e) {
        future.completeExceptionally(e); // the executor rejects new tasks
      }
    }

    @Override
    public void run() {
      try {
        if (code == 0) {
          kept.after();
          future.complete(null);
        } else if (code == ErrorCode.CANCELLED.number()) {
          CancellationException cancelled = new CancellationException(Utf8.string(message));
          future.completeExceptionally(cancelled);
        } else {
          future.completeExceptionally(PoprtException.ofRun(code, message));
        }
      } catch (Throwable e) {
        future.completeExceptionally(e);
      }
    }
  }
}
