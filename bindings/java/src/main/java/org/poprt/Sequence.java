package org.poprt;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.stream.LongStream;

/**
 * One text of a {@link Generator}. One thread at a time uses it, except that any thread may call
 * {@link #cancel} and {@link #close}.
 *
 * @since 1.0
 */
public final class Sequence implements AutoCloseable {
  private final Handle<RawSequence> handle;

  Sequence(RawSequence raw) {
    handle = Handle.of(this, raw, RawSequence::delete, RawSequence::cancel);
  }

  /**
   * Waits for the rest of the text.
   *
   * @return its tokens
   * @throws PoprtException as {@link #next}
   */
  public long[] readAll() {
    LongStream.Builder tokens = LongStream.builder();
    for (long token = next(-1); token >= 0; token = next(-1)) tokens.add(token);
    return tokens.build().toArray();
  }

  /**
   * The text so far, as {@link #save} writes it to a file.
   *
   * @return a new array
   * @throws PoprtException with {@link ErrorCode#FAILED_PRECONDITION}: the sequence has not
   *     started; with {@link ErrorCode#UNIMPLEMENTED}: it is a beam search; with {@link
   *     ErrorCode#RESOURCE_EXHAUSTED} when the bytes do not fit in an array
   * @since 1.0
   */
  public byte[] saveBytes() {
    try (Use<RawSequence> use = use()) {
      RawBlob blob = use.raw().save_bytes();
      try {
        if (blob.bytes() > Integer.MAX_VALUE - 8)
          throw new PoprtException(
              ErrorCode.RESOURCE_EXHAUSTED,
              "the saved text has " + blob.bytes() + " bytes; a Java array holds less than 2 GiB");
        byte[] bytes = new byte[(int) blob.bytes()];
        Memory.view(blob.address(), blob.bytes()).get(bytes);
        return bytes;
      } finally {
        blob.delete();
      }
    }
  }

  /**
   * Reads the bytes of {@link #saveBytes} or of a file instead of a prompt and options, as {@link
   * #restore} does.
   *
   * @param bytes its remaining bytes are copied; its position does not change
   * @throws PoprtException with {@link ErrorCode#DATA_LOSS}: they are damaged or truncated; with
   *     {@link ErrorCode#FAILED_PRECONDITION}: the sequence has started, or has a prompt or
   *     options, or they are of another model, build or size
   * @since 1.0
   */
  public void restoreBytes(ByteBuffer bytes) {
    ByteBuffer direct = Memory.direct(bytes);
    try (Use<RawSequence> use = use()) {
      use.raw().restore_bytes(Memory.address(direct), direct.remaining());
    } finally {
      Reference.reachabilityFence(direct);
    }
  }

  // <functions:sequence> made from capi/functions.toml by tests/lint/functions.py --write
  /**
   * Appends a token to the prompt. For a model whose encoder takes tokens, it is the input of the
   * encoder.
   *
   * @param token the token
   * @throws PoprtException with {@link ErrorCode#INVALID_ARGUMENT}: the token is outside of the
   *     vocabulary
   * @throws PoprtException with {@link ErrorCode#FAILED_PRECONDITION}: the sequence has
   *     started, or continues a saved text
   * @since 1.0
   */
  public void append(long token) {
    try (Use<RawSequence> use = use()) {
      use.raw().append(token);
    }
  }

  /**
   * Sets an option: {@code temperature} (0, the default: the most probable token), {@code top_k}
   * (0: all), {@code top_p} (1: all), {@code min_p}, {@code repetition_penalty} (1: none),
   * {@code seed}, {@code max_new_tokens} (0: until the maximum length), {@code min_new_tokens},
   * {@code ignore_stop} (1: the stop tokens of the model do not end the text), {@code time_limit}
   * (seconds; 0: none), {@code wait_for_logits} (1: the text waits before each token, so that the
   * caller can change the logits), {@code num_beams} (1: no beam search; each beam needs a slot),
   * {@code num_return_sequences} (texts of a beam search), {@code length_penalty} (1; a score is
   * divided by the length to this power), {@code early_stopping} (of a beam search; 0: when no
   * better text is likely, 1: when {@code num_beams} texts have ended, 2: when no better text is
   * possible).
   *
   * @param name the name of the option
   * @param value its value
   * @throws PoprtException with {@link ErrorCode#NOT_FOUND}: no option has the name; the
   *     message lists the names
   * @throws PoprtException with {@link ErrorCode#INVALID_ARGUMENT}: the option does not accept
   *     the value
   * @throws PoprtException with {@link ErrorCode#FAILED_PRECONDITION}: the sequence has
   *     started, or continues a saved text
   * @since 1.0
   */
  public void setOption(String name, double value) {
    try (Use<RawSequence> use = use()) {
      use.raw().set_option(name, value);
    }
  }

