package org.poprt;

import java.lang.ref.Reference;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.ForkJoinPool;
import java.util.stream.Collectors;

/**
 * A model on a device, for use by any number of threads.
 *
 * <p>Memory of inputs and outputs must stay unchanged until a run is complete; the classes keep it
 * reachable. Closing while another thread runs is safe: that run ends first.
 *
 * @see ModelFusionRunner
 * @see PackRunner
 * @see HostConcatRunner
 * @see LightRunner
 */
public class ModelRunner implements AutoCloseable {
  private final Handle<RawRunner> handle;
  private final List<Anchor> inputs;
  private final List<Anchor> outputs;

  /**
   * Acquires any free device and loads the model.
   *
   * @param executable the model; it may be closed afterwards
   * @throws PoprtException as {@link #ModelRunner(Executable, RuntimeConfig)}
   */
  public ModelRunner(Executable executable) {
    this(executable, new RuntimeConfig());
  }

  /**
   * Acquires a device and loads the model.
   *
   * @param executable the model; it may be closed afterwards
   * @param config how to run; it is copied
   * @throws PoprtException with {@link ErrorCode#UNAVAILABLE} (all devices are busy), {@link
   *     ErrorCode#NOT_FOUND} (no such replica, input or suitable device), {@link
   *     ErrorCode#FAILED_PRECONDITION} (another runner uses the given device, a kernel is missing,
   *     or the options do not suit the executable), {@link ErrorCode#INVALID_ARGUMENT} (options),
   *     {@link ErrorCode#DATA_LOSS} (a damaged file, with {@link RuntimeConfig#verify}), {@link
   *     ErrorCode#PERMISSION_DENIED} (the folder of {@link RuntimeConfig#sharedDevices}) or {@link
   *     ErrorCode#RESOURCE_EXHAUSTED} (memory, threads)
   */
  public ModelRunner(Executable executable, RuntimeConfig config) {
    this(create(executable, config, RawRunner::new));
  }

  /**
   * Acquires any free device and loads a PopEF file, or an ONNX model, which is compiled and stored
   * in a cache for later calls; see {@link Executable#load(Path)}.
   *
   * @param model a PopEF file or an ONNX model
   * @throws PoprtException as {@link Executable#load(Path)} and {@link #ModelRunner(Executable)}
   * @since 1.0
   */
  public ModelRunner(Path model) {
    this(model, new RuntimeConfig());
  }

  /**
   * Acquires a device and loads a PopEF file, or an ONNX model, which is compiled and stored in a
   * cache for later calls; see {@link Executable#load(Path)}.
   *
   * @param model a PopEF file or an ONNX model
   * @param config how to run; it is copied
   * @throws PoprtException as {@link Executable#load(Path)} and {@link
   * #ModelRunner(Executable, RuntimeConfig)}
   * @since 1.0
   */
  public ModelRunner(Path model, RuntimeConfig config) {
    this(loaded(model, config));
  }

  private static RawRunner loaded(Path model, RuntimeConfig config) {
    Objects.requireNonNull(config, "config");
    try (Executable executable = Executable.load(model)) {
      return create(executable, config, RawRunner::new);
    }
  }

  ModelRunner(RawRunner raw) {
    handle = Handle.of(this, raw, RawRunner::delete);
    inputs = Anchor.list(raw.input_count(), raw::input_anchor);
    outputs = Anchor.list(raw.output_count(), raw::output_anchor);
  }

  /** Creates a raw runner of one kind. */
  interface Maker {
    RawRunner make(RawExecutable executable, RawRunnerOptions options);
  }

  static RawRunner create(Executable executable, RuntimeConfig config, Maker maker) {
    RawRunnerOptions options = new RawRunnerOptions();
    List<Use<RawDevice>> devices = new ArrayList<>(); // until the runner has them
    try {
      config.fill(options);
      try (Use<RawExecutable> model = executable.use()) {
        config.replicaDevices.forEach(
            (replica, device) -> options.add_replica_device(replica, using(device, devices)));
        if (config.device != null) options.set_device(using(config.device, devices));
        RawRunner made = maker.make(model.raw(), options);
        try {
          config.checkFrozenInputs(Anchor.list(made.input_count(), made::input_anchor));
        } catch (RuntimeException e) {
          made.delete();
          throw e;
        }
        return made;
      }
    } finally {
      devices.forEach(Use::close);
      options.delete();
      Reference.reachabilityFence(config); // also keeps the values of inputs
    }
  }

