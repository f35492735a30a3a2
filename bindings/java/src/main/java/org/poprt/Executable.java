package org.poprt;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A compiled model, from the {@link Compiler} or from PopEF files.
 *
 * <p>Immutable: any number of threads and runners may use one. Its runners and sessions continue
 * to work after it is closed. An unreferenced object is freed by the garbage collector.
 */
public final class Executable implements AutoCloseable {
  private final Handle<RawExecutable> handle;
  private final List<Anchor> inputs;
  private final List<Anchor> outputs;
  private final String name;

  Executable(RawExecutable raw) {
    handle = Handle.of(this, raw, RawExecutable::delete);
    inputs = Anchor.list(raw.input_count(), raw::input_anchor);
    outputs = Anchor.list(raw.output_count(), raw::output_anchor);
    name = raw.name();
  }

  /**
   * Maps a PopEF file. Weights are used in the map, so do not change the file while it is used
   * (replacing it by renaming is safe).
   *
   * @param file a PopEF file
   * @return the model
   * @throws PoprtException with {@link ErrorCode#NOT_FOUND}, {@link ErrorCode#PERMISSION_DENIED},
   *     {@link ErrorCode#INVALID_ARGUMENT} (a folder, device or pipe), {@link ErrorCode#DATA_LOSS}
   *     (not a PopEF file, damaged) or {@link ErrorCode#FAILED_PRECONDITION} (another version, or
   *     several executables in one file)
   */
  public static Executable open(Path file) {
    return new Executable(RawExecutable.open_file(file.toString()));
  }

  /**
   * Opens a PopEF file, or compiles an ONNX model. The result is stored in a cache ({@code
   * POPXL_CACHE_DIR} or {@code POPART_CACHE_DIR}, else {@code poprt} in {@code XDG_CACHE_HOME} or
   * {@code ~/.cache}), and later calls use it. If the model has variable dimensions, its shapes are
   * compiled when a runner gets requests; then dimensions of anchors are -1 unless the options fix
   * them.
   *
   * @param file a PopEF file or an ONNX model
   * @return the model
   * @throws PoprtException as {@link #open(Path)} and {@link Compiler#compile(Path)}
   * @since 1.0
   */
  public static Executable load(Path file) {
    return load(file, new CompilerOptions());
  }

  /**
   * As {@link #load(Path)}, with options for an ONNX model. On a PopEF file, only option {@code
   * custom_library_so_paths} acts, and a warning in the log names the other options that only a
   * compilation uses. If {@link CompilerOptions#shapes} is "on_demand", the source in the file
   * ({@link CompilerOptions#embedSource}) is compiled at other shapes, and only the cache folder,
   * {@link CompilerOptions#load}, {@code custom_library_so_paths} and {@link
   * CompilerOptions#progress} may be given.
   *
   * @param file a PopEF file or an ONNX model
   * @param options how to compile; {@link CompilerOptions#engineCaching} names another folder
   * @return the model
   * @throws PoprtException as {@link #open(Path)} and {@link Compiler#compile(Path)}
   * @since 1.0
   */
  public static Executable load(Path file, CompilerOptions options) {
    return Compiler.load(file, options);
  }

  /**
   * The metadata of the ONNX model: {@code producer_name}, {@code producer_version}, {@code
   * domain}, {@code model_version}, {@code doc_string}, {@code graph_name}, {@code
   * graph.doc_string}, and its metadata_props as {@code prop.KEY}.
   *
   * @return the existing entries
   * @since 1.0
   */
  public Map<String, String> metadata() {
    try (Use<RawExecutable> use = use()) {
      Map<String, String> entries = new LinkedHashMap<>();
      for (long i = 0; i < use.raw().metadata_count(); i++)
        entries.put(use.raw().metadata_key(i), use.raw().metadata_value(i));
      return entries;
    }
  }

  /**
   * Opens several files that form one model.
   *
   * @param files in any order
   * @param options how to open them
   * @return the model
   * @throws PoprtException as {@link #open(Path)}
   */
  public static Executable open(List<Path> files, OpenOptions options) {
    RawOpenOptions raw = new RawOpenOptions();
    try {
      for (Path file : files) raw.add_path(file.toString());
      raw.set_ignore_package_hash(options.ignorePackageHash);
      raw.set_executable(options.executable);
      return new Executable(RawExecutable.open_files(raw));
    } finally {
      raw.delete();
    }
  }

