package org.poprt;

import java.nio.Buffer;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** How a {@link ModelRunner} runs. */
public final class RuntimeConfig {
  // <options:runner> made from capi/option_fields.toml by tests/lint/option_fields.py --write
  private int threads;
  private boolean profile;
  Device device;
  private int queueDepth;
  private boolean telemetry;
  private Duration timeout = Duration.ZERO;
  private boolean threadSafe = true;
  private boolean validateIoParams = true;
  private int ringBufferSizeMultiplier;
  private boolean autoReset;
  private boolean flushOnWaitingOutputs;
  private boolean isBatchSizeTimeoutEnabled;
  private Duration batchSizeTimeout = Duration.ZERO;
  private Duration dataParallelTimeout = Duration.ZERO;
  private long requestTracepointsBufferSize;
  private int replicationFactor;
  private boolean overlapIo;
  private long batchesPerStep;
  private Duration deviceWaitTimeout = Duration.ZERO;
  private Duration deviceWaitSleep = Duration.ZERO;
  private String faults = "";
  private String numerics = "";
  private String sharedDevices = "";
  private String load = "";
  private boolean verify;
  private int maxShapes;
  private String executionPrecision = "";
  private long maxShapeMemory;

  /**
   * Compute threads. Results are bit-equal for any number.
   *
   * @param value 0, the default: POPRT_THREADS from the environment, or all CPUs
   * @return this
   * @since 0.1
   */
  public RuntimeConfig threads(int value) {
    threads = value;
    return this;
  }

  /**
   * Whether to measure the time of every instruction, which {@link ModelRunner#profile} returns.
   * Runs are slower.
   *
   * @param on default false
   * @return this
   * @since 0.1
   */
  public RuntimeConfig profile(boolean on) {
    profile = on;
    return this;
  }

  /**
   * The device to run on.
   *
   * @param value null, the default: any free device
   * @return this
   * @since 0.1
   */
  public RuntimeConfig device(Device value) {
    device = value;
    return this;
  }

  /**
   * How many requests per replica may be in the queue; see {@link ModelRunner#executeAsync}.
   *
   * @param value 0, the default: the size of the ring
   * @return this
   * @since 0.1
   */
  public RuntimeConfig queueDepth(int value) {
    queueDepth = value;
    return this;
  }

  /**
   * Whether to publish the runner's activity, as POPRT_TELEMETRY=1 does; see
   * {@link Poprt#readTelemetry()}.
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
   * How long a batch that has some rows waits for more before it is padded with zeros.
   *
   * @param value zero, the default: it does not wait: it runs as soon as the device is idle,
   *     and rows are gathered while the device is busy; negative: without limit
   * @return this
   * @since 0.1
   */
  public RuntimeConfig timeout(Duration value) {
    timeout = Objects.requireNonNull(value, "value");
    return this;
  }

  /**
   * Whether several threads may use the runner at once. Off saves a lock.
   *
   * @param on default true
   * @return this
   * @since 0.1
   */
  public RuntimeConfig threadSafe(boolean on) {
    threadSafe = on;
    return this;
  }

  /**
   * Whether each run checks names and sizes. Without the checks, unknown names are ignored, missing
   * inputs are zeros, missing outputs are dropped, the size of the first binding determines the
   * number of rows, and others may be larger. Fused and conditional models need this.
   *
   * @param on default true
   * @return this
   * @since 0.1
   */
  public RuntimeConfig validateIoParams(boolean on) {
    validateIoParams = on;
    return this;
  }

  /**
   * The ring has places for this number times the rows of a step; without a batching dimension a
   * row is a batch. With 2, the ring has at least 64 places.
   *
   * @param value 0, the default: 2
   * @return this
   * @since 0.1
   */
  public RuntimeConfig ringBufferSizeMultiplier(int value) {
    ringBufferSizeMultiplier = value;
    return this;
  }

  /**
   * Whether the device is reset after an error that a reset repairs.
   *
   * @param on default false
   * @return this
   * @since 0.1
   */
  public RuntimeConfig autoReset(boolean on) {
    autoReset = on;
    return this;
  }

