package org.poprt;

import java.lang.ref.Reference;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * A model on a device whose inputs and outputs use handlers or queues, and whose programs the
 * caller runs. A {@link ModelRunner} is simpler.
 *
 * <p>Any thread may use a session. Runs, loading and changes of handlers wait for each other.
 * Handlers are called on the thread that runs programs; {@link InputHandler} names the exceptions.
 * A session that is not exclusive loses its device to the next one that binds it, and then fails
 * with {@link ErrorCode#FAILED_PRECONDITION} until {@link #reload} or {@link #bindToDevice()}.
 */
public final class Session implements AutoCloseable {
  private final Handle<RawSession> handle;
  private final List<Anchor> userInputs;
  private final List<Anchor> userOutputs;

  /** The handlers by anchor. No other object refers to them. */
  private final Map<String, RawTargets.Stream> handlers = new HashMap<>();

  /** The numbers of the targets of native code, which are removed with the session. */
  private final ConcurrentHashMap<String, Long> targets = new ConcurrentHashMap<>();

  private QueueManager queues;

  /**
   * Acquires any free device and loads the model.
   *
   * @param executable the model; it may be closed afterwards
   * @throws PoprtException as {@link #Session(Executable, SessionOptions)}
   */
  public Session(Executable executable) {
    this(executable, new SessionOptions());
  }

  /**
   * Acquires a device and loads the model.
   *
   * @param executable the model; it may be closed afterwards
   * @param options options, which are copied
   * @throws PoprtException with {@link ErrorCode#UNAVAILABLE} (all devices are busy), {@link
   *     ErrorCode#NOT_FOUND} (no suitable device exists), {@link ErrorCode#FAILED_PRECONDITION}
   *     (another session uses the given device exclusively, the device does not suit the
   *     executable, or a kernel is missing), {@link ErrorCode#INVALID_ARGUMENT} (options) or {@link
   *     ErrorCode#RESOURCE_EXHAUSTED}
   */
  public Session(Executable executable, SessionOptions options) {
    RawSession raw = create(executable, options);
    ConcurrentHashMap<String, Long> numbers = targets; // the lambda must not refer to this
    handle =
        Handle.of(
            this,
            raw,
            session -> {
              session.delete();
              numbers.values().forEach(RawTargets::remove);
            });
    userInputs = Anchor.list(raw.user_input_count(), raw::user_input_anchor);
    userOutputs = Anchor.list(raw.user_output_count(), raw::user_output_anchor);
  }

  private static RawSession create(Executable executable, SessionOptions options) {
    RawSessionOptions raw = new RawSessionOptions();
    AnchorPredicate predicate = options.predicate;
    long target = predicate == null ? 0 : RawTargets.add(predicate);
    RawSession made = null;
    RuntimeException failure = null;
    try (Use<RawExecutable> model = executable.use()) {
      options.fill(raw);
      if (target != 0)
        raw.set_predicate(poprt_raw.raw_session_fn(RawTargets.ACCEPTS), target);
      if (options.device == null) {
        made = new RawSession(model.raw(), raw);
      } else {
        try (Use<RawDevice> device = options.device.use()) {
          raw.set_device(device.raw());
          made = new RawSession(model.raw(), raw);
        }
      }
    } catch (RuntimeException e) {
      failure = e;
    } finally {
      raw.delete();
      RawTargets.remove(target);
      Reference.reachabilityFence(predicate);
    }
    try {
      RawTargets.rethrow(failure);
    } catch (Throwable e) {
      if (made != null) made.delete();
      throw e;
    }
    return made;
  }

  /** Calls the library, and rethrows exceptions of handlers. */
  private <T> T resultOf(Function<RawSession, T> what) {
    RuntimeException failure = null;
    T answer = null;
    try (Use<RawSession> use = handle.use()) {
      answer = what.apply(use.raw());
    } catch (RuntimeException e) {
      failure = e;
    } finally {
      Reference.reachabilityFence(this); // also keeps the handlers
    }
    RawTargets.rethrow(failure);
    return answer;
  }

  private void call(Consumer<RawSession> what) {
    resultOf(
        raw -> {
          what.accept(raw);
          return null;
        });
  }

  /**
   * Loads the session on its current device, else on that of the options, else on a free one.
   *
   * @throws PoprtException as {@link #Session(Executable, SessionOptions)}
   */
  public void bindToDevice() {
    call(RawSession::bind_to_any_device);
  }

  /**
   * Loads the session on a device. Unloads the session that uses the device.
   *
   * @param device the device
   * @throws PoprtException as {@link #Session(Executable, SessionOptions)}
   */
  public void bindToDevice(Device device) {
    try (Use<RawDevice> use = device.use()) {
      call(raw -> raw.bind_to_device(use.raw()));
    }
  }

  /**
   * Loads again: the state is the initial one, and the session is no longer stopped. Updated
   * weights are kept.
   *
   * @throws PoprtException as {@link #Session(Executable, SessionOptions)}
   */
  public void reload() {
    call(RawSession::load_again);
  }

  /** Frees the device. Running programs end with {@link ErrorCode#CANCELLED}. */
  public void unloadFromDevice() {
    call(RawSession::unload_from_device);
  }

  /**
   * Whether the session is on a device.
   *
   * @return false before one was acquired, after unloading, and if another session uses the device
   */
  public boolean isLoaded() {
    return resultOf(RawSession::is_loaded);
  }

  /**
   * Ends runs soon with {@link ErrorCode#CANCELLED} ({@link #runMainPrograms} returns false
   * instead), and later ones until {@link #reload} or {@link #bindToDevice()}. Handlers may call
   * it.
   */
  public void stop() {
    call(RawSession::stop);
  }

  /**
   * Sets the handler of an input.
   *
   * @param name the name of the input
   * @param handler null removes it
   * @throws PoprtException with {@link ErrorCode#NOT_FOUND} or {@link
   *     ErrorCode#FAILED_PRECONDITION} (the metadata has no handle for the anchor)
   */
  public void setUserInputHandler(String name, InputHandler handler) {
    set("in " + name, handler == null ? null : new Input(handler), (raw, fetch, id) ->
            raw.set_input_handler(
                name,
                fn(fetch, RawTargets.PREFETCH),
                fn(fetch, RawTargets.FETCH),
                fn(fetch, RawTargets.COMPLETE),
                fn(fetch, RawTargets.INVALIDATE),
                fn(fetch, RawTargets.INTERRUPT),
                id));
  }

  /**
   * Sets the handler of an output.
   *
   * @param name the name of the output
   * @param handler null removes it
   * @throws PoprtException as {@link #setUserInputHandler}
   */
  public void setUserOutputHandler(String name, OutputHandler handler) {
    set("out " + name, handler == null ? null : new Output(handler), (raw, fetch, id) ->
            raw.set_output_handler(
                name,
                fn(fetch, RawTargets.FETCH),
                fn(fetch, RawTargets.COMPLETE),
                fn(fetch, RawTargets.INTERRUPT),
                id));
  }

  private static long fn(boolean wanted, int which) {
    return wanted ? poprt_raw.raw_session_fn(which) : 0;
  }

  private interface Setter {
    void set(RawSession raw, boolean fetch, long id);
  }

  private synchronized void set(String key, RawTargets.Stream stream, Setter setter) {
    long id = stream == null ? 0 : RawTargets.add(stream);
    boolean[] set = {false};
    try {
      call(
          raw -> {
            setter.set(raw, stream != null, id);
            set[0] = true;
          });
    } finally { // the previous handler may have thrown; the new one is set in any case
      if (set[0]) keep(key, stream, id);
      else RawTargets.remove(id);
    }
  }

  /** Keeps the handler. The native code no longer refers to the previous one, which is removed. */
  private void keep(String key, RawTargets.Stream stream, long id) {
    replace(key, id);
    if (stream == null) handlers.remove(key);
    else handlers.put(key, stream);
  }

  /**
   * Inputs that the caller must serve, in the model's order. A mask {@code poprt.real.DIM} of a
   * model at several shapes is not one of them: the session fills it with ones, so that every place
   * of the shape that {@code poprt.bucket} selects is real. A caller that pads its inputs sets a
   * handler for it.
   *
   * @return an unmodifiable list
   */
  public List<Anchor> userInputs() {
    return userInputs;
  }

  /**
   * Outputs that the caller must serve, in the model's order.
   *
   * @return an unmodifiable list
   */
  public List<Anchor> userOutputs() {
    return userOutputs;
  }

  /**
   * Runs the load programs.
   *
   * @throws PoprtException with {@link ErrorCode#CANCELLED} (stopped, or no data) or {@link
   *     ErrorCode#FAILED_PRECONDITION} (anchors are not connected, or it is on no device)
   */
  public void runLoadPrograms() {
    call(RawSession::run_load_programs);
  }

  /**
   * Runs the main programs once; each stream is transferred as often as the executable's device
   * iterations and replicas determine.
   *
   * @return false if {@link #stop} or {@link QueueManager#disconnectAll} ended the programs or
   *     prevented them from running, so that a thread which calls this in a loop ends without an
   *     exception
   * @throws PoprtException with {@link ErrorCode#CANCELLED} (a handler had no data, or the session
   *     left its device) or {@link ErrorCode#FAILED_PRECONDITION} (anchors are not connected, or it
   *     is on no device)
   */
  public boolean runMainPrograms() {
    return resultOf(RawSession::run_main_programs_unless_stopped);
  }

  /**
   * Runs the save programs.
   *
   * @throws PoprtException as {@link #runLoadPrograms}
   */
  public void runSavePrograms() {
    call(RawSession::run_save_programs);
  }

  /**
   * Runs programs.
   *
   * @param indices PopEF's indices of the programs, in this order
   * @throws PoprtException with {@link ErrorCode#NOT_FOUND}, and as {@link #runLoadPrograms}
   */
  public void runPrograms(int... indices) {
    long[] values = new long[indices.length];
    for (int i = 0; i < indices.length; i++) values[i] = indices[i];
    call(raw -> raw.run_programs(values, values.length));
  }

  // <functions:session> made from capi/functions.toml by tests/lint/functions.py --write
  /**
   * Checks that every anchor that the user serves has a handler or a queue.
   *
   * @throws PoprtException with {@link ErrorCode#FAILED_PRECONDITION}: some have none; the
   *     message names them
   * @since 0.1
   */
  public void verifyConnected() {
    call(RawSession::verify_connected);
  }

  /**
   * A JSON object with the times of every instruction since the session was last loaded on a
   * device, in the format of the runner's profile.
   *
   * @return text
   * @throws PoprtException with {@link ErrorCode#FAILED_PRECONDITION}: the session was created
   *     without the option {@code profile}, or is on no device
   * @since 1.0
   */
  public String profile() {
    return resultOf(RawSession::profile);
  }
  // </functions:session>

  /**
   * Returns the blobs of the model; see {@link Executable#popefModel}.
   *
   * @return an independent model, which must be closed
   * @throws PoprtException with {@link ErrorCode#RESOURCE_EXHAUSTED}
   * @since 1.0
   */
  public PopefModel popefModel() {
    return new PopefModel(resultOf(RawSession::popef_model));
  }

  /**
   * Replaces the value of an input that has data in the executable, for later runs.
   *
   * @param name the name of the input
   * @param value its elements, copied; in native byte order
   * @throws PoprtException with {@link ErrorCode#NOT_FOUND} or {@link ErrorCode#INVALID_ARGUMENT}
   *     (the size)
   */
  public void updateWeights(String name, Buffer value) {
    Bindings.check(null, value, true);
    Buffer direct = value.isDirect() ? value : Memory.staged(value);
    call(raw -> raw.update_weights(name, Memory.address(direct), Memory.bytes(direct)));
    Reference.reachabilityFence(direct);
  }

  /**
   * Copies the value of an input that has data in the executable.
   *
   * @param name the name of the input
   * @param value receives its elements, in native byte order
   * @throws PoprtException as {@link #updateWeights}
   */
  public void readWeights(String name, Buffer value) {
    Bindings.check(null, value, false);
    ByteBuffer staged = value.isDirect() ? null : Memory.allocate(Memory.bytes(value));
    Buffer direct = staged == null ? value : staged;
    call(raw -> raw.read_weights(name, Memory.address(direct), Memory.bytes(direct)));
    if (staged != null) Memory.write(staged, value);
    Reference.reachabilityFence(direct);
  }

  /**
   * Creates a queue for each anchor that the caller serves.
   *
   * @return the queues
   */
  public QueueManager createQueueManager() {
    return createQueueManager(new QueueOptions());
  }

  /**
   * Creates a queue for each anchor that {@link QueueOptions#userAnchors} selects. Earlier queues
   * are closed: their waiting elements are cancelled, and so is a run that waits for them.
   *
   * @param options options, which are copied
   * @return the queues
   * @throws PoprtException with {@link ErrorCode#INVALID_ARGUMENT}; earlier queues then stay open
   */
  public synchronized QueueManager createQueueManager(QueueOptions options) {
    QueueManager made = new QueueManager(this, options.onTimeout);
    long target = options.onTimeout == null ? 0 : RawTargets.add(made);
    long predicate = options.predicate == null ? 0 : RawTargets.add(options.predicate);
    RawQueueOptions raw = new RawQueueOptions();
    try {
      options.fill(raw, target);
      if (predicate != 0)
        raw.set_predicate(poprt_raw.raw_session_fn(RawTargets.ACCEPTS), predicate);
      if (queues != null) queues.replaced = true;
      made.open(resultOf(session -> session.create_queue_manager(raw)));
    } catch (Throwable e) {
      RawTargets.remove(target);
      if (queues != null) queues.keepIfOpen();
      throw e;
    } finally {
      raw.delete();
      RawTargets.remove(predicate);
      Reference.reachabilityFence(options);
    }
    replace("queues", target);
    queues = made;
    return made;
  }

  private void replace(String key, long id) {
    Long old = targets.put(key, id);
    if (old != null) RawTargets.remove(old);
  }

  Use<RawSession> use() {
    return handle.use();
  }

  /**
   * Stops the session, as {@link #stop} does, and frees it when the running programs have ended.
   * Waiting elements of queues are cancelled. A second call has no effect.
   */
  @Override
  public void close() {
    try (Use<RawSession> use = handle.use()) {
      use.raw().stop();
    } catch (IllegalStateException closed) {
      return;
    } finally {
      handle.close();
    }
    Reference.reachabilityFence(this);
    RawTargets.rethrow(null);
  }

  private static final class Input implements RawTargets.Stream {
    private final InputHandler handler;

    Input(InputHandler handler) {
      this.handler = handler;
    }

    @Override
    public boolean transfer(boolean prefetch, ByteBuffer data) {
      return prefetch ? handler.prefetch(data) : handler.fetch(data);
    }

    @Override
    public void event(int which) {
      if (which == RawTargets.COMPLETE) handler.complete();
      if (which == RawTargets.INVALIDATE) handler.invalidatePrefetched();
      if (which == RawTargets.INTERRUPT) handler.interrupt();
    }
  }

  private static final class Output implements RawTargets.Stream {
    private final OutputHandler handler;

    Output(OutputHandler handler) {
      this.handler = handler;
    }

    @Override
    public boolean transfer(boolean prefetch, ByteBuffer data) {
      return handler.take(data);
    }

    @Override
    public void event(int which) {
      if (which == RawTargets.COMPLETE) handler.complete();
      if (which == RawTargets.INTERRUPT) handler.interrupt();
    }
  }
}
