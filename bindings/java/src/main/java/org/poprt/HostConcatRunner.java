package org.poprt;

import java.util.List;

/** Takes the original inputs of a model with joined inputs, and joins them for each run. */
public final class HostConcatRunner extends ModelRunner {
  /**
   * Acquires a device and loads the model.
   *
   * @param executable the model; it may be closed afterwards
   * @param concats the inputs to join; empty: the configuration of the executable
   * @param config how to run; it is copied
   * @throws PoprtException with {@link ErrorCode#NOT_FOUND} (no such input, or no configuration in
   * the executable), {@link ErrorCode#INVALID_ARGUMENT} or {@link ErrorCode#DATA_LOSS} (the
   * configuration in the executable), and as {@link
   * ModelRunner#ModelRunner(Executable, RuntimeConfig)}
   */
  public HostConcatRunner(Executable executable, List<HostConcat> concats, RuntimeConfig config) {
    super(make(executable, concats, config));
  }

  private static RawRunner make(
      Executable executable, List<HostConcat> concats, RuntimeConfig config) {
    RawHostConcats raw = new RawHostConcats();
    try {
      concats.forEach(c -> c.fill(raw));
      return create(
          executable, config, (model, how) -> RawRunner.create_host_concat(model, how, raw));
    } finally {
      raw.delete();
    }
  }
}