  /**
   * Whether a batch is padded only while a caller waits for one of its requests or has given a
   * callback for it. Without a limit by the timeout, a batch is then padded at once. This also
   * records tracepoints.
   *
   * @param on default false
   * @return this
   * @since 0.1
   */
  public RuntimeConfig flushOnWaitingOutputs(boolean on) {
    flushOnWaitingOutputs = on;
    return this;
  }

  /**
   * Whether the timeouts of batches and of steps are used.
   *
   * @param on default false
   * @return this
   * @since 1.0
   */
  public RuntimeConfig isBatchSizeTimeoutEnabled(boolean on) {
    isBatchSizeTimeoutEnabled = on;
    return this;
  }

  /**
   * How long a batch waits, from its first row until it is padded. With it, the default of timeout
   * has no effect.
   *
   * @param value zero, the default: never
   * @return this
   * @since 1.0
   */
  public RuntimeConfig batchSizeTimeout(Duration value) {
    batchSizeTimeout = Objects.requireNonNull(value, "value");
    return this;
  }

  /**
   * How long a step waits, from its first complete batch until it runs without the missing batches.
   *
   * @param value zero, the default: never
   * @return this
   * @since 1.0
   */
  public RuntimeConfig dataParallelTimeout(Duration value) {
    dataParallelTimeout = Objects.requireNonNull(value, "value");
    return this;
  }

  /**
   * How many of the last requests {@link ModelRunner#tracepoints} reports.
   *
   * @param value 0, the default: 1000; negative: all
   * @return this
   * @since 0.1
   */
  public RuntimeConfig requestTracepointsBufferSize(long value) {
    requestTracepointsBufferSize = value;
    return this;
  }

  /**
   * Number of copies of the model, each on a different device.
   *
   * @param value 0, the default: 1
   * @return this
   * @since 0.1
   */
  public RuntimeConfig replicationFactor(int value) {
    replicationFactor = value;
    return this;
  }

  /**
   * Whether separate threads copy the inputs of the next step and the outputs of the last step
   * while a step computes. An executable that was compiled with num_io_tiles turns this on.
   *
   * @param on default false
   * @return this
   * @since 0.1
   */
  public RuntimeConfig overlapIo(boolean on) {
    overlapIo = on;
    return this;
  }

  /**
   * Number of batches in a step. Submitted requests wait, within the timeouts, until a step is
   * full; whole batches of a call that waits for its result do not.
   *
   * @param value 0, the default: the executable's number
   * @return this
   * @since 0.1
   */
  public RuntimeConfig batchesPerStep(long value) {
    batchesPerStep = value;
    return this;
  }

  /**
   * How long to try again when no device is free.
   *
   * @param value zero, the default: 1 s; negative: without limit
   * @return this
   * @since 1.0
   */
  public RuntimeConfig deviceWaitTimeout(Duration value) {
    deviceWaitTimeout = Objects.requireNonNull(value, "value");
    return this;
  }

  /**
   * How long to sleep between two attempts to acquire a device.
   *
   * @param value zero, the default: 6 s
   * @return this
   * @since 1.0
   */
  public RuntimeConfig deviceWaitSleep(Duration value) {
    deviceWaitSleep = Objects.requireNonNull(value, "value");
    return this;
  }

  /**
   * Device errors to inject, for tests: "CLASS[:ACTION][@RUN][*COUNT][/REPLICA];...", see
   * capi/ABI.md.
   *
   * @param value "", the default: POPRT_INJECT_FAULTS from the environment
   * @return this
   * @since 1.0
   */
  public RuntimeConfig faults(String value) {
    faults = Objects.requireNonNull(value, "value");
    return this;
  }

  /**
   * The arithmetic: "fast"; "faithful", which rounds as the chip does and gives NaN when a half
   * overflows; or "saturating", which differs from faithful in that an overflow gives the greatest
   * half. With a seed, as in "faithful:7", halves are rounded stochastically, and equal runs have
   * equal results. The last two are slow and need an executable that was compiled with the option
   * numerics=faithful.
   *
   * @param value "", the default: "fast"
   * @return this
   * @since 1.0
   */
  public RuntimeConfig numerics(String value) {
    numerics = Objects.requireNonNull(value, "value");
    return this;
  }

