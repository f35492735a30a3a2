package org.poprt;

/**
 * Runs a fused model, whose anchors are called {@code graphK/NAME}: a run binds those of one graph.
 */
public final class ModelFusionRunner extends ModelRunner {
  /**
   * Acquires a device and loads the model.
   *
   * @param executable the model; it may be closed afterwards
   * @param config how to run; it is copied
   * @throws PoprtException with {@link ErrorCode#FAILED_PRECONDITION} when it is not a fused model,
   *     and as {@link ModelRunner#ModelRunner(Executable, RuntimeConfig)}
   */
  public ModelFusionRunner(Executable executable, RuntimeConfig config) {
    super(create(executable, config, RawRunner::create_fusion));
  }
}