  /**
   * Makes one executable of several. Inputs and outputs of the first are called {@code
   * graph0/NAME}, of the second {@code graph1/NAME} and so on. Equal weights are stored once. A
   * {@link ModelRunner} selects the model by the names of a request.
   *
   * @param executables may be closed afterwards
   * @return the fused executable
   * @throws PoprtException with {@link ErrorCode#INVALID_ARGUMENT} (none, more than 1024, or one
   *     that is fused, has several shapes, replicas in the program, a feed, or another number of
   *     batches per step than the first), {@link ErrorCode#FAILED_PRECONDITION} (one has no shape
   *     that was compiled ahead), {@link ErrorCode#UNIMPLEMENTED} (one is for several IPUs, and
   *     another one has load or save programs) or {@link ErrorCode#RESOURCE_EXHAUSTED}
   * @since 1.0
   */
  public static Executable fuse(List<Executable> executables) {
    RawExecutables raw = new RawExecutables();
    int acquired = 0;
    try {
      for (Executable executable : executables) {
        executable.handle.acquire();
        acquired++;
        raw.add(executable.handle.raw());
      }
      return new Executable(RawExecutable.fuse(raw));
    } finally {
      for (int i = 0; i < acquired; i++) executables.get(i).handle.release();
      raw.delete();
    }
  }

  /**
   * Opens the bytes of a PopEF file; they are copied.
   *
   * @param bytes its remaining bytes are read; its position does not change
   * @return the model
   * @throws PoprtException as {@link #open(Path)}
   */
  public static Executable open(ByteBuffer bytes) {
    ByteBuffer direct = Memory.direct(bytes);
    try {
      return new Executable(
          RawExecutable.open_bytes(Memory.address(direct), direct.remaining()));
    } finally {
      Reference.reachabilityFence(direct);
    }
  }

  /**
   * Opens a model that was assembled from PopEF files. The model and its reader may be closed
   * afterwards.
   *
   * @param model the model
   * @param options options; the name of the executable is ignored
   * @return the executable
   * @throws PoprtException as {@link #open(Path)}
   * @since 1.0
   */
  public static Executable open(PopefModel model, OpenOptions options) {
    RawOpenOptions raw = new RawOpenOptions();
    try (Use<RawPopefModel> use = model.use()) {
      raw.set_ignore_package_hash(options.ignorePackageHash);
      return new Executable(RawExecutable.open_model(use.raw(), raw));
    } finally {
      raw.delete();
    }
  }

  /**
   * Returns the blobs: metadata, executable, data, opaque blobs. They are a copy if the executable
   * came from the compiler.
   *
   * @return an independent model, which must be closed and outlives the executable
   * @throws PoprtException with {@link ErrorCode#RESOURCE_EXHAUSTED}
   * @since 1.0
   */
  public PopefModel popefModel() {
    try (Use<RawExecutable> use = use()) {
      return new PopefModel(use.raw().popef_model());
    }
  }

  /**
   * The executable as the bytes of a PopEF file, for {@link #open(ByteBuffer)} or a stream.
   *
   * @return a new array
   * @throws PoprtException with {@link ErrorCode#RESOURCE_EXHAUSTED} when the bytes do not fit in an
   *     array
   */
  public byte[] toBytes() {
    try (Use<RawExecutable> use = use()) {
      RawBlob blob = use.raw().save_bytes();
      try {
        if (blob.bytes() > Integer.MAX_VALUE - 8)
          throw new PoprtException(
              ErrorCode.RESOURCE_EXHAUSTED,
              "the PopEF file has " + blob.bytes() + " bytes; a Java array holds less than 2 GiB");
        byte[] bytes = new byte[(int) blob.bytes()];
        Memory.view(blob.address(), blob.bytes()).get(bytes);
        return bytes;
      } finally {
        blob.delete();
      }
    }
  }

