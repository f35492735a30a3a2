package org.poprt;

import java.lang.ref.Reference;
import java.nio.Buffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * A runner that can release its device ({@link #stop}) and acquire one again ({@link #reload}), and
 * whose weights can be replaced. It uses only the options threads, device, replicaDevice,
 * telemetry, numerics, load, verify and executionPrecision. One thread at a time.
 */
public final class LightRunner extends ModelRunner {
  private final List<Anchor> modelInputs;
  private final List<Boolean> hasData;

  /**
   * Acquires a device and loads the model.
   *
   * @param executable the model; it may be closed afterwards
   * @param config how to run; it is copied
   * @throws PoprtException as {@link ModelRunner#ModelRunner(Executable, RuntimeConfig)}
   */
  public LightRunner(Executable executable, RuntimeConfig config) {
    this(create(executable, config, RawRunner::create_light));
  }

  private LightRunner(RawRunner raw) {
    super(raw);
    modelInputs = Anchor.list(raw.light_input_count(), raw::light_input_anchor);
    List<Boolean> data = new ArrayList<>();
    for (int i = 0; i < modelInputs.size(); i++) data.add(raw.light_input_has_data(i));
    hasData = Collections.unmodifiableList(data);
  }

  /**
   * All inputs, including those that the executable contains.
   *
   * @return an unmodifiable list
   */
  public List<Anchor> modelInputs() {
    return modelInputs;
  }

  /**
   * Whether the executable contains the value of an input. Runs then do not bind the input; {@link
   * #setInput} replaces the value.
   *
   * @param index the position in {@link #modelInputs}
   * @return false: runs bind it
   */
  public boolean modelInputHasData(int index) {
    return hasData.get(index);
  }

  /**
   * Acquires a device again after {@link #stop}; otherwise has no effect.
   *
   * @throws PoprtException as {@link ModelRunner#ModelRunner(Executable, RuntimeConfig)}
   */
  public void reload() {
    try (Use<RawRunner> use = use()) {
      use.raw().light_reload();
    }
  }

  /**
   * Copies new elements for an input that the executable contains; {@link #updateWeights} makes
   * runs use them.
   *
   * @param name the name of the input
   * @param value its elements, copied; in native byte order
   * @throws PoprtException with {@link ErrorCode#NOT_FOUND}, {@link ErrorCode#INVALID_ARGUMENT} (the
   *     size) or {@link ErrorCode#FAILED_PRECONDITION} (runs bind it, or it
   *     is the random seed)
   */
  public void setInput(String name, Buffer value) {
    Bindings.check(null, value, true);
    Buffer direct = value.isDirect() ? value : Memory.staged(value);
    try (Use<RawRunner> use = use()) {
      use.raw().light_set_input(name, Memory.address(direct), Memory.bytes(direct));
    } finally {
      Reference.reachabilityFence(direct);
    }
  }

  /** Makes the next run use the elements of {@link #setInput}. */
  public void updateWeights() {
    try (Use<RawRunner> use = use()) {
      use.raw().light_update_weights();
    }
  }
}
