package org.poprt;

import java.time.Duration;

/**
 * The counters of a runner or of one of its replicas since its creation: a snapshot, returned by
 * {@link ModelRunner#counters()}.
 *
 * @since 1.0
 */
public final class RunnerCounters {
  private final long[] latencyBuckets;

  // <counters:members> made from capi/counters.toml by tests/lint/counter_fields.py --write
  private final long submitted;
  private final long completed;
  private final long failed;
  private final long cancelled;
  private final long timedOut;
  private final long rows;
  private final long paddedRows;
  private final long batches;
  private final long steps;
  private final long deviceErrors;
  private final long resets;
  private final long inFlight;
  private final long queueCapacity;
  private final long latencyCount;
  private final Duration latencyTotal;
  private final Duration latencyMax;
  private final Duration latencyP50;
  private final Duration latencyP99;
  private final int replicas;

  RunnerCounters(RawCounters raw) {
    submitted = raw.getSubmitted();
    completed = raw.getCompleted();
    failed = raw.getFailed();
    cancelled = raw.getCancelled();
    timedOut = raw.getTimed_out();
    rows = raw.getRows();
    paddedRows = raw.getPadded_rows();
    batches = raw.getBatches();
    steps = raw.getSteps();
    deviceErrors = raw.getDevice_errors();
    resets = raw.getResets();
    inFlight = raw.getIn_flight();
    queueCapacity = raw.getQueue_capacity();
    latencyCount = raw.getLatency_count();
    latencyTotal = Duration.ofNanos(raw.getLatency_total_ns());
    latencyMax = Duration.ofNanos(raw.getLatency_max_ns());
    latencyP50 = Duration.ofNanos(raw.getLatency_p50_ns());
    latencyP99 = Duration.ofNanos(raw.getLatency_p99_ns());
    replicas = (int) raw.getReplicas();
    latencyBuckets = buckets(raw);
  }

  /**
   * Requests that were accepted. Each of them ends up in one of the next four counters.
   *
   * @return a count
   */
  public long submitted() {
    return submitted;
  }

  /**
   * Requests whose outputs were written.
   *
   * @return a count
   */
  public long completed() {
    return completed;
  }

  /**
   * Requests that failed.
   *
   * @return a count
   */
  public long failed() {
    return failed;
  }

  /**
   * Requests that were cancelled.
   *
   * @return a count
   */
  public long cancelled() {
    return cancelled;
  }

  /**
   * Requests that did not begin within their limit.
   *
   * @return a count
   */
  public long timedOut() {
    return timedOut;
  }

  /**
   * Rows of requests that were computed. A request of a model whose requests share no batches
   * counts as one row.
   *
   * @return a count
   */
  public long rows() {
    return rows;
  }

  /**
   * Rows that were computed only to fill batches.
   *
   * @return a count
   */
  public long paddedRows() {
    return paddedRows;
  }

  /**
   * Runs of the device.
   *
   * @return a count
   */
  public long batches() {
    return batches;
  }

  /**
   * Groups of {@link RuntimeConfig#batchesPerStep} batches.
   *
   * @return a count
   */
  public long steps() {
    return steps;
  }

  /**
   * Errors of the device.
   *
   * @return a count
   */
  public long deviceErrors() {
    return deviceErrors;
  }

  /**
   * Resets of the device.
   *
   * @return a count
   */
  public long resets() {
    return resets;
  }

  /**
   * Requests that are submitted and have not ended yet.
   *
   * @return a count
   */
  public long inFlight() {
    return inFlight;
  }

  /**
   * Number of requests that fit into the queue. Further requests in flight wait in an unlimited
   * line.
   *
   * @return a count
   */
  public long queueCapacity() {
    return queueCapacity;
  }

  /**
   * Number of measured latencies. The latency of a completed request is the time from its
   * submission until its outputs are written.
   *
   * @return a count
   */
  public long latencyCount() {
    return latencyCount;
  }

  /**
   * The sum of all latencies.
   *
   * @return a time
   */
  public Duration latencyTotal() {
    return latencyTotal;
  }

  /**
   * The longest latency.
   *
   * @return a time
   */
  public Duration latencyMax() {
    return latencyMax;
  }

  /**
   * The median latency, rounded up to the end of its histogram bucket.
   *
   * @return a time
   */
  public Duration latencyP50() {
    return latencyP50;
  }

  /**
   * The 99th percentile of the latencies, rounded up to the end of its histogram bucket.
   *
   * @return a time
   */
  public Duration latencyP99() {
    return latencyP99;
  }

  /**
   * Number of replicas whose counters are added up and are available separately. 0: the replicas do
   * not count separately (pack runners), or the runner is stopped (light runners). 1 for the
   * counters of a replica.
   *
   * @return a count
   */
  public int replicas() {
    return replicas;
  }
  // </counters:members>

  private static long[] buckets(RawCounters raw) {
    long[] buckets = new long[(int) raw.bucket_count()];
    for (int i = 0; i < buckets.length; i++) buckets[i] = raw.latency_bucket(i);
    return buckets;
  }

  /**
   * A histogram: entry i counts the requests that took 2^i to 2^(i+1) nanoseconds, the last one also
   * those that took longer.
   *
   * @return a copy
   */
  public long[] latencyBuckets() {
    return latencyBuckets.clone();
  }

  /** A description of all counters except the histogram. */
  @Override
  public String toString() {
    return "RunnerCounters[submitted="
        + submitted
        + ", completed="
        + completed
        + ", failed="
        + failed
        + ", cancelled="
        + cancelled
        + ", timedOut="
        + timedOut
        + ", rows="
        + rows
        + ", paddedRows="
        + paddedRows
        + ", batches="
        + batches
        + ", steps="
        + steps
        + ", deviceErrors="
        + deviceErrors
        + ", resets="
        + resets
        + ", inFlight="
        + inFlight
        + ", queueCapacity="
        + queueCapacity
        + ", latencyP50="
        + latencyP50
        + ", latencyP99="
        + latencyP99
        + ", latencyMax="
        + latencyMax
        + ", replicas="
        + replicas
        + "]";
  }
}