  /**
   * Adds a token that ends the text. It is the last token that is returned.
   *
   * @param token the token
   * @throws PoprtException with {@link ErrorCode#INVALID_ARGUMENT}: the token is outside of the
   *     vocabulary
   * @throws PoprtException with {@link ErrorCode#FAILED_PRECONDITION}: the sequence has
   *     started, or continues a saved text
   * @since 1.0
   */
  public void addStopToken(long token) {
    try (Use<RawSequence> use = use()) {
      use.raw().add_stop_token(token);
    }
  }

  /**
   * Adds a token that is never chosen.
   *
   * @param token the token
   * @throws PoprtException with {@link ErrorCode#INVALID_ARGUMENT}: the token is outside of the
   *     vocabulary
   * @throws PoprtException with {@link ErrorCode#FAILED_PRECONDITION}: the sequence has
   *     started, or continues a saved text
   * @since 1.0
   */
  public void addBadToken(long token) {
    try (Use<RawSequence> use = use()) {
      use.raw().add_bad_token(token);
    }
  }

  /**
   * Starts the text. The call does not wait; the text waits until a slot is free.
   *
   * @throws PoprtException with {@link ErrorCode#INVALID_ARGUMENT}: the prompt is empty, the
   *     encoder has no input, or options exclude each other
   * @throws PoprtException with {@link ErrorCode#OUT_OF_RANGE}: the prompt has as many tokens
   *     as a text may have, or the input of the encoder is too long
   * @throws PoprtException with {@link ErrorCode#FAILED_PRECONDITION}: the sequence has started
   * @since 1.0
   */
  public void start() {
    try (Use<RawSequence> use = use()) {
      use.raw().start();
    }
  }

  /**
   * The next token, for which the call waits; -1 at the end of the text. If a run of the device has
   * failed, the call after the last token fails with its error.
   *
   * @param timeoutNs how long to wait, in nanoseconds; negative: without limit
   * @return a number
   * @throws PoprtException with {@link ErrorCode#DEADLINE_EXCEEDED}: there is no token in time
   * @throws PoprtException with {@link ErrorCode#FAILED_PRECONDITION}: the sequence has not
   *     started, waits until the caller resumes it, or has no token that may be chosen
   * @since 1.0
   */
  public long next(long timeoutNs) {
    try (Use<RawSequence> use = use()) {
      return use.raw().next(timeoutNs);
    }
  }

  /**
   * The logarithm of the probability that the model gives the token that was returned last, before
   * penalties and temperature. 0 before the first token.
   *
   * @return a number
   * @since 1.0
   */
  public double logProbability() {
    try (Use<RawSequence> use = use()) {
      return use.raw().log_probability();
    }
  }

  /**
   * Why the text has ended: {@code stop} (a stop token), {@code length} (the maximum number of
   * tokens), {@code deadline} (its time limit), {@code cancelled}, {@code error}; empty while it
   * continues. A text ends before its last tokens are read.
   *
   * @return text
   * @since 1.0
   */
  public String finishReason() {
    try (Use<RawSequence> use = use()) {
      return use.raw().finish_reason();
    }
  }

  /**
   * Ends the text before its next token. Any thread may call it.
   *
   * @since 1.0
   */
  public void cancel() {
    try (Use<RawSequence> use = use()) {
      use.raw().cancel();
    }
  }

  /**
   * The number of logits of the next token, for which the call waits with the option
   * {@code wait_for_logits}; 0 at the end of the text.
   *
   * @param timeoutNs how long to wait, in nanoseconds; negative: without limit
   * @return a number
   * @throws PoprtException with {@link ErrorCode#DEADLINE_EXCEEDED}: there are no logits in
   *     time
   * @throws PoprtException with {@link ErrorCode#FAILED_PRECONDITION}: the sequence was started
   *     without the option, or has not started
   * @since 1.0
   */
  public long waitLogits(long timeoutNs) {
    try (Use<RawSequence> use = use()) {
      return use.raw().wait_logits(timeoutNs);
    }
  }

  /**
   * The logit of a token, after the call that waits for the logits. 0 if there is none.
   *
   * @param token the token
   * @return a number
   * @since 1.0
   */
  public double logit(long token) {
    try (Use<RawSequence> use = use()) {
      return use.raw().logit(token);
    }
  }

  /**
   * Changes the logit of a token, after the call that waits for the logits.
   *
   * @param token the token
   * @param value its logit
   * @throws PoprtException with {@link ErrorCode#INVALID_ARGUMENT}: the token is outside of the
   *     vocabulary
   * @throws PoprtException with {@link ErrorCode#FAILED_PRECONDITION}: the sequence does not
   *     wait
   * @since 1.0
   */
  public void setLogit(long token, double value) {
    try (Use<RawSequence> use = use()) {
      use.raw().set_logit(token, value);
    }
  }

  /**
   * Chooses the next token from the logits, which the caller may have changed.
   *
   * @throws PoprtException with {@link ErrorCode#FAILED_PRECONDITION}: the sequence does not
   *     wait
   * @since 1.0
   */
  public void resume() {
    try (Use<RawSequence> use = use()) {
      use.raw().resume();
    }
  }