  private static RawDevice using(Device device, List<Use<RawDevice>> devices) {
    Use<RawDevice> use = device.use();
    devices.add(use);
    return use.raw();
  }

  /**
   * The inputs of a run, in the model's order.
   *
   * @return an unmodifiable list
   */
  public List<Anchor> inputs() {
    return inputs;
  }

  /**
   * The outputs of a run, in the order of the model.
   *
   * @return an unmodifiable list
   */
  public List<Anchor> outputs() {
    return outputs;
  }

  /**
   * Creates bindings, to which memory for runs is bound.
   *
   * @return bindings without memory
   */
  public Bindings bindings() {
    return new Bindings(inputs, outputs);
  }

  /**
   * Runs the model once. Every input and output must be bound. Thread-safe: calls wait until a
   * device of the runner is free.
   *
   * @param bindings the memory of inputs and outputs
   * @throws PoprtException with {@link ErrorCode#NOT_FOUND} (a name), {@link
   *     ErrorCode#INVALID_ARGUMENT} (missing, given twice, a wrong size), {@link
   *     ErrorCode#CANCELLED} (the runner was stopped), or the error of the device: {@link
   *     ErrorCode#ABORTED}, {@link ErrorCode#UNAVAILABLE}, {@link ErrorCode#INTERNAL}, {@link
   *     ErrorCode#UNKNOWN} or {@link ErrorCode#FAILED_PRECONDITION}
   */
  public void execute(Bindings bindings) {
    try (Use<RawBindings> memory = bindings.use();
        Use<RawRunner> runner = handle.use()) {
      Bindings.Kept kept = bindings.kept();
      kept.before();
      runner.raw().execute(memory.raw());
      kept.after();
    }
  }

  /**
   * Runs the model once with buffers by name, which {@link Bindings} describes. Binding once and
   * running often is faster.
   *
   * @param inputs memory of every input
   * @param outputs memory of every output
   * @throws PoprtException as {@link #execute(Bindings)}
   */
  public void execute(
      Map<String, ? extends Buffer> inputs, Map<String, ? extends Buffer> outputs) {
    try (Bindings bindings = bindings()) {
      inputs.forEach(bindings::input);
      outputs.forEach(bindings::output);
      execute(bindings);
    }
  }

  /**
   * Runs the model into new memory for as many rows as the inputs have. If there is an output
   * NAME:shape, and the request is one batch, output NAME only contains the real part, and
   * NAME:shape is left out.
   *
   * @param inputs by name: a {@link Tensor}, an array such as {@code float[][]}, or a buffer, whose
   *     shape is not checked
   * @return the outputs by name, in the model's order
   * @throws PoprtException as {@link #execute(Bindings)}; types and shapes are checked
   * @since 1.0
   */
  public Map<String, Tensor> run(Map<String, ?> inputs) {
    RawTensors tensors = new RawTensors();
    List<Object> kept = new ArrayList<>();
    RawOutputs made = null;
    try (Use<RawRunner> use = handle.use()) {
      inputs.forEach((name, value) -> add(tensors, name, value, kept));
      made = use.raw().run(tensors);
      Map<String, Tensor> outputs = new LinkedHashMap<>();
      for (long i = 0; i < made.count(); i++) outputs.put(made.name(i), copy(made, i));
      return outputs;
    } finally {
      if (made != null) made.delete();
      tensors.delete();
      Reference.reachabilityFence(kept);
    }
  }

