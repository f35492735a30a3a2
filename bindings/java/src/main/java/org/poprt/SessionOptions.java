package org.poprt;

import java.time.Duration;
import java.util.Objects;

/** Options of a {@link Session}. */
public final class SessionOptions {
  // <options:session> made from capi/option_fields.toml by tests/lint/option_fields.py --write
  private int threads;
  private boolean profile;
  Device device;
  private boolean deferred;
  private boolean exclusive;
  private boolean telemetry;
  private Duration deviceWaitTimeout = Duration.ZERO;
  private Duration deviceWaitSleep = Duration.ZERO;

  /**
   * Compute threads. Results are bit-equal for any number.
   *
   * @param value 0, the default: POPRT_THREADS from the environment, or all CPUs
   * @return this
   * @since 0.1
   */
  public SessionOptions threads(int value) {
    threads = value;
    return this;
  }

  /**
   * Whether to measure the time of every instruction, which {@link Session#profile} returns. Runs
   * are slower.
   *
   * @param on default false
   * @return this
   * @since 0.1
   */
  public SessionOptions profile(boolean on) {
    profile = on;
    return this;
  }

  /**
   * The device to run on.
   *
   * @param value null, the default: any free device that fits the executable
   * @return this
   * @since 0.1
   */
  public SessionOptions device(Device value) {
    device = value;
    return this;
  }

  /**
   * Whether {@link Session#bindToDevice()} or the first run acquires the device, instead of the
   * creation of the session.
   *
   * @param on default false
   * @return this
   * @since 0.1
   */
  public SessionOptions deferred(boolean on) {
    deferred = on;
    return this;
  }

  /**
   * Whether other sessions are refused the device. Otherwise the next session that binds the device
   * unloads this one.
   *
   * @param on default false
   * @return this
   * @since 0.1
   */
  public SessionOptions exclusive(boolean on) {
    exclusive = on;
    return this;
  }

  /**
   * Whether to publish the session's activity, as POPRT_TELEMETRY=1 does; see
   * {@link Poprt#readTelemetry()}.
   *
   * @param on default false
   * @return this
   * @since 0.1
   */
  public SessionOptions telemetry(boolean on) {
    telemetry = on;
    return this;
  }

  /**
   * How long to wait for a device when none is free.
   *
   * @param value zero, the default: fail at once
   * @return this
   * @since 1.0
   */
  public SessionOptions deviceWaitTimeout(Duration value) {
    deviceWaitTimeout = Objects.requireNonNull(value, "value");
    return this;
  }

  /**
   * How long to sleep between two checks of devices that other processes use.
   *
   * @param value zero, the default: 15 s
   * @return this
   * @since 1.0
   */
  public SessionOptions deviceWaitSleep(Duration value) {
    deviceWaitSleep = Objects.requireNonNull(value, "value");
    return this;
  }

  private void fillFields(RawSessionOptions raw) {
    raw.set_threads(threads);
    raw.set_profile(profile);
    raw.set_deferred(deferred);
    raw.set_exclusive(exclusive);
    raw.set_telemetry(telemetry);
  }
  // </options:session>

  AnchorPredicate predicate;

  /** The defaults. */
  public SessionOptions() {}

  /**
   * Waits for a device when none is free.
   *
   * @param timeout as {@link #deviceWaitTimeout}
   * @param sleep as {@link #deviceWaitSleep}
   * @return this
   */
  public SessionOptions deviceWait(Duration timeout, Duration sleep) {
    return deviceWaitTimeout(timeout).deviceWaitSleep(sleep);
  }

  /**
   * Selects the anchors that handlers or queues serve.
   *
   * @param which by default, it selects the anchors without data that belong to a main program or
   *     to no program
   * @return this
   */
  public SessionOptions userAnchors(AnchorPredicate which) {
    predicate = Objects.requireNonNull(which, "which");
    return this;
  }

  void fill(RawSessionOptions raw) {
    fillFields(raw);
    long timeout = Times.nanos(deviceWaitTimeout);
    raw.set_wait(timeout == 0 ? 0 : 1, timeout, Times.nanos(deviceWaitSleep));
  }
}
