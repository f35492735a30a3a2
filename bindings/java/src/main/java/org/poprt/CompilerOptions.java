package org.poprt;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** The options of a {@link Compiler}. */
public final class CompilerOptions {
  /** The conversion of floating-point types. */
  public enum Precision {
    /** Unchanged. */
    KEEP,
    /** All to 32 bits. */
    FP32,
    /** All to 16 bits. */
    FP16
  }

  /**
   * The Winograd algorithms that may compute 3x3 convolutions in 32 bits instead of direct sums.
   * Since 1.0.
   */
  public enum Winograd {
    /** The one that keeps each layer within 1e-4 of exact sums. */
    DEFAULT,
    /** None. */
    OFF,
    /** F(2x2), which adds little rounding. */
    EXACT,
    /** Also F(4x4) where that is faster. */
    FAST
  }

  /** Receives the progress of a compilation. Called on the compiling thread. */
  @FunctionalInterface
  public interface ProgressListener {
    /**
     * Called when a step begins.
     *
     * @param done the completed part of the compilation, from 0 to 1
     * @param what the name of the step
     */
    void progress(double done, String what);
  }

  /** Receives a report of each pass. Called on the compiling thread. */
  @FunctionalInterface
  public interface PassListener {
    /**
     * Called when a pass has ended.
     *
     * @param pass the name of the pass
     * @param rewrites the number of its changes
     * @param milliseconds its duration
     * @param nodesBefore the number of nodes of the graph before the pass
     * @param nodesAfter the number of nodes of the graph after the pass
     */
    void afterPass(
        String pass, long rewrites, double milliseconds, long nodesBefore, long nodesAfter);
  }

  private final Map<String, long[]> inputShapes = new LinkedHashMap<>();
  private final List<Map<String, long[]>> shapeSets = new ArrayList<>();
  private final Map<String, Long> inputLengths = new LinkedHashMap<>();
  private final Map<String, ByteBuffer> opaqueBlobs = new LinkedHashMap<>();
  private final Map<String, String> options = new LinkedHashMap<>();
  private final List<String> passes = new ArrayList<>();
  private final List<String> skipPasses = new ArrayList<>();
  private final List<String> outputs = new ArrayList<>();

  // <options:compile> made from capi/option_fields.toml by tests/lint/option_fields.py --write
  private long batchSize;
  private long batchAxis;
  private Precision precision = Precision.KEEP;
  private boolean verify = true;
  private long maxTensorSize;
  private long rewriteLimit;
  private String stopAfter = "";
  ProgressListener progress;
  PassListener afterPass;
  private long convertVersion;
  private boolean enableEngineCaching;
  private boolean allowLinks;
  private String cachePath = "";
  private boolean variableWeights;
  private boolean strict;
  private Winograd winograd = Winograd.DEFAULT;
  private boolean embedSource;
  private double maxPadding;
  private String load = "";
  private String shapes = "";

  /**
   * Batch size of every input.
   *
   * @param value 0, the default: the model's
   * @return this
   * @since 0.1
   */
  public CompilerOptions batchSize(long value) {
    batchSize = value;
    return this;
  }

  /**
   * The dimension that has the batch size.
   *
   * @param value 0, the default
   * @return this
   * @since 1.0
   */
  public CompilerOptions batchAxis(long value) {
    batchAxis = value;
    return this;
  }

  /**
   * The precision of floating-point tensors.
   *
   * @param value default {@link Precision#KEEP}: the model's types
   * @return this
   * @since 0.1
   */
  public CompilerOptions precision(Precision value) {
    precision = Objects.requireNonNull(value, "value");
    return this;
  }

  /**
   * Whether to verify the graph after each pass.
   *
   * @param on default true
   * @return this
   * @since 0.1
   */
  public CompilerOptions verify(boolean on) {
    verify = on;
    return this;
  }

  /**
   * The largest constant that constant folding makes, in bytes. All constants together have a limit
   * in any case.
   *
   * @param value 0, the default: only that limit
   * @return this
   * @since 0.1
   */
  public CompilerOptions maxTensorSize(long value) {
    maxTensorSize = value;
    return this;
  }

  /**
   * The passes stop after this number of rewrites. A bisection of the limit finds the rewrite that
   * makes a result wrong.
   *
   * @param value 0, the default: no limit
   * @return this
   * @since 0.1
   */
  public CompilerOptions rewriteLimit(long value) {
    rewriteLimit = value;
    return this;
  }

  /**
   * Name of the last pass of the conversion to run. The passes that a compilation needs run in any
   * case, up to this one in the stage that has it.
   *
   * @param value "", the default: all passes run
   * @return this
   * @since 0.1
   */
  public CompilerOptions stopAfter(String value) {
    stopAfter = Objects.requireNonNull(value, "value");
    return this;
  }

  /**
   * A function that is called on the compiling thread when a step begins, with the progress from 0
   * to 1 and the name of the step. The compiling call throws the exceptions of the listener, after
   * the compilation has ended.
   *
   * @param value null, the default: none
   * @return this
   * @since 0.1
   */
  public CompilerOptions progress(ProgressListener value) {
    progress = value;
    return this;
  }

