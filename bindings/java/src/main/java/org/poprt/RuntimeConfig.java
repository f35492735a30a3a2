package org.poprt;

import java.nio.Buffer;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

/** How a {@link ModelRunner} runs. */
public final class RuntimeConfig {
  private int threads;
  private boolean profile;
  private int queueDepth;
  private boolean telemetry;
  private Duration timeout = Duration.ZERO;
  private boolean threadSafe = true;
  private boolean validateIoParams = true;
  private int ringBufferSizeMultiplier;
  private boolean autoReset;
  private boolean flushOnWaitingOutputs;
  private long requestTracepointsBufferSize;
  private int replicationFactor;
  private boolean overlapIo;
  private long batchesPerStep;
  private boolean useBatchingDim;
  private int batchingDim;
  private boolean batchSizeTimeoutEnabled;
  private Duration batchSizeTimeout = Duration.ZERO;
  private Duration dataParallelTimeout = Duration.ZERO;
  private Duration deviceWaitTimeout = Duration.ZERO;
  private Duration deviceWaitSleep = Duration.ZERO;
  private String faults = "";
  Device device;
  final Map<Long, Device> replicaDevices = new LinkedHashMap<>();
  private final Map<String, Buffer> frozenInputs = new LinkedHashMap<>();

  /** The defaults. */
  public RuntimeConfig() {}

  /**
   * Compute threads. Results are equal for any number.
   *
   * @param count 0, the default: POPRT_THREADS from the environment, or all CPUs
   * @return this
   */
  public RuntimeConfig threads(int count) {
    threads = count;
    return this;
  }

  /**
   * Whether to time every instruction, for {@link ModelRunner#profile}; slower.
   *
   * @param on default false
   * @return this
   */
  public RuntimeConfig profile(boolean on) {
    profile = on;
    return this;
  }

  /**
   * Whether to publish what it does, as POPRT_TELEMETRY=1 does; see {@link Poprt#readTelemetry()}.
   *
   * @param on default false
   * @return this
   * @since 1.0
   */
  public RuntimeConfig telemetry(boolean on) {
    telemetry = on;
    return this;
  }

  /**
   * Asynchronous runs that the queue has places for. {@link ModelRunner#executeAsync} never
   * blocks: further runs stand in a line until there is a place.
   *
   * @param depth 0, the default: the ring's size
   * @return this
   */
  public RuntimeConfig queueDepth(int depth) {
    queueDepth = depth;
    return this;
  }

  /**
   * The device to run on.
   *
   * @param device null, the default: any free one
   * @return this
   */
  public RuntimeConfig device(Device device) {
    this.device = device;
    return this;
  }

  /**
   * The device of a replica; others get any free one.
   *
   * @param replica from 0 on
   * @param device its device
   * @return this
   * @since 1.0
   */
  public RuntimeConfig replicaDevice(long replica, Device device) {
    replicaDevices.put(replica, Objects.requireNonNull(device));
    return this;
  }

  /**
   * Gives an input one value for all runs, which then leave it out.
   *
   * @param name of the input
   * @param value its elements, in native byte order; copied when a runner is made
   * @return this
   * @since 1.0
   */
  public RuntimeConfig frozenInput(String name, Buffer value) {
    Bindings.check(null, value, true);
    frozenInputs.put(name, value.isDirect() ? value : Memory.staged(value));
    return this;
  }

  /**
   * Device errors to inject, for tests.
   *
   * @param list as POPRT_INJECT_FAULTS has it; "", the default: what that says
   * @return this
   * @since 1.0
   */
  public RuntimeConfig faults(String list) {
    faults = Objects.requireNonNull(list);
    return this;
  }

  /**
   * How long a started batch waits for its next rows before it is padded with zeros.
   *
   * @param limit 0, the default: 10 ms; negative: for ever
   * @return this
   */
  public RuntimeConfig timeout(Duration limit) {
    timeout = limit;
    return this;
  }

  /**
   * Whether several threads may use the runner at once.
   *
   * @param on default true; false saves a lock
   * @return this
   */
  public RuntimeConfig threadSafe(boolean on) {
    threadSafe = on;
    return this;
  }

  /**
   * Whether names and sizes are checked in each run. Without, unknown names are ignored, inputs that are not given
   * are zeros and such outputs dropped.
   *
   * @param on default true
   * @return this
   */
  public RuntimeConfig validateIoParams(boolean on) {
    validateIoParams = on;
    return this;
  }