  private void add(RawTensors tensors, String name, Object value, List<Object> kept) {
    if (value == null)
      throw new IllegalArgumentException(
          "input '" + name + "': expected an array, a buffer or a Tensor, given null");
    boolean flat = value instanceof Buffer;
    Tensor tensor;
    try {
      tensor =
          value instanceof Tensor
              ? (Tensor) value
              : flat ? new Tensor(null, new long[0], (Buffer) value) : Tensor.of(value);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("input '" + name + "': " + e.getMessage(), e);
    }
    Anchor anchor = null;
    for (Anchor input : inputs) if (input.name().equals(name)) anchor = input;
    DataType type = tensor.dataType();
    long[] shape = tensor.shapeFor(anchor);
    int rank = shape.length;
    DataType wanted = anchor == null ? null : anchor.dataType();
    boolean complex =
        wanted == DataType.C64 && type == DataType.F32
            || wanted == DataType.C128 && type == DataType.F64;
    if (complex && rank > 0 && shape[rank - 1] == 2) { // the two parts of a number
      type = wanted;
      rank--;
    } else if (wanted != null && wanted.bits() < 8 && type == DataType.S8) {
      type = null; // packed elements: the bytes have no shape to compare
      rank = 0;
    } else if (type == null) {
      Bindings.check(anchor, tensor.buffer(), true);
      if (anchor != null) type = anchor.dataType();
    } else if (anchor != null && Bindings.carries(anchor.dataType(), type)) {
      type = anchor.dataType();
    }
    Buffer memory = tensor.buffer();
    if (type != null && !flat) checkSize(name, type, shape, rank, Memory.bytes(memory));
    if (!memory.isDirect()) memory = Memory.staged(memory);
    kept.add(memory);
    tensors.add(
        name,
        Memory.address(memory),
        Memory.bytes(memory),
        flat || type == null ? 0 : type.number(),
        shape,
        rank);
  }

  /**
   * Refuses an empty buffer for a shape with elements, because the library interprets a size of 0
   * as the size of the shape.
   */
  private static void checkSize(String name, DataType type, long[] shape, int rank, long bytes) {
    for (int i = 0; i < rank; i++) if (shape[i] == 0) return;
    if (bytes > 0) return;
    throw new PoprtException(
        ErrorCode.INVALID_ARGUMENT,
        "input '"
            + name
            + "': the buffer has no elements from its position to its limit, given the shape "
            + Arrays.toString(Arrays.copyOf(shape, rank)).replace(" ", "")
            + " of "
            + type
            + "; a buffer that was filled needs flip()");
  }

  private static Tensor copy(RawOutputs made, long i) {
    long[] shape = new long[(int) made.rank(i)];
    for (int d = 0; d < shape.length; d++) shape[d] = made.dimension(i, d);
    ByteBuffer bytes = Memory.allocate(made.bytes(i));
    if (made.bytes(i) > 0) bytes.put(Memory.view(made.address(i), made.bytes(i))).flip();
    DataType type = DataType.of(made.dtype(i));
    return new Tensor(type, shape, Tensor.view(type, bytes));
  }

  /**
   * Submits a run and returns immediately. Runs of one replica begin in the order of submission,
   * except that those of whole steps do not wait for an incomplete batch. Runs beyond the queue
   * ({@link RuntimeConfig#queueDepth}) wait in a list without limit, so wait for results to limit
   * their number. The future completes on a thread of the common pool. Cancelling it cancels a run
   * that has not begun, and its memory is then free. A run that has begun continues, {@code cancel}
   * returns false, and the future completes when the memory is free. (Methods that complete the
   * future itself, such as {@code orTimeout}, do not free memory: use them on a {@code copy()}.)
   *
   * @param bindings the memory of inputs and outputs; the buffers are kept, the object may be
   * closed or bound again
   * @return completes when the outputs are written, or with a {@link PoprtException}; cancelled if
   * the runner is stopped before the run is complete
   * @throws PoprtException as {@link #execute(Bindings)}, for errors of the arguments
   */
  public CompletableFuture<Void> executeAsync(Bindings bindings) {
    return executeAsync(bindings, ForkJoinPool.commonPool());
  }

  /**
   * As {@link #executeAsync(Bindings)}, with an executor for completions.
   *
   * @param bindings the memory of inputs and outputs
   * @param executor the executor of completions; {@code Runnable::run} uses the thread that
   *     completes the run, usually one of the runner, which is fastest, but dependent actions must
   *     then not block or wait for another run
   * @return completes when the outputs are written
   * @throws PoprtException as {@link #execute(Bindings)}, for errors of the arguments
   */
  public CompletableFuture<Void> executeAsync(Bindings bindings, Executor executor) {
    return executeAsync(bindings, executor, Duration.ZERO);
  }