  /**
   * A function that is called on the compiling thread after each pass. The compiling call throws
   * the exceptions of the listener, after the compilation has ended.
   *
   * @param value null, the default: none
   * @return this
   * @since 0.1
   */
  public CompilerOptions afterPass(PassListener value) {
    afterPass = value;
    return this;
  }

  /**
   * Opset of the converted model, 11 to 28.
   *
   * @param value 0, the default: the model's
   * @return this
   * @since 0.1
   */
  public CompilerOptions convertVersion(long value) {
    convertVersion = value;
    return this;
  }

  /**
   * Whether to use the engine cache. A model is compiled once; later compilations map the file that
   * the cache folder has under the hash of the model (including external data), the options and the
   * version. If the file is damaged or has another content, the model is compiled again, with a
   * warning in the log. A file of a user other than root and that of the process is not used, nor a
   * folder to which every user can write, unless it is sticky: the model is compiled without the
   * cache, with a warning. POPXL_CACHE_DIR or POPART_CACHE_DIR in the environment turns the cache
   * on, too, and is the folder if none is given.
   *
   * @param on default false
   * @return this
   * @since 1.0
   */
  public CompilerOptions enableEngineCaching(boolean on) {
    enableEngineCaching = on;
    return this;
  }

  /**
   * Whether external data may be reached through symbolic and hard links, even if they lead out of
   * the model's folder, as in some download caches. Use this only for trusted models.
   *
   * @param on default false
   * @return this
   * @since 0.1
   */
  public CompilerOptions allowLinks(boolean on) {
    allowLinks = on;
    return this;
  }

  /**
   * Folder of the engine cache, which is created if it does not exist.
   *
   * @param value "", the default: POPXL_CACHE_DIR or POPART_CACHE_DIR from the environment, or
   *     session_cache
   * @return this
   * @since 1.0
   */
  public CompilerOptions cachePath(String value) {
    cachePath = Objects.requireNonNull(value, "value");
    return this;
  }

  /**
   * Whether named weights stay separate tensors, which {@link Session#updateWeights} replaces and
   * the save programs return. Runs are slower, because such weights are not packed ahead of time.
   *
   * @param on default false
   * @return this
   * @since 0.1
   */
  public CompilerOptions variableWeights(boolean on) {
    variableWeights = on;
    return this;
  }

  /**
   * Whether to refuse a model that otherwise causes a warning in the log: an attribute that the
   * operator does not have, or a domain without an opset import.
   *
   * @param on default false
   * @return this
   * @since 1.0
   */
  public CompilerOptions strict(boolean on) {
    strict = on;
    return this;
  }

  /**
   * The Winograd algorithm that may compute 3x3 convolutions in 32 bits instead of direct sums.
   *
   * @param value default {@link Winograd#DEFAULT}: the one that keeps each layer within 1e-4 of
   *     exact sums
   * @return this
   * @since 1.0
   */
  public CompilerOptions winograd(Winograd value) {
    winograd = Objects.requireNonNull(value, "value");
    return this;
  }

  /**
   * Whether the PopEF file contains the ONNX model (including external data, at most 2 GiB), so
   * that {@code poprt_exec recompile} needs no other file. Without it, the file contains only the
   * path of the model.
   *
   * @param on default false
   * @return this
   * @since 1.0
   */
  public CompilerOptions embedSource(boolean on) {
    embedSource = on;
    return this;
  }

  /**
   * The largest fraction of a request's computation that may be padding, for example 0.2 and at
   * most 0.9. If an input has several shapes, shapes between them are added until this holds.
   * Weights are stored once for any number of shapes.
   *
   * @param value 0, the default: no shape is added
   * @return this
   * @since 1.0
   */
  public CompilerOptions maxPadding(double value) {
    maxPadding = value;
    return this;
  }

  /**
   * How the ONNX model and its external data are read: "map" uses weights in memory maps of the
   * files; "copy" copies them into memory. If a mapped file is truncated, the process receives
   * SIGBUS; with "copy" this is an error.
   *
   * @param value "", the default: "map"
   * @return this
   * @since 1.0
   */
  public CompilerOptions load(String value) {
    load = Objects.requireNonNull(value, "value");
    return this;
  }

  /**
   * How a model with variable dimensions gets its shapes: "on_demand" compiles each shape when its
   * first request arrives, and {@link #inputShape} or {@link #batchSize(long, long)} is the shape
   * that is compiled ahead; "buckets" compiles the shapes of {@link #inputShape} and pads requests
   * to them; "fixed" compiles one shape. "on_demand" needs a function that loads a model to run it:
   * an ONNX file, or a PopEF file that was compiled with {@link #embedSource}, which also has the
   * other options.
   *
   * @param value "", the default: "buckets" if an input has several shapes; else "on_demand"
   *     for an ONNX model that is loaded to run it; else "fixed"
   * @return this
   * @since 1.0
   */
  public CompilerOptions shapes(String value) {
    shapes = Objects.requireNonNull(value, "value");
    return this;
  }