  /**
   * The inputs of a run, in the model's order.
   *
   * @return an unmodifiable list
   */
  public List<Anchor> inputs() {
    return inputs;
  }

  /**
   * The outputs of a run, in the model's order.
   *
   * @return an unmodifiable list
   */
  public List<Anchor> outputs() {
    return outputs;
  }

  /**
   * The name by which PopEF links blobs to the executable.
   *
   * @return the name
   */
  public String name() {
    return name;
  }

  // <functions:executable> made from capi/functions.toml by tests/lint/functions.py --write
  /**
   * Writes a PopEF file. The file is written completely or not at all, and replaces an existing
   * file.
   *
   * @param file the PopEF file
   * @throws PoprtException with {@link ErrorCode#NOT_FOUND}: the folder does not exist
   * @throws PoprtException with {@link ErrorCode#PERMISSION_DENIED}: the file cannot be created
   * @throws PoprtException with {@link ErrorCode#RESOURCE_EXHAUSTED}: the disk is full
   * @since 0.1
   */
  public void save(Path file) {
    try (Use<RawExecutable> use = use()) {
      use.raw().save(file.toString());
    }
  }

  /**
   * Writes the program with its metadata to one PopEF file, and the weights to another. Variable
   * weights are stored by name. Each file is written completely or not at all.
   *
   * @param program the PopEF file for the program and its metadata
   * @param weights the PopEF file for the weights
   * @throws PoprtException with {@link ErrorCode#INVALID_ARGUMENT}: both paths are one file
   * @throws PoprtException with {@link ErrorCode#NOT_FOUND}: a folder does not exist
   * @throws PoprtException with {@link ErrorCode#PERMISSION_DENIED}: a file cannot be created
   * @throws PoprtException with {@link ErrorCode#RESOURCE_EXHAUSTED}: the disk is full
   * @since 0.1
   */
  public void saveParts(Path program, Path weights) {
    try (Use<RawExecutable> use = use()) {
      use.raw().save_parts(program.toString(), weights.toString());
    }
  }

  /**
   * The size of the constants in bytes.
   *
   * @return a number
   * @since 0.1
   */
  public long weightsBytes() {
    try (Use<RawExecutable> use = use()) {
      return use.raw().weights_bytes();
    }
  }

  /**
   * The size of the device memory that one run needs, in bytes.
   *
   * @return a number
   * @since 0.1
   */
  public long arenaBytes() {
    try (Use<RawExecutable> use = use()) {
      return use.raw().arena_bytes();
    }
  }

  /**
   * The program as text for people. The format may change.
   *
   * @return text
   * @since 0.1
   */
  public String listing() {
    try (Use<RawExecutable> use = use()) {
      return use.raw().listing();
    }
  }

  /**
   * Why a runner refuses a batching dimension. The text is empty if requests with any number of
   * rows along the dimension may share a batch, because no row changes the results of another.
   *
   * @param dimension the dimension, counted from 0
   * @return the reason, or an empty text
   * @throws PoprtException with {@link ErrorCode#INVALID_ARGUMENT}: the first input has no such
   *     dimension
   * @throws PoprtException with {@link ErrorCode#FAILED_PRECONDITION}: the executable does not
   *     state it, because an earlier version compiled the model
   * @since 1.0
   */
  public String batchingRefusal(int dimension) {
    try (Use<RawExecutable> use = use()) {
      return use.raw().batching_refusal(dimension);
    }
  }

  /**
   * What the model costs on a chip, as option {@code estimate} of the compiler stored it: a JSON
   * object.
   *
   * @return text
   * @throws PoprtException with {@link ErrorCode#NOT_FOUND}: the executable was compiled
   *     without the option
   * @since 1.0
   */
  public String estimate() {
    try (Use<RawExecutable> use = use()) {
      return use.raw().estimate();
    }
  }
  // </functions:executable>

  /** Frees the executable. A second call has no effect. */
  @Override
  public void close() {
    handle.close();
  }

  Use<RawExecutable> use() {
    return handle.use();
  }

  /** A description of the executable. */
  @Override
  public String toString() {
    return "Executable " + name + ": " + ModelRunner.described(inputs, outputs);
  }
}