  /**
   * As {@link #executeAsync(Bindings, Executor)}, with a limit of the waiting time.
   *
   * @param bindings the memory of inputs and outputs
   * @param executor the executor of completions
   * @param timeout the time from the call within which the run must begin; 0: no limit
   * @return completes when the outputs are written, or with {@link ErrorCode#DEADLINE_EXCEEDED}
   * @throws IllegalArgumentException when the timeout is negative
   * @throws PoprtException as {@link #execute(Bindings)}, for errors of the arguments
   */
  public CompletableFuture<Void> executeAsync(
      Bindings bindings, Executor executor, Duration timeout) {
    if (timeout.isNegative())
      throw new IllegalArgumentException("timeout must not be negative, given " + timeout);
    return executeAsync(
        bindings, executor, timeout.isZero() ? null : new RequestOptions().timeout(timeout));
  }

  /**
   * As {@link #executeAsync(Bindings, Executor)}, with options.
   *
   * @param bindings the memory of inputs and outputs
   * @param executor the executor of completions
   * @param options null: the defaults
   * @return completes when the outputs are written
   * @throws PoprtException as {@link #execute(Bindings)}, for errors of the arguments
   * @since 1.0
   */
  public CompletableFuture<Void> executeAsync(
      Bindings bindings, Executor executor, RequestOptions options) {
    Objects.requireNonNull(executor, "executor"); // it would only be used after the submission
    RawRequestOptions raw = options == null ? null : new RawRequestOptions();
    try (Use<RawBindings> memory = bindings.use()) {
      if (raw != null) options.fill(raw);
      return AsyncRun.submit(handle, memory.raw(), bindings.kept(), executor, raw);
    } finally {
      if (raw != null) raw.delete();
    }
  }

  // <functions:runner> made from capi/functions.toml by tests/lint/functions.py --write
  /**
   * Whether an input comes with the executable or is frozen, so that requests leave it out. False
   * if there is no input at this position.
   *
   * @param index the position of the input
   * @return false if there is no such input
   * @since 1.0
   */
  public boolean inputHasData(int index) {
    try (Use<RawRunner> use = use()) {
      return use.raw().input_has_data(index);
    }
  }

  /**
   * The position of the input with a name, for bindings by position.
   *
   * @param name the name of the input
   * @return a number
   * @throws PoprtException with {@link ErrorCode#NOT_FOUND}: no input of requests has the name;
   *     the message lists the names
   * @since 1.0
   */
  public int inputIndex(String name) {
    try (Use<RawRunner> use = use()) {
      return (int) use.raw().input_index(name);
    }
  }

  /**
   * The position of the output with a name, for bindings by position.
   *
   * @param name the name of the output
   * @return a number
   * @throws PoprtException with {@link ErrorCode#NOT_FOUND}: no output has the name; the
   *     message lists the names
   * @since 1.0
   */
  public int outputIndex(String name) {
    try (Use<RawRunner> use = use()) {
      return (int) use.raw().output_index(name);
    }
  }

  /**
   * A JSON object with the counters and latencies of the runner and of each replica, since the
   * runner was created.
   *
   * @return text
   * @since 0.1
   */
  public String statistics() {
    try (Use<RawRunner> use = use()) {
      return use.raw().statistics();
    }
  }

  /**
   * A JSON array of the times at which each of the last requests was submitted, began, computed and
   * ended. The array is empty without the option {@code flush_on_waiting_outputs}.
   *
   * @return text
   * @since 0.1
   */
  public String tracepoints() {
    try (Use<RawRunner> use = use()) {
      return use.raw().tracepoints();
    }
  }

  /**
   * A JSON object with the times of every instruction on the first device of replica 0 since the
   * model was last loaded on it: when the runner was created, or by {@code auto_reset} after an
   * error.
   *
   * @return text
   * @throws PoprtException with {@link ErrorCode#FAILED_PRECONDITION}: the runner was created
   *     without the option {@code profile}
   * @throws PoprtException with {@link ErrorCode#UNIMPLEMENTED}: this kind of runner has no
   *     profile
   * @since 0.1
   */
  public String profile() {
    try (Use<RawRunner> use = use()) {
      return use.raw().profile();
    }
  }

