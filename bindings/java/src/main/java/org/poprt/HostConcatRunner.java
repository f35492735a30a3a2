package org.poprt;

import java.util.List;

/** Takes the inputs that the model's own were joined from, and joins them again for each run. */
public final class HostConcatRunner extends ModelRunner {
  /**
   * Takes a device and loads the model.
   *
   * @param executable the model; it may be closed afterwards
   * @param concats what to join; empty: as the executable says
   * @param config how to run; it is copied
   * @throws PoprtException with {@link ErrorCode#NOT_FOUND} (no such input, the executable says
   *     nothing) or {@link ErrorCode#INVALID_ARGUMENT}, and as {@link
   *     ModelRunner#ModelRunner(Executable, RuntimeConfig)}
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