  /**
   * Appends a token to the prompt of the decoder, for a model with an encoder. Without it, the
   * decoder starts with the tokens that the configuration of the model states.
   *
   * @param token the token
   * @throws PoprtException with {@link ErrorCode#INVALID_ARGUMENT}: the token is outside of the
   *     vocabulary, or the model has no encoder
   * @throws PoprtException with {@link ErrorCode#FAILED_PRECONDITION}: the sequence has
   *     started, or continues a saved text
   * @since 1.0
   */
  public void appendDecoder(long token) {
    try (Use<RawSequence> use = use()) {
      use.raw().append_decoder(token);
    }
  }

  /**
   * Appends an element to the features of an encoder, such as the spectrogram of Whisper, in
   * row-major order.
   *
   * @param value the element
   * @throws PoprtException with {@link ErrorCode#INVALID_ARGUMENT}: the encoder takes no
   *     features
   * @throws PoprtException with {@link ErrorCode#OUT_OF_RANGE}: there are as many as the
   *     encoder takes
   * @throws PoprtException with {@link ErrorCode#FAILED_PRECONDITION}: the sequence has
   *     started, or continues a saved text
   * @since 1.0
   */
  public void appendFeature(double value) {
    try (Use<RawSequence> use = use()) {
      use.raw().append_feature(value);
    }
  }

  /**
   * Reads the features of an encoder from a .npy file of NumPy. Their number must be that of the
   * encoder.
   *
   * @param file the .npy file
   * @throws PoprtException with {@link ErrorCode#NOT_FOUND}: the file does not exist
   * @throws PoprtException with {@link ErrorCode#INVALID_ARGUMENT}: it is not a complete .npy
   *     file of floating-point numbers, the number differs, or the encoder takes no features
   * @throws PoprtException with {@link ErrorCode#FAILED_PRECONDITION}: the sequence has
   *     started, or continues a saved text
   * @since 1.0
   */
  public void readFeatures(Path file) {
    try (Use<RawSequence> use = use()) {
      use.raw().read_features(file.toString());
    }
  }

  /**
   * Whether a beam search has another text. The call waits for the end of the search and goes to
   * that text, whose tokens are then the next ones.
   *
   * @return true or false
   * @throws PoprtException with {@link ErrorCode#FAILED_PRECONDITION}: the sequence has not
   *     started, or has no token that may be chosen
   * @since 1.0
   */
  public boolean nextText() {
    try (Use<RawSequence> use = use()) {
      return use.raw().next_text();
    }
  }

  /**
   * Writes the text so far to a file: its state on the device, its options and the tokens that were
   * not read. A sequence that restores the file continues it with the same tokens. The text goes on
   * here. The file is written completely or not at all, and replaces an existing file.
   *
   * @param file the file
   * @throws PoprtException with {@link ErrorCode#FAILED_PRECONDITION}: the sequence has not
   *     started
   * @throws PoprtException with {@link ErrorCode#UNIMPLEMENTED}: the sequence is a beam search
   * @throws PoprtException with {@link ErrorCode#NOT_FOUND}: the folder does not exist
   * @throws PoprtException with {@link ErrorCode#PERMISSION_DENIED}: the file cannot be created
   * @throws PoprtException with {@link ErrorCode#RESOURCE_EXHAUSTED}: the disk is full
   * @since 1.0
   */
  public void save(Path file) {
    try (Use<RawSequence> use = use()) {
      use.raw().save(file.toString());
    }
  }

  /**
   * Reads a saved text instead of a prompt and options. Starting the sequence continues the text.
   * The generator must have the same model and sizes. The time limit begins again.
   *
   * @param file the file
   * @throws PoprtException with {@link ErrorCode#NOT_FOUND}: the file does not exist
   * @throws PoprtException with {@link ErrorCode#DATA_LOSS}: the file is damaged or truncated
   * @throws PoprtException with {@link ErrorCode#FAILED_PRECONDITION}: the sequence has
   *     started, or has a prompt or options; or the file is of another model, build or size
   * @since 1.0
   */
  public void restore(Path file) {
    try (Use<RawSequence> use = use()) {
      use.raw().restore(file.toString());
    }
  }

  /**
   * The score of the current text of a beam search: the sum of its log-probabilities divided by its
   * length to the power {@code length_penalty}. 0 before the end and for other sequences.
   *
   * @return a number
   * @since 1.0
   */
  public double score() {
    try (Use<RawSequence> use = use()) {
      return use.raw().score();
    }
  }
  // </functions:sequence>

  /**
   * Cancels the text if it continues. A call of another thread that waits for it throws {@link
   * IllegalStateException}.
   */
  @Override
  public void close() {
    handle.close();
  }

  private Use<RawSequence> use() {
    return handle.use();
  }
}
