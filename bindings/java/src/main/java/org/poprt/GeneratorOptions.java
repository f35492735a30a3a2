package org.poprt;

/**
 * How a {@link Generator} compiles and runs a model.
 *
 * @since 1.0
 */
public final class GeneratorOptions {
  long maxLength;
  long slots;
  long prefill;
  int threads;
  boolean reusePrefixes;
  long encoderLength;
  String states = "";
  String cachePrecision = "";

  /**
   * The most tokens of a text, including its prompt.
   *
   * @param value 0, the default: the context of the model, at most 2048
   * @return this
   */
  public GeneratorOptions maxLength(long value) {
    maxLength = value;
    return this;
  }

  /**
   * The number of sequences that one step computes together.
   *
   * @param value 0, the default: 1
   * @return this
   */
  public GeneratorOptions slots(long value) {
    slots = value;
    return this;
  }

  /**
   * The number of tokens of a prompt that one run computes.
   *
   * @param value 0, the default: 32 and 128
   * @return this
   */
  public GeneratorOptions prefill(long value) {
    prefill = value;
    return this;
  }

  /**
   * Compute threads.
   *
   * @param value 0, the default: POPRT_THREADS from the environment, or all CPUs
   * @return this
   */
  public GeneratorOptions threads(int value) {
    threads = value;
    return this;
  }

  /**
   * Whether a sequence uses tokens that an earlier or another one left on the device, if its prompt
   * begins with them. Logits may then differ in the last bits.
   *
   * @param on default false
   * @return this
   */
  public GeneratorOptions reusePrefixes(boolean on) {
    reusePrefixes = on;
    return this;
  }

  /**
   * The most tokens of the input of an encoder.
   *
   * @param value 0, the default: the context of the model, at most 512
   * @return this
   */
  public GeneratorOptions encoderLength(long value) {
    encoderLength = value;
    return this;
  }

  /**
   * Recurrent states that are not found by their names.
   *
   * @param value {@code past=present,...}, the names of inputs and outputs, with {@code %d} for a
   *     number; default none
   * @return this
   */
  public GeneratorOptions states(String value) {
    states = value;
    return this;
  }

  /**
   * How caches of keys and values are stored.
   *
   * @param value {@code int8}: in 8 bits, so that results differ slightly; {@code ""}, the default:
   *     in the precision of the model
   * @return this
   */
  public GeneratorOptions cachePrecision(String value) {
    cachePrecision = value;
    return this;
  }
}
