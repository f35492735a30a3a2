package org.poprt;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What a {@link Compiler} does with a model. */
public final class CompilerOptions {
  /** What to do with floating-point types. */
  public enum Precision {
    /** As the model has them. */
    KEEP,
    /** All to 32 bits. */
    FP32,
    /** All to 16 bits. */
    FP16
  }

  /** What may compute 3x3 convolutions in 32 bits, besides direct sums. Since 1.0. */
  public enum Winograd {
    /** What keeps each layer within 1e-4 of exact sums. */
    DEFAULT,
    /** Nothing. */
    OFF,
    /** F(2x2), which rounds hardly more. */
    EXACT,
    /** F(4x4) too, where that is faster. */
    FAST
  }

  /** Hears how far a compilation is. Called on the compiling thread. */
  @FunctionalInterface
  public interface ProgressListener {
    /**
     * A step begins.
     *
     * @param done from 0 to 1
     * @param what names the step
     */
    void progress(double done, String what);
  }

  /** Hears of each pass that was run. Called on the compiling thread. */
  @FunctionalInterface
  public interface PassListener {
    /**
     * A pass has ended.
     *
     * @param pass its name
     * @param rewrites what it changed
     * @param milliseconds that it took
     * @param nodesBefore size of the graph before
     * @param nodesAfter size of the graph after
     */
    void afterPass(
        String pass, long rewrites, double milliseconds, long nodesBefore, long nodesAfter);
  }

  private final Map<String, long[]> inputShapes = new LinkedHashMap<>();
  private final Map<String, Long> inputLengths = new LinkedHashMap<>();
  private final Map<String, ByteBuffer> opaqueBlobs = new LinkedHashMap<>();
  private final Map<String, String> options = new LinkedHashMap<>();
  private final List<String> passes = new ArrayList<>();
  private final List<String> skipPasses = new ArrayList<>();
  private final List<String> outputs = new ArrayList<>();
  private long batchSize;
  private long batchAxis;
  private Precision precision = Precision.KEEP;
  private Winograd winograd = Winograd.DEFAULT;
  private boolean verify = true;
  private long maxTensorSize;
  private long rewriteLimit;
  private String stopAfter = "";
  private long convertVersion;
  private boolean variableWeights;
  private boolean strict;
  private boolean embedSource;
  private boolean engineCaching;
  private boolean allowLinks;
  private String cachePath = "";
  ProgressListener progress;
  PassListener afterPass;

  /** The defaults. */
  public CompilerOptions() {}

  /**
   * Fixes the dimensions of an input.
   *
   * @param name of the input
   * @param shape its dimensions
   * @return this
   */
  public CompilerOptions inputShape(String name, long... shape) {
    inputShapes.put(name, shape.clone());
    return this;
  }

  /**
   * Fixes how many elements an input has that is a sequence, where no {@link #inputShape} of its
   * elements NAME[0], NAME[1] ... tells; of an optional one, 0 or 1.
   *
   * @param name of the input
   * @param length its elements
   * @return this
   * @since 1.0
   */
  public CompilerOptions inputLength(String name, long length) {
    inputLengths.put(name, length);
    return this;
  }

  /**
   * Puts bytes into the PopEF file beside the executable, for whoever runs it. A {@link
   * HostConcatRunner} looks for "HostConcatRunnerConfig".
   *
   * @param name of the blob
   * @param data what remains of it is copied; its position stays
   * @return this
   * @since 1.0
   */
  public CompilerOptions opaqueBlob(String name, ByteBuffer data) {
    ByteBuffer copy = Memory.allocate(data.remaining());
    copy.put(data.duplicate()).flip();
    opaqueBlobs.put(name, copy);
    return this;
  }

  /**
   * As {@link #opaqueBlob(String, ByteBuffer)}.
   *
   * @param name of the blob
   * @param data its bytes, copied
   * @return this
   * @since 1.0
   */
  public CompilerOptions opaqueBlob(String name, byte[] data) {
    return opaqueBlob(name, ByteBuffer.wrap(data));
  }

  /**
   * Whether external data may be reached through symbolic and hard links, wherever they lead. Only
   * for models that are trusted.
   *
   * @param on default false
   * @return this
   */
  public CompilerOptions allowLinks(boolean on) {
    allowLinks = on;
    return this;
  }

  /**
   * Fixes the batch size of every input.
   *
   * @param size 0, the default: as the model says
   * @param axis which dimension it is
   * @return this
   */
  public CompilerOptions batchSize(long size, long axis) {
    batchSize = size;
    batchAxis = axis;
    return this;
  }

  /**
   * What to do with floating-point types.
   *
   * @param precision default {@link Precision#KEEP}
   * @return this
   */
  public CompilerOptions precision(Precision precision) {
    this.precision = precision;
    return this;
  }

  /**
   * What may compute 3x3 convolutions. Since 1.0.
   *
   * @param winograd default {@link Winograd#DEFAULT}
   * @return this
   */
  public CompilerOptions winograd(Winograd winograd) {
    this.winograd = winograd;
    return this;
  }

