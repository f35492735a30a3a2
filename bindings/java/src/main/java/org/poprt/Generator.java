package org.poprt;

import java.nio.file.Path;

/**
 * A language model on a device, which generates texts of tokens.
 *
 * <p>Any number of threads may use one. Its sequences run together: a {@link Sequence} joins when a
 * slot is free and leaves when it ends. Sequences continue to work after the generator is closed.
 *
 * @since 1.0
 */
public final class Generator implements AutoCloseable {
  private final Handle<RawGenerator> handle;

  /**
   * Compiles and loads a model with default options.
   *
   * @param model a folder of onnxruntime-genai or optimum, an ONNX file with past and present keys
   *     and values, or a PopEF file of {@link #save}
   * @throws PoprtException as {@link #Generator(Path, GeneratorOptions)}
   */
  public Generator(Path model) {
    this(model, new GeneratorOptions());
  }

  /**
   * Compiles and loads a model.
   *
   * @param model a folder of onnxruntime-genai or optimum, an ONNX file with past and present keys
   *     and values, or a PopEF file of {@link #save}
   * @param options how to compile and run it
   * @throws PoprtException with {@link ErrorCode#NOT_FOUND}, {@link ErrorCode#DATA_LOSS} (a damaged
   *     file), {@link ErrorCode#UNIMPLEMENTED} (an operator, or inputs and outputs without a known
   *     meaning), {@link ErrorCode#INVALID_ARGUMENT} (options), {@link
   *     ErrorCode#FAILED_PRECONDITION} (a PopEF file that is not for a generator), {@link
   *     ErrorCode#UNAVAILABLE} (all devices are busy) or {@link ErrorCode#RESOURCE_EXHAUSTED}
   */
  public Generator(Path model, GeneratorOptions options) {
    RawGenerator raw =
        RawGenerator.create(
            model.toString(),
            options.maxLength,
            options.slots,
            options.prefill,
            options.threads,
            options.reusePrefixes,
            options.encoderLength,
            options.states,
            options.cachePrecision);
    handle = Handle.of(this, raw, RawGenerator::delete);
  }

  /**
   * Makes a text that has not started.
   *
   * @param prompt tokens at its beginning; {@link Sequence#append} adds more
   * @return the text
   * @throws PoprtException with {@link ErrorCode#INVALID_ARGUMENT}: a token is outside of the
   *     vocabulary
   */
  public Sequence newSequence(long... prompt) {
    try (Use<RawGenerator> use = use()) {
      Sequence sequence = new Sequence(use.raw().new_sequence());
      for (long token : prompt) sequence.append(token);
      return sequence;
    }
  }

  // <functions:generator> made from capi/functions.toml by tests/lint/functions.py --write
  /**
   * The most tokens of a text, including its prompt.
   *
   * @return a number
   * @since 1.0
   */
  public long maxLength() {
    try (Use<RawGenerator> use = use()) {
      return use.raw().max_length();
    }
  }

  /**
   * The number of sequences that one step computes together.
   *
   * @return a number
   * @since 1.0
   */
  public long slots() {
    try (Use<RawGenerator> use = use()) {
      return use.raw().slots();
    }
  }

  /**
   * The number of tokens that the model knows. A token is a number from 0 to this one, exclusive.
   *
   * @return a number
   * @since 1.0
   */
  public long vocabulary() {
    try (Use<RawGenerator> use = use()) {
      return use.raw().vocabulary();
    }
  }

  /**
   * A JSON object with the numbers of slots, sequences, tokens, steps and seconds since the
   * generator was created. Thread-safe.
   *
   * @return text
   * @since 1.0
   */
  public String statistics() {
    try (Use<RawGenerator> use = use()) {
      return use.raw().statistics();
    }
  }

  /**
   * Writes a PopEF file, from which a generator is created without compiling. The file is written
   * completely or not at all, and replaces an existing file.
   *
   * @param file the PopEF file
   * @throws PoprtException with {@link ErrorCode#NOT_FOUND}: the folder does not exist
   * @throws PoprtException with {@link ErrorCode#PERMISSION_DENIED}: the file cannot be created
   * @throws PoprtException with {@link ErrorCode#RESOURCE_EXHAUSTED}: the disk is full
   * @since 1.0
   */
  public void save(Path file) {
    try (Use<RawGenerator> use = use()) {
      use.raw().save(file.toString());
    }
  }
  // </functions:generator>

  @Override
  public void close() {
    handle.close();
  }

  private Use<RawGenerator> use() {
    return handle.use();
  }
}
