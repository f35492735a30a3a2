package org.poprt;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * Compiles ONNX models to executables or PopEF files, or converts them to ONNX.
 *
 * <p>Immutable: several threads may compile with one at the same time. The native compiler is a
 * separate library, loaded on first use.
 */
public final class Compiler implements AutoCloseable {
  /** Calls the listeners and keeps their exceptions until the compiling call has ended. */
  private static final class Listeners extends RawCallbacks {
    private final CompilerOptions.ProgressListener progress;
    private final CompilerOptions.PassListener afterPass;
    private final ThreadLocal<Throwable> thrown = new ThreadLocal<>();

    Listeners(CompilerOptions options) {
      progress = options.progress;
      afterPass = options.afterPass;
    }

    @Override
    void progress(double part, byte[] what) {
      try {
        if (thrown.get() == null) progress.progress(part, Utf8.string(what));
      } catch (Throwable e) {
        thrown.set(e);
      }
    }

    @Override
    void afterPass(
        byte[] pass, long rewrites, double milliseconds, long nodesBefore, long nodesAfter) {
      try {
        if (thrown.get() == null)
          afterPass.afterPass(
              Utf8.string(pass), rewrites, milliseconds, nodesBefore, nodesAfter);
      } catch (Throwable e) {
        thrown.set(e);
      }
    }

    void rethrow() {
      Throwable e = thrown.get();
      thrown.remove();
      if (e instanceof RuntimeException) throw (RuntimeException) e;
      if (e instanceof Error) throw (Error) e;
    }
  }

  private final Handle<RawCompiler> handle;
  private final Listeners listeners;

  /**
   * Creates a compiler with default options.
   *
   * @throws PoprtException with {@link ErrorCode#FAILED_PRECONDITION} when the native compiler is
   *     not installed
   */
  public Compiler() {
    this(new CompilerOptions());
  }

  /**
   * Creates a compiler with options.
   *
   * @param options they are copied
   * @throws PoprtException with {@link ErrorCode#INVALID_ARGUMENT} (an option), {@link
   *     ErrorCode#NOT_FOUND} (a pass or a plug-in), {@link ErrorCode#UNIMPLEMENTED} (an option that
   *     is not available) or {@link ErrorCode#FAILED_PRECONDITION} (the native compiler is not
   *     installed)
   */
  public Compiler(CompilerOptions options) {
    listeners = new Listeners(options);
    boolean listening = options.progress != null || options.afterPass != null;
    long callback = listening ? poprt_raw.raw_callback(listeners) : 0;
    RawCompileOptions rawOptions = new RawCompileOptions();
    RawCompiler made = null;
    try {
      options.fill(rawOptions);
      rawOptions.set_callbacks(
          options.progress == null ? 0 : poprt_raw.raw_progress_fn(),
          options.afterPass == null ? 0 : poprt_raw.raw_after_pass_fn(),
          callback);
      made = new RawCompiler(rawOptions);
    } finally {
      rawOptions.delete();
      if (made == null) poprt_raw.raw_free_callback(callback);
    }
    handle =
        Handle.of(
            this,
            made,
            raw -> {
              raw.delete();
              poprt_raw.raw_free_callback(callback);
            });
  }

  static Executable load(Path file, CompilerOptions options) {
    Listeners listeners = new Listeners(options);
    boolean listening = options.progress != null || options.afterPass != null;
    long callback = listening ? poprt_raw.raw_callback(listeners) : 0;
    RawCompileOptions rawOptions = new RawCompileOptions();
    try {
      options.fill(rawOptions);
      rawOptions.set_callbacks(
          options.progress == null ? 0 : poprt_raw.raw_progress_fn(),
          options.afterPass == null ? 0 : poprt_raw.raw_after_pass_fn(),
          callback);
      return new Executable(RawExecutable.load(file.toString(), rawOptions));
    } finally {
      rawOptions.delete();
      poprt_raw.raw_free_callback(callback);
      listeners.rethrow();
    }
  }

  /**
   * Reads an ONNX file, converts and compiles it.
   *
   * @param onnx the model
   * @return the compiled model
   * @throws PoprtException with {@link ErrorCode#NOT_FOUND}, {@link ErrorCode#PERMISSION_DENIED},
   *     {@link ErrorCode#DATA_LOSS} (damaged), {@link ErrorCode#UNIMPLEMENTED} (an operator, type or
   *     opset) or {@link ErrorCode#INVALID_ARGUMENT} (not ONNX, a shape that is not fixed, an
   *     ill-formed model)
   */
  public Executable compile(Path onnx) {
    return compiled(raw -> raw.compile_file(onnx.toString()));
  }