  /**
   * Which processes share the devices of the replicas: "0": none; "1": all processes of the user;
   * an absolute path: all processes that give the same folder. Two replicas never have the same
   * device, even in different processes.
   *
   * @param value "", the default: POPRT_SHARED_DEVICES from the environment, or none
   * @return this
   * @since 1.0
   */
  public RuntimeConfig sharedDevices(String value) {
    sharedDevices = Objects.requireNonNull(value, "value");
    return this;
  }

  /**
   * How the runner uses a PopEF file: "map" uses weights in the memory map of the file; "copy"
   * copies them into memory, so that later changes of the file have no effect. If a mapped file is
   * truncated, the process receives SIGBUS.
   *
   * @param value "", the default: "map"
   * @return this
   * @since 1.0
   */
  public RuntimeConfig load(String value) {
    load = Objects.requireNonNull(value, "value");
    return this;
  }

  /**
   * Whether to check the checksums of the PopEF file, which reads all of it. If one differs, the
   * runner is refused with data_loss, and the message names the file and the blob. A file without
   * checksums causes a warning.
   *
   * @param on default false
   * @return this
   * @since 1.0
   */
  public RuntimeConfig verify(boolean on) {
    verify = on;
    return this;
  }

  /**
   * How many shapes of a model whose shapes are compiled on demand are kept, without the one that
   * was compiled ahead. Beyond it, the least recently used shape is removed.
   *
   * @param value 0, the default: 16
   * @return this
   * @since 1.0
   */
  public RuntimeConfig maxShapes(int value) {
    maxShapes = value;
    return this;
  }

  /**
   * The precision of products with constant weights: "f32"; "bf16", which rounds both factors;
   * "f16", which rounds the weights of MatMul and Gemm, and both factors on CPUs with AVX512-FP16;
   * or "auto", which is bf16 for weights that bf16 represents, and f16 for those that are stored as
   * f16. Weights are packed once and kept in the cache folder: POPXL_CACHE_DIR or POPART_CACHE_DIR,
   * else poprt in XDG_CACHE_HOME or ~/.cache.
   *
   * @param value "", the default: that of the executable
   * @return this
   * @since 1.0
   */
  public RuntimeConfig executionPrecision(String value) {
    executionPrecision = Objects.requireNonNull(value, "value");
    return this;
  }

  /**
   * The largest number of bytes of memory that the shapes which are compiled on demand may need for
   * one run each, with the inputs and outputs of a request, without the shape that was compiled
   * ahead. A request whose shape needs more is refused with invalid_argument, and the message
   * contains the needed and the allowed bytes. To make room for a shape, the least recently used
   * ones are removed.
   *
   * @param value 0, the default: no limit; negative: half of the memory of the computer or, if
   *     that is smaller, of the limit of the process's control group
   * @return this
   * @since 1.0
   */
  public RuntimeConfig maxShapeMemory(long value) {
    maxShapeMemory = value;
    return this;
  }

