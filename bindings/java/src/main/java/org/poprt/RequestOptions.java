package org.poprt;

import java.time.Duration;
import java.util.Objects;

/** How one run is submitted; see {@link ModelRunner#executeAsync}. */
public final class RequestOptions {
  private long replica = -1;

  // <options:request> made from capi/option_fields.toml by tests/lint/option_fields.py --write
  private Duration timeout = Duration.ZERO;
  private boolean atOnce;

  /**
   * How long the request may wait, counted from the call. A request that has not begun by then
   * fails with deadline_exceeded.
   *
   * @param value zero, the default: without limit
   * @return this
   * @since 1.0
   */
  public RequestOptions timeout(Duration value) {
    timeout = Objects.requireNonNull(value, "value");
    return this;
  }

  /**
   * Whether whole batches run at once, even if the step of batches_per_step batches is not full.
   * Batches of a call that waits for its result always do.
   *
   * @param on default false
   * @return this
   * @since 1.0
   */
  public RequestOptions atOnce(boolean on) {
    atOnce = on;
    return this;
  }

  private void fillFields(RawRequestOptions raw) {
    raw.setTimeout_ns(Times.nanos(timeout));
    raw.setAt_once(atOnce ? 1 : 0);
  }
  // </options:request>

  /**
   * Sets the replica whose state (caches) the run uses. It takes precedence over {@link
   * Bindings#replica}. An unknown replica is an error of the run. By default, any replica computes
   * a run.
   *
   * @param value counted from 0
   * @return this
   * @throws IllegalArgumentException when it is negative
   * @since 1.0
   */
  public RequestOptions replica(int value) {
    if (value < 0) throw new IllegalArgumentException("replica " + value + " is negative");
    replica = value;
    return this;
  }

  void fill(RawRequestOptions raw) {
    fillFields(raw);
    raw.set_replica(replica);
  }
}