  /**
   * Compiles the bytes of an ONNX file, without external data.
   *
   * @param onnx its remaining bytes are read; its position does not change
   * @return the compiled model
   * @throws PoprtException as {@link #compile(Path)}
   */
  public Executable compile(ByteBuffer onnx) {
    return compile(onnx, "");
  }

  /**
   * Compiles the bytes of an ONNX file.
   *
   * @param onnx its remaining bytes are read; its position does not change
   * @param folder the folder of external data
   * @return the compiled model
   * @throws PoprtException as {@link #compile(Path)}
   */
  public Executable compile(ByteBuffer onnx, Path folder) {
    return compile(onnx, folder.toString());
  }

  /**
   * Estimates what an ONNX model costs on a chip, with the options of the compiler. The
   * option {@code estimate_target} selects the chip, without it {@code ipu_version}, and without
   * both the chip is c600. A model that does not fit is no error.
   *
   * @param onnx the model; files of external data may be missing
   * @return the estimate
   * @throws PoprtException as {@link #compile(Path)}
   * @since 1.0
   */
  public Estimate estimate(Path onnx) {
    Estimate made;
    try (Use<RawCompiler> use = handle.use()) {
      made = new Estimate(use.raw().estimate_file(onnx.toString()));
    } catch (PoprtException e) {
      listeners.rethrow();
      throw e;
    }
    try {
      listeners.rethrow();
    } catch (Throwable e) {
      made.close();
      throw e;
    }
    return made;
  }

  private Executable compile(ByteBuffer onnx, String folder) {
    ByteBuffer direct = Memory.direct(onnx);
    try {
      return compiled(
          raw -> raw.compile_bytes(Memory.address(direct), direct.remaining(), folder));
    } finally {
      Reference.reachabilityFence(direct);
    }
  }

  private Executable compiled(Function<RawCompiler, RawExecutable> compile) {
    Executable made;
    try (Use<RawCompiler> use = handle.use()) {
      made = new Executable(compile.apply(use.raw()));
    } catch (PoprtException e) {
      listeners.rethrow();
      throw e;
    }
    try {
      listeners.rethrow();
    } catch (Throwable e) {
      made.close();
      throw e;
    }
    return made;
  }

  // <functions:compiler> made from capi/functions.toml by tests/lint/functions.py --write
  /**
   * Compiles a model straight into a PopEF file, which needs less memory than compiling and saving.
   * The file is written completely or not at all.
   *
   * @param onnx the ONNX model
   * @param popef the PopEF file to write
   * @throws PoprtException with {@link ErrorCode#NOT_FOUND}: there is no such model, or no
   *     folder for the PopEF file
   * @throws PoprtException with {@link ErrorCode#PERMISSION_DENIED}: a file cannot be opened or
   *     created
   * @throws PoprtException with {@link ErrorCode#DATA_LOSS}: the file is damaged
   * @throws PoprtException with {@link ErrorCode#UNIMPLEMENTED}: an operator, type or opset is
   *     not supported
   * @throws PoprtException with {@link ErrorCode#INVALID_ARGUMENT}: the file is not ONNX, the
   *     model is ill-formed, or a shape is not fixed; or both paths are one file
   * @throws PoprtException with {@link ErrorCode#RESOURCE_EXHAUSTED}: the disk is full
   * @throws PoprtException with {@link ErrorCode#CANCELLED}: the caller stopped the compilation
   * @since 0.1
   */
  public void compileToPopef(Path onnx, Path popef) {
    listening(raw -> raw.compile_to_popef(onnx.toString(), popef.toString()));
  }

  /**
   * Converts a model and writes the result as ONNX.
   *
   * @param onnx the ONNX model
   * @param out the ONNX model to write
   * @throws PoprtException with {@link ErrorCode#NOT_FOUND}: there is no such model, or no
   *     folder for the result
   * @throws PoprtException with {@link ErrorCode#PERMISSION_DENIED}: a file cannot be opened or
   *     created
   * @throws PoprtException with {@link ErrorCode#DATA_LOSS}: the file is damaged; or a check
   *     failed
   * @throws PoprtException with {@link ErrorCode#UNIMPLEMENTED}: an operator, type or opset is
   *     not supported
   * @throws PoprtException with {@link ErrorCode#INVALID_ARGUMENT}: the file is not ONNX, or
   *     the model is ill-formed; or both paths are one file
   * @throws PoprtException with {@link ErrorCode#RESOURCE_EXHAUSTED}: the disk is full
   * @throws PoprtException with {@link ErrorCode#CANCELLED}: the caller stopped the conversion
   * @since 0.1
   */
  public void convert(Path onnx, Path out) {
    listening(raw -> raw.convert_file(onnx.toString(), out.toString()));
  }