  private void fillFields(RawRunnerOptions raw) {
    raw.setThreads(threads);
    raw.setProfile(profile ? 1 : 0);
    raw.setQueue_depth(queueDepth);
    raw.setTelemetry(telemetry ? 1 : 0);
    raw.setTimeout_ns(Times.nanos(timeout));
    raw.setNot_thread_safe(threadSafe ? 0 : 1);
    raw.setNo_validate_io_params(validateIoParams ? 0 : 1);
    raw.setRing_buffer_size_multiplier(ringBufferSizeMultiplier);
    raw.setAuto_reset(autoReset ? 1 : 0);
    raw.setFlush_on_waiting_outputs(flushOnWaitingOutputs ? 1 : 0);
    raw.setIs_batch_size_timeout_enabled(isBatchSizeTimeoutEnabled ? 1 : 0);
    raw.setBatch_size_timeout_ns(Times.nanos(batchSizeTimeout));
    raw.setData_parallel_timeout_ns(Times.nanos(dataParallelTimeout));
    raw.setRequest_tracepoints_buffer_size(requestTracepointsBufferSize);
    raw.setReplication_factor(replicationFactor);
    raw.setOverlap_io(overlapIo ? 1 : 0);
    raw.setBatches_per_step(batchesPerStep);
    raw.setDevice_wait_timeout_ns(Times.nanos(deviceWaitTimeout));
    raw.setDevice_wait_sleep_ns(Times.nanos(deviceWaitSleep));
    raw.set_faults(faults);
    raw.set_numerics(numerics);
    raw.set_shared_devices(sharedDevices);
    raw.set_load(load);
    raw.setVerify(verify ? 1 : 0);
    raw.setMax_shapes(maxShapes);
    raw.set_execution_precision(executionPrecision);
    raw.setMax_shape_memory(maxShapeMemory);
  }
  // </options:runner>

  private boolean useBatchingDim;
  private int batchingDim;

  final Map<Long, Device> replicaDevices = new LinkedHashMap<>();
  private final Map<String, Buffer> frozenInputs = new LinkedHashMap<>();
  private final Map<String, Buffer> givenFrozenInputs = new LinkedHashMap<>(); // for their types

  /** The defaults. */
  public RuntimeConfig() {}

  /**
   * Sets the device of a replica. Replicas without this call get any free device.
   *
   * @param replica the number of the replica, from 0
   * @param device the device of the replica
   * @return this
   * @since 1.0
   */
  public RuntimeConfig replicaDevice(long replica, Device device) {
    replicaDevices.put(replica, Objects.requireNonNull(device, "device"));
    return this;
  }

  /**
   * Sets a value of an input for all runs, which then omit the input. A runner refuses elements of
   * another type than the input has.
   *
   * @param name the name of the input
   * @param value its elements, in native byte order; a heap buffer is copied by this call, a direct
   *     one when a runner is made
   * @return this
   * @since 1.0
   */
  public RuntimeConfig frozenInput(String name, Buffer value) {
    Bindings.check(null, value, true);
    frozenInputs.put(name, value.isDirect() ? value : Memory.staged(value));
    givenFrozenInputs.put(name, value);
    return this;
  }

  /**
   * Runs may have any size along an axis; runs of several callers then share a batch.
   *
   * @param axis the dimension; without this call, runs are a whole number of compiled batches
   * @return this
   */
  public RuntimeConfig batchingDim(int axis) {
    useBatchingDim = true;
    batchingDim = axis;
    return this;
  }

  /**
   * Sets and enables both timeouts.
   *
   * @param batch the time from the first row of a batch until it is padded; 0: no limit
   * @param dataParallel the time from the first complete batch of a step until the step starts
   * without the others; 0: no limit
   * @return this
   */
  public RuntimeConfig batchSizeTimeout(Duration batch, Duration dataParallel) {
    return isBatchSizeTimeoutEnabled(true).batchSizeTimeout(batch).dataParallelTimeout(dataParallel);
  }

  /**
   * Waits for a device when none is free.
   *
   * @param timeout as {@link #deviceWaitTimeout}
   * @param sleep as {@link #deviceWaitSleep}
   * @return this
   */
  public RuntimeConfig deviceWait(Duration timeout, Duration sleep) {
    return deviceWaitTimeout(timeout).deviceWaitSleep(sleep);
  }

  void fill(RawRunnerOptions raw) {
    fillFields(raw);
    raw.setUse_batching_dim(useBatchingDim ? 1 : 0);
    raw.setBatching_dim(batchingDim);
    // The configuration keeps the values until the runner is made.
    frozenInputs.forEach(
        (name, value) -> raw.add_frozen_input(name, Memory.address(value), Memory.bytes(value)));
  }

  void checkFrozenInputs(List<Anchor> inputs) {
    for (Anchor anchor : inputs) {
      Buffer value = givenFrozenInputs.get(anchor.name());
      if (value != null) Bindings.check(anchor, value, true);
    }
  }
}