  /**
   * Size of the ring buffers, as a multiple of the rows of a step.
   *
   * @param multiplier 0, the default: 2
   * @return this
   */
  public RuntimeConfig ringBufferSizeMultiplier(int multiplier) {
    ringBufferSizeMultiplier = multiplier;
    return this;
  }

  /**
   * Whether the device is reset after errors that allow it.
   *
   * @param on default false
   * @return this
   */
  public RuntimeConfig autoReset(boolean on) {
    autoReset = on;
    return this;
  }

  /**
   * Whether batches are padded only while somebody waits for one of their runs. Turns tracing on.
   *
   * @param on default false
   * @return this
   */
  public RuntimeConfig flushOnWaitingOutputs(boolean on) {
    flushOnWaitingOutputs = on;
    return this;
  }

  /**
   * How many runs {@link ModelRunner#tracepoints} remembers.
   *
   * @param count 0, the default: 1000; negative: all
   * @return this
   */
  public RuntimeConfig requestTracepointsBufferSize(long count) {
    requestTracepointsBufferSize = count;
    return this;
  }

  /**
   * Copies of the model, each on a device of its own.
   *
   * @param factor 0, the default: 1
   * @return this
   */
  public RuntimeConfig replicationFactor(int factor) {
    replicationFactor = factor;
    return this;
  }

  /**
   * Whether inputs and outputs are copied while a step computes, on threads of their own.
   *
   * @param on default false
   * @return this
   */
  public RuntimeConfig overlapIo(boolean on) {
    overlapIo = on;
    return this;
  }

  /**
   * Batches of one step.
   *
   * @param count 0, the default: as the executable says
   * @return this
   */
  public RuntimeConfig batchesPerStep(long count) {
    batchesPerStep = count;
    return this;
  }

  /**
   * Runs may have any size along an axis; runs of several callers then share a batch.
   *
   * @param axis without this call runs are a whole number of compiled batches
   * @return this
   */
  public RuntimeConfig batchingDim(int axis) {
    useBatchingDim = true;
    batchingDim = axis;
    return this;
  }

  /**
   * How long batches are waited for.
   *
   * @param batch from a batch's first row until it is padded; 0: for ever
   * @param dataParallel from the first complete batch of a step until the step goes without the
   *     others; 0: for ever
   * @return this
   */
  public RuntimeConfig batchSizeTimeout(Duration batch, Duration dataParallel) {
    batchSizeTimeoutEnabled = true;
    batchSizeTimeout = batch;
    dataParallelTimeout = dataParallel;
    return this;
  }

  /**
   * Waits for a device when none is free.
   *
   * @param timeout how long; 0, the default: not at all
   * @param sleep between attempts; 0: 6 seconds
   * @return this
   */
  public RuntimeConfig deviceWait(Duration timeout, Duration sleep) {
    deviceWaitTimeout = timeout;
    deviceWaitSleep = sleep;
    return this;
  }

  void fill(RawRunnerOptions raw) {
    raw.setThreads(threads);
    raw.setProfile(profile ? 1 : 0);
    raw.setQueue_depth(queueDepth);
    raw.setTelemetry(telemetry ? 1 : 0);
    raw.setTimeout_ns(timeout.toNanos());
    raw.setNot_thread_safe(threadSafe ? 0 : 1);
    raw.setNo_validate_io_params(validateIoParams ? 0 : 1);
    raw.setRing_buffer_size_multiplier(ringBufferSizeMultiplier);
    raw.setAuto_reset(autoReset ? 1 : 0);
    raw.setFlush_on_waiting_outputs(flushOnWaitingOutputs ? 1 : 0);
    raw.setRequest_tracepoints_buffer_size(requestTracepointsBufferSize);
    raw.setReplication_factor(replicationFactor);
    raw.setOverlap_io(overlapIo ? 1 : 0);
    raw.setBatches_per_step(batchesPerStep);
    raw.setUse_batching_dim(useBatchingDim ? 1 : 0);
    raw.setBatching_dim(batchingDim);
    raw.setIs_batch_size_timeout_enabled(batchSizeTimeoutEnabled ? 1 : 0);
    raw.setBatch_size_timeout_ns(batchSizeTimeout.toNanos());
    raw.setData_parallel_timeout_ns(dataParallelTimeout.toNanos());
    raw.setDevice_wait_timeout_ns(deviceWaitTimeout.toNanos());
    raw.setDevice_wait_sleep_ns(deviceWaitSleep.toNanos());
    raw.set_faults(faults);
    // This keeps the values until the runner is made.
    frozenInputs.forEach(
        (name, value) -> raw.add_frozen_input(name, Memory.address(value), Memory.bytes(value)));
  }
}