  /**
   * Name, type and shape of every input and output of an ONNX file, one line each, without
   * conversion. A variable dimension has its name, or ? if it has none. Shapes and the batch size
   * of the options are applied.
   *
   * @param onnx the ONNX model
   * @return one line for each input and output
   * @throws PoprtException with {@link ErrorCode#NOT_FOUND}: there is no such model
   * @throws PoprtException with {@link ErrorCode#DATA_LOSS}: the file is damaged
   * @throws PoprtException with {@link ErrorCode#INVALID_ARGUMENT}: the file is not ONNX, or
   *     the model is ill-formed
   * @since 0.1
   */
  public String show(Path onnx) {
    try (Use<RawCompiler> use = use()) {
      return use.raw().show_file(onnx.toString());
    }
  }

  /**
   * How many inputs and outputs an ONNX file has of each type and shape, one line each. A variable
   * dimension has its name, or ? if it has none. Shapes and the batch size of the options are
   * applied.
   *
   * @param onnx the ONNX model
   * @return one line for each type and shape
   * @throws PoprtException with {@link ErrorCode#NOT_FOUND}: there is no such model
   * @throws PoprtException with {@link ErrorCode#DATA_LOSS}: the file is damaged
   * @throws PoprtException with {@link ErrorCode#INVALID_ARGUMENT}: the file is not ONNX, or
   *     the model is ill-formed
   * @since 1.0
   */
  public String ioStatistics(Path onnx) {
    try (Use<RawCompiler> use = use()) {
      return use.raw().io_stat_file(onnx.toString());
    }
  }
  // </functions:compiler>

  private Use<RawCompiler> use() {
    return handle.use();
  }

  private void listening(Consumer<RawCompiler> call) {
    try (Use<RawCompiler> use = handle.use()) {
      call.accept(use.raw());
    } finally {
      listeners.rethrow();
    }
  }

  /**
   * Writes several ONNX models as one. Compiling the result is equivalent to {@link
   * Executable#fuse}.
   *
   * @param models their inputs and outputs become {@code graph0/NAME}, {@code graph1/NAME} ...
   * @param out the file to write
   * @throws PoprtException with {@link ErrorCode#INVALID_ARGUMENT} (no models, a model that is
   * fused, or two versions of a domain other than that of ONNX) or {@link ErrorCode#UNIMPLEMENTED}
   * (opsets that cannot be converted to one), and for errors of reading and writing ONNX
   * @since 1.0
   */
  public static void fuse(List<Path> models, Path out) {
    RawOpenOptions raw = new RawOpenOptions();
    try {
      for (Path model : models) raw.add_path(model.toString());
      RawCompiler.fuse_files(raw, out.toString());
    } finally {
      raw.delete();
    }
  }

  /**
   * Lists all passes.
   *
   * @return one line each
   */
  public static String listPasses() {
    return RawCompiler.list_passes();
  }

  /**
   * Lists all supported operators with their opsets.
   *
   * @return one line each
   */
  public static String listOps() {
    return RawCompiler.list_ops();
  }

  /**
   * Lists all options by name.
   *
   * @return JSON
   * @since 1.0
   */
  public static String listOptions() {
    return RawCompiler.list_options();
  }

  /**
   * Loads a library with operators, passes, patterns and transforms (docs/plugins.md), for all
   * compilers and runners of the process. Loading it again has no effect.
   *
   * @param path the shared library, whose code is executed
   * @throws PoprtException with {@link ErrorCode#NOT_FOUND} (no such file), {@link
   *     ErrorCode#FAILED_PRECONDITION} (not a plug-in, or one for another version), {@link
   *     ErrorCode#ALREADY_EXISTS} (a name is in use), or an error of its init
   * @since 1.0
   */
  public static void loadPlugin(Path path) {
    RawCompiler.load_plugin(path.toString());
  }

  /**
   * Lists the loaded libraries.
   *
   * @return JSON
   * @since 1.0
   */
  public static String listPlugins() {
    return RawCompiler.list_plugins();
  }

  /** Frees the compiler; its executables remain valid. A second call has no effect. */
  @Override
  public void close() {
    handle.close();
  }
}