  private void fillFields(RawCompileOptions raw) {
    raw.set_precision(precision.ordinal());
    raw.set_verify(verify);
    raw.set_max_tensor_size(maxTensorSize);
    raw.set_rewrite_limit(rewriteLimit);
    raw.set_stop_after(stopAfter);
    raw.set_convert_version(convertVersion);
    raw.set_allow_links(allowLinks);
    raw.set_variable_weights(variableWeights);
    raw.set_strict(strict);
    raw.set_winograd(winograd.ordinal());
    raw.set_embed_source(embedSource);
    raw.set_max_padding(maxPadding);
    raw.set_load(load);
    raw.set_shapes(shapes);
  }
  // </options:compile>

  /** The defaults. */
  public CompilerOptions() {}

  /**
   * Fixes the dimensions of an input.
   *
   * @param name the name of the input
   * @param shape its dimensions
   * @return this
   */
  public CompilerOptions inputShape(String name, long... shape) {
    inputShapes.put(name, shape.clone());
    return this;
  }

  /**
   * Compiles the model at several sets of shapes. A request is padded to the next larger set.
   *
   * @param sets the shapes of the inputs by name, for each set
   * @return this
   * @since 1.0
   */
  public CompilerOptions shapeSets(List<Map<String, long[]>> sets) {
    shapeSets.clear();
    for (Map<String, long[]> set : sets) {
      Map<String, long[]> copy = new LinkedHashMap<>();
      set.forEach((name, shape) -> copy.put(name, shape.clone()));
      shapeSets.add(copy);
    }
    return this;
  }

  /**
   * Sets the number of elements of an input that is a sequence, if no {@link #inputShape} of its
   * elements NAME[0], NAME[1] ... does; 0 or 1 for an optional.
   *
   * @param name the name of the input
   * @param length the number of elements
   * @return this
   * @since 1.0
   */
  public CompilerOptions inputLength(String name, long length) {
    inputLengths.put(name, length);
    return this;
  }

  /**
   * Stores bytes in the PopEF file in addition to the executable. A {@link HostConcatRunner} reads
   * "HostConcatRunnerConfig".
   *
   * @param name the name of the blob
   * @param data its remaining bytes are copied; its position does not change
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
   * Stores bytes in the PopEF file, like {@link #opaqueBlob(String, ByteBuffer)}.
   *
   * @param name the name of the blob
   * @param data its bytes, copied
   * @return this
   * @since 1.0
   */
  public CompilerOptions opaqueBlob(String name, byte[] data) {
    return opaqueBlob(name, ByteBuffer.wrap(data));
  }

  /**
   * Sets the batch size of every input.
   *
   * @param size 0, the default: that of the model
   * @param axis the dimension of the batch
   * @return this
   */
  public CompilerOptions batchSize(long size, long axis) {
    batchSize = size;
    batchAxis = axis;
    return this;
  }

  /**
   * Runs more passes after the default ones.
   *
   * @param names the names of passes of {@link Compiler#listPasses}
   * @return this
   */
  public CompilerOptions passes(String... names) {
    passes.addAll(List.of(names));
    return this;
  }

  /**
   * Excludes passes.
   *
   * @param names the names of passes of {@link Compiler#listPasses}
   * @return this
   */
  public CompilerOptions skipPasses(String... names) {
    skipPasses.addAll(List.of(names));
    return this;
  }

  /**
   * Keeps only some outputs, in this order.
   *
   * @param names the names of outputs; none, the default: all
   * @return this
   */
  public CompilerOptions outputs(String... names) {
    outputs.addAll(List.of(names));
    return this;
  }

  /**
   * Sets an option of command poprt. {@link Compiler#listOptions} lists them all. Options that tune
   * a chip are stored in the PopEF file's metadata.
   *
   * @param name the name of the option, without dashes
   * @param value "True" or "False" for a flag; names are separated by commas, words by line feeds
   * @return this
   * @since 1.0
   */
  public CompilerOptions option(String name, String value) {
    options.put(name, value);
    return this;
  }

  /**
   * Stores executables in a folder, and uses them in later compilations.
   *
   * @param folder created if missing
   * @return this
   */
  public CompilerOptions engineCaching(Path folder) {
    enableEngineCaching = true;
    cachePath = folder.toString();
    return this;
  }

  void fill(RawCompileOptions raw) {
    inputShapes.forEach((name, shape) -> raw.add_input_shape(name, shape, shape.length));
    for (Map<String, long[]> set : shapeSets) {
      set.forEach((name, shape) -> raw.add_input_shape(name, shape, shape.length));
    }
    inputLengths.forEach(raw::add_input_length);
    opaqueBlobs.forEach(
        (name, data) -> {
          raw.add_opaque_blob(name, Memory.address(data), data.remaining());
          Reference.reachabilityFence(data);
        });
    options.forEach(raw::add_option);
    fillFields(raw);
    raw.set_batch_size(batchSize, batchAxis);
    passes.forEach(raw::add_pass);
    skipPasses.forEach(raw::add_skip_pass);
    outputs.forEach(raw::add_output);
    raw.set_engine_caching(enableEngineCaching, cachePath);
  }
}
