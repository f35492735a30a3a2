package org.poprt;

import java.time.Duration;
import java.util.Objects;

/** How a {@link Session} is made. */
public final class SessionOptions {
  private int threads;
  private boolean profile;
  private boolean deferred;
  private boolean exclusive;
  private boolean telemetry;
  private Duration waitTimeout = Duration.ZERO;
  private Duration waitSleep = Duration.ZERO;
  AnchorPredicate predicate;
  Device device;

  /** The defaults. */
  public SessionOptions() {}

  /**
   * Compute threads. Results are equal for any number.
   *
   * @param count 0, the default: POPRT_THREADS from the environment, or all CPUs
   * @return this
   */
  public SessionOptions threads(int count) {
    threads = count;
    return this;
  }

  /**
   * Whether to time every instruction, for {@link Session#profile}; slower.
   *
   * @param on default false
   * @return this
   * @since 1.0
   */
  public SessionOptions profile(boolean on) {
    profile = on;
    return this;
  }

  /**
   * The device.
   *
   * @param on null, the default: any free one that fits
   * @return this
   */
  public SessionOptions device(Device on) {
    device = on;
    return this;
  }

  /**
   * Whether the device is taken by {@link Session#bindToDevice()} or the first run, not when the
   * session is made.
   *
   * @param on default false
   * @return this
   */
  public SessionOptions deferred(boolean on) {
    deferred = on;
    return this;
  }

  /**
   * Whether other sessions cannot take the device.
   *
   * @param on default false: whoever binds it next takes it
   * @return this
   */
  public SessionOptions exclusive(boolean on) {
    exclusive = on;
    return this;
  }

  /**
   * Whether to publish what it does, as POPRT_TELEMETRY=1 does; see {@link Poprt#readTelemetry()}.
   *
   * @param on default false
   * @return this
   */
  public SessionOptions telemetry(boolean on) {
    telemetry = on;
    return this;
  }

  /**
   * Waits for a device when none is free.
   *
   * @param timeout how long; 0, the default: not at all
   * @param sleep between attempts; 0: 6 seconds
   * @return this
   */
  public SessionOptions deviceWait(Duration timeout, Duration sleep) {
    waitTimeout = timeout;
    waitSleep = sleep;
    return this;
  }

  /**
   * Which anchors handlers or queues serve.
   *
   * @param which without this call those of main programs and of none, without data
   * @return this
   */
  public SessionOptions userAnchors(AnchorPredicate which) {
    predicate = Objects.requireNonNull(which);
    return this;
  }

  void fill(RawSessionOptions raw) {
    raw.set_threads(threads);
    raw.set_profile(profile);
    raw.set_deferred(deferred);
    raw.set_exclusive(exclusive);
    raw.set_telemetry(telemetry);
    raw.set_wait(waitTimeout.isZero() ? 0 : 1, waitTimeout.toNanos(), waitSleep.toNanos());
  }
}