  /**
   * Compiles shapes of a model whose shapes are compiled on demand, and waits until they are ready.
   *
   * @param shapes the shapes of the inputs, a line NAME=d0,d1,... for each input; several
   *     shapes are separated by slashes
   * @throws PoprtException with {@link ErrorCode#INVALID_ARGUMENT}: the text is ill-formed, or
   *     a shape contradicts the model
   * @throws PoprtException with {@link ErrorCode#UNIMPLEMENTED}: the shapes of the runner are
   *     fixed
   * @throws PoprtException with {@link ErrorCode#FAILED_PRECONDITION}: there is no compiler
   *     library
   * @since 1.0
   */
  public void warmUp(String shapes) {
    try (Use<RawRunner> use = use()) {
      use.raw().warm_up(shapes);
    }
  }

  /**
   * A JSON object with the dimensions of all inputs and outputs, which states the sizes that
   * requests decide.
   *
   * @return text
   * @since 1.0
   */
  public String openDimensions() {
    try (Use<RawRunner> use = use()) {
      return use.raw().open_dimensions();
    }
  }

  /**
   * Ends the runner. Waiting requests are cancelled, and the request on the device ends early with
   * cancelled. Later requests fail with cancelled.
   *
   * @since 0.1
   */
  public void stop() {
    try (Use<RawRunner> use = use()) {
      use.raw().stop();
    }
  }

  /**
   * Lets incomplete batches run at once from now on: requests do not wait for others that would
   * fill their batch. Nothing changes for a runner that packs sequences, whose requests wait at
   * most its timeout.
   *
   * @since 1.0
   */
  public void drain() {
    try (Use<RawRunner> use = use()) {
      use.raw().drain();
    }
  }
  // </functions:runner>

  /**
   * Compiles a shape of a model whose shapes are compiled on demand, and waits until it is ready.
   *
   * @param shapes the shapes of the inputs by name; inputs whose sizes follow from the others may
   *     be left out
   * @throws PoprtException as {@link #warmUp(String)}
   * @since 1.0
   */
  public void warmUp(Map<String, long[]> shapes) {
    use().close(); // a closed runner is the first error
    StringBuilder text = new StringBuilder();
    shapes.forEach(
        (name, shape) -> {
          text.append(text.length() == 0 ? "" : "\n").append(name).append('=');
          if (shape.length == 0) {
            text.append("[]");
          }
          for (int i = 0; i < shape.length; i++) {
            text.append(i == 0 ? "" : ",").append(shape[i]);
          }
        });
    warmUp(text.toString());
  }

  /**
   * Returns the counters of all replicas since the runner was created: {@link #statistics} as
   * numbers.
   *
   * @return a snapshot
   * @since 1.0
   */
  public RunnerCounters counters() {
    return counters(-1);
  }

  /**
   * Returns the counters of one replica since the runner was created.
   *
   * @param replica from 0 to {@link RunnerCounters#replicas} - 1; -1: all together
   * @return a snapshot
   * @throws PoprtException with {@link ErrorCode#NOT_FOUND} when there is no such replica, {@link
   *     ErrorCode#UNIMPLEMENTED} for a replica of a {@link PackRunner}, {@link
   *     ErrorCode#INVALID_ARGUMENT} for a number below -1
   * @since 1.0
   */
  public RunnerCounters counters(int replica) {
    try (Use<RawRunner> use = handle.use()) {
      RawCounters raw = use.raw().counters(replica);
      try {
        return new RunnerCounters(raw);
      } finally {
        raw.delete();
      }
    }
  }

  final Use<RawRunner> use() {
    return handle.use();
  }

  /**
   * Frees the runner without blocking. Submitted runs are completed first, also those that wait for
   * others to fill their batch; then the device is free. A second call has no effect.
   */
  @Override
  public void close() {
    handle.close(RawRunner::drain);
  }

  /** A description of the model. */
  @Override
  public String toString() {
    return getClass().getSimpleName() + ": " + described(inputs, outputs);
  }

  static String described(List<Anchor> inputs, List<Anchor> outputs) {
    return join(inputs) + " -> " + join(outputs);
  }

  private static String join(List<Anchor> anchors) {
    return anchors.stream().map(Anchor::toString).collect(Collectors.joining(", "));
  }
}
