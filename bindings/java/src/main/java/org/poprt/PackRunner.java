package org.poprt;

/**
 * Packs runs of variable length into the compiled batches. The dynamic inputs of a run have the
 * same number of positions. Its outputs have as many, or with unpack info one item of the output's
 * first dimension. A pack is submitted when it is full, when the next item does not fit, or after
 * the timeout.
 */
public final class PackRunner extends ModelRunner {
  /**
   * Acquires a device and loads the model.
   *
   * @param executable the model; it may be closed afterwards
   * @param options how to pack; they are copied
   * @param config how to run; it is copied
   * @throws PoprtException with {@link ErrorCode#INVALID_ARGUMENT} (the options) or {@link
   * ErrorCode#FAILED_PRECONDITION} (options that do not fit the model), and as {@link
   * ModelRunner#ModelRunner(Executable, RuntimeConfig)}
   */
  public PackRunner(Executable executable, PackOptions options, RuntimeConfig config) {
    super(make(executable, options, config));
  }

  private static RawRunner make(Executable executable, PackOptions options, RuntimeConfig config) {
    RawPackOptions raw = new RawPackOptions();
    try {
      options.fill(raw);
      return create(executable, config, (model, how) -> RawRunner.create_pack(model, how, raw));
    } finally {
      raw.delete();
    }
  }
}