  /**
   * Whether to verify the graph after each pass.
   *
   * @param on default true
   * @return this
   */
  public CompilerOptions verify(boolean on) {
    verify = on;
    return this;
  }

  /**
   * Runs more passes after the default ones.
   *
   * @param names of {@link Compiler#listPasses}
   * @return this
   */
  public CompilerOptions passes(String... names) {
    passes.addAll(List.of(names));
    return this;
  }

  /**
   * Leaves passes out.
   *
   * @param names of {@link Compiler#listPasses}
   * @return this
   */
  public CompilerOptions skipPasses(String... names) {
    skipPasses.addAll(List.of(names));
    return this;
  }

  /**
   * Limits what constant folding makes.
   *
   * @param bytes of one tensor; 0, the default: no limit
   * @return this
   */
  public CompilerOptions maxTensorSize(long bytes) {
    maxTensorSize = bytes;
    return this;
  }

  /**
   * Stops rewriting after a number of rewrites, to find the one that is to blame.
   *
   * @param limit 0, the default: no limit
   * @return this
   */
  public CompilerOptions rewriteLimit(long limit) {
    rewriteLimit = limit;
    return this;
  }

  /**
   * Stops after a pass.
   *
   * @param pass its name; "", the default: do not stop
   * @return this
   */
  public CompilerOptions stopAfter(String pass) {
    stopAfter = pass;
    return this;
  }

  /**
   * Keeps only some outputs, in this order.
   *
   * @param names of outputs; none, the default: all
   * @return this
   */
  public CompilerOptions outputs(String... names) {
    outputs.addAll(List.of(names));
    return this;
  }

  /**
   * The opset of the model that convert writes.
   *
   * @param opset from 11 to 28; 0, the default: the model's
   * @return this
   */
  public CompilerOptions convertVersion(long opset) {
    convertVersion = opset;
    return this;
  }

  /**
   * Whether named weights stay tensors of their own, which can be replaced later; slower.
   *
   * @param on default false
   * @return this
   */
  public CompilerOptions variableWeights(boolean on) {
    variableWeights = on;
    return this;
  }

  /**
   * Whether to refuse a model for what is a warning in the log otherwise, such as attributes that an
   * operator does not have.
   *
   * @param on default false
   * @return this
   */
  public CompilerOptions strict(boolean on) {
    strict = on;
    return this;
  }

  /**
   * Sets an option of command poprt. {@link Compiler#listOptions} has them all; what tunes a chip goes
   * into the PopEF file's metadata.
   *
   * @param name without dashes
   * @param value a flag's is "True" or "False"; names are separated by commas, words by line feeds
   * @return this
   * @since 1.0
   */
  public CompilerOptions option(String name, String value) {
    options.put(name, value);
    return this;
  }

  /**
   * Whether the PopEF file holds the ONNX model, external data included, so that {@code poprt_exec
   * recompile} needs nothing else. Since 1.0.
   *
   * @param on whether it does
   * @return this
   */
  public CompilerOptions embedSource(boolean on) {
    embedSource = on;
    return this;
  }

  /**
   * Keeps what is compiled in a folder and takes it from there the next time.
   *
   * @param folder made when missing
   * @return this
   */
  public CompilerOptions engineCaching(Path folder) {
    engineCaching = true;
    cachePath = folder.toString();
    return this;
  }

  /**
   * Hears how far a compilation is. What it throws comes out of the compiling call, after that has
   * ended.
   *
   * @param listener null: none
   * @return this
   */
  public CompilerOptions progress(ProgressListener listener) {
    progress = listener;
    return this;
  }

  /**
   * Hears of each pass. What it throws comes out of the compiling call, after that has ended.
   *
   * @param listener null: none
   * @return this
   */
  public CompilerOptions afterPass(PassListener listener) {
    afterPass = listener;
    return this;
  }

  void fill(RawCompileOptions raw) {
    inputShapes.forEach((name, shape) -> raw.add_input_shape(name, shape, shape.length));
    inputLengths.forEach(raw::add_input_length);
    opaqueBlobs.forEach(
        (name, data) -> {
          raw.add_opaque_blob(name, Memory.address(data), data.remaining());
          Reference.reachabilityFence(data);
        });
    options.forEach(raw::add_option);
    raw.set_allow_links(allowLinks);
    raw.set_batch_size(batchSize, batchAxis);
    raw.set_precision(precision.ordinal());
    raw.set_winograd(winograd.ordinal());
    raw.set_verify(verify);
    passes.forEach(raw::add_pass);
    skipPasses.forEach(raw::add_skip_pass);
    raw.set_max_tensor_size(maxTensorSize);
    raw.set_rewrite_limit(rewriteLimit);
    raw.set_stop_after(stopAfter);
    outputs.forEach(raw::add_output);
    raw.set_convert_version(convertVersion);
    raw.set_variable_weights(variableWeights);
    raw.set_strict(strict);
    raw.set_embed_source(embedSource);
    raw.set_engine_caching(engineCaching, cachePath);
  }
}
