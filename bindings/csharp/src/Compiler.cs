using System;
using System.Collections.Generic;
using System.Runtime.ExceptionServices;
using System.Runtime.InteropServices;
using System.Threading;

namespace Poprt
{
    /// <summary>The conversion of floating-point types.</summary>
    public enum Precision
    {
        /// <summary>Unchanged.</summary>
        Keep = 0,
        /// <summary>All to 32 bits.</summary>
        Fp32 = 1,
        /// <summary>All to 16 bits.</summary>
        Fp16 = 2
    }

    /// <summary>The Winograd algorithms that may compute 3x3 convolutions in 32 bits instead of direct sums.
    /// Since 1.0.</summary>
    public enum Winograd
    {
        /// <summary>The one that keeps each layer within 1e-4 of exact sums.</summary>
        Default = 0,
        /// <summary>None.</summary>
        Off = 1,
        /// <summary>F(2x2), which adds little rounding.</summary>
        Exact = 2,
        /// <summary>Also F(4x4) where that is faster.</summary>
        Fast = 3
    }

    /// <summary>The effect of a pass.</summary>
    public sealed class PassReport
    {
        internal PassReport(string pass, long rewrites, double milliseconds, long nodesBefore, long nodesAfter)
        {
            Pass = pass;
            Rewrites = rewrites;
            Milliseconds = milliseconds;
            NodesBefore = nodesBefore;
            NodesAfter = nodesAfter;
        }

        /// <summary>The name of the pass.</summary>
        public string Pass { get; }
        /// <summary>The number of its changes.</summary>
        public long Rewrites { get; }
        /// <summary>Its duration.</summary>
        public double Milliseconds { get; }
        /// <summary>The number of nodes of the graph before the pass.</summary>
        public long NodesBefore { get; }
        /// <summary>The number of nodes of the graph after the pass.</summary>
        public long NodesAfter { get; }
    }

    /// <summary>The options of a <see cref="Compiler"/>. Zero, null and empty mean the default.</summary>
    public sealed class CompilerOptions
    {
        // <options:compile> made from capi/option_fields.toml by tests/lint/option_fields.py --write
        /// <summary>Shapes that fix the variable dimensions of inputs, by name. None given: the model's shapes. Since
        /// 0.1.</summary>
        public IDictionary<string, long[]> InputShapes { get; } = new Dictionary<string, long[]>();

        /// <summary>Batch size of every input. 0: the model's. Since 0.1.</summary>
        public long BatchSize { get; set; }

        /// <summary>The dimension that has the batch size. Since 0.1.</summary>
        public long BatchAxis { get; set; }

        /// <summary>The precision of floating-point tensors. Default: the model's types. Since 0.1.</summary>
        public Precision Precision { get; set; }

        /// <summary>Whether to verify the graph after each pass. Default: true. Since 0.1.</summary>
        public bool Verify { get; set; } = true;

        /// <summary>Passes to run after the default ones, of <see cref="Compiler.ListPasses"/>. Since 0.1.</summary>
        public IList<string> Passes { get; } = new List<string>();

        /// <summary>Passes to leave out, of <see cref="Compiler.ListPasses"/>. They also do not run in the compilation
        /// and if they are given as passes to run. Since 0.1.</summary>
        public IList<string> SkipPasses { get; } = new List<string>();

        /// <summary>The largest constant that constant folding makes, in bytes. All constants together have a limit in
        /// any case. 0: only that limit. Since 0.1.</summary>
        public long MaxTensorSize { get; set; }

        /// <summary>The passes stop after this number of rewrites. A bisection of the limit finds the rewrite that
        /// makes a result wrong. 0: no limit. Since 0.1.</summary>
        public long RewriteLimit { get; set; }

        /// <summary>Name of the last pass of the conversion to run. The passes that a compilation needs run in any
        /// case, up to this one in the stage that has it. Null or "": all passes run. Since 0.1.</summary>
        public string StopAfter { get; set; } = "";

        /// <summary>A function that is called on the compiling thread when a step begins, with the progress from 0 to 1
        /// and the name of the step. Null: none. The compiling call throws the exceptions of the listener, after the
        /// compilation has ended. Since 0.1.</summary>
        public Action<double, string> Progress { get; set; }

        /// <summary>A function that is called on the compiling thread after each pass. Null: none. The compiling call
        /// throws the exceptions of the listener, after the compilation has ended. Since 0.1.</summary>
        public Action<PassReport> AfterPass { get; set; }

        /// <summary>Outputs to keep, in this order. None given: all. Since 0.1.</summary>
        public IList<string> Outputs { get; } = new List<string>();

        /// <summary>Opset of the converted model, 11 to 28. 0: the model's. Since 0.1.</summary>
        public long ConvertVersion { get; set; }

        /// <summary>Whether to use the engine cache. A model is compiled once; later compilations map the file that the
        /// cache folder has under the hash of the model (including external data), the options and the version. If the
        /// file is damaged or has another content, the model is compiled again, with a warning in the log. A file of a
        /// user other than root and that of the process is not used, nor a folder to which every user can write, unless
        /// it is sticky: the model is compiled without the cache, with a warning. POPXL_CACHE_DIR or POPART_CACHE_DIR
        /// in the environment turns the cache on, too, and is the folder if none is given. Default: false. Since
        /// 0.1.</summary>
        public bool EnableEngineCaching { get; set; }

        /// <summary>Whether external data may be reached through symbolic and hard links, even if they lead out of the
        /// model's folder, as in some download caches. Use this only for trusted models. Default: false. Since
        /// 0.1.</summary>
        public bool AllowLinks { get; set; }

        /// <summary>Folder of the engine cache, which is created if it does not exist. Null or "": POPXL_CACHE_DIR or
        /// POPART_CACHE_DIR from the environment, or session_cache. Since 0.1.</summary>
        public string CachePath { get; set; } = "";

        /// <summary>Whether named weights stay separate tensors, which Session.UpdateWeights replaces and the save
        /// programs return. Runs are slower, because such weights are not packed ahead of time. Default: false. Since
        /// 0.1.</summary>
        public bool VariableWeights { get; set; }

        /// <summary>Number of elements of inputs that are sequences, by name; of an optional input 0 or 1. A sequence
        /// whose elements NAME[0], NAME[1] ... have shapes in the options does not need it. None given: the model's.
        /// Since 1.0.</summary>
        public IDictionary<string, long> InputLengths { get; } = new Dictionary<string, long>();

        /// <summary>Bytes that are stored in the PopEF file next to the executable, by name, for the program that runs
        /// it. <see cref="HostConcatRunner"/> reads "HostConcatRunnerConfig". Since 1.0.</summary>
        public IDictionary<string, byte[]> OpaqueBlobs { get; } = new Dictionary<string, byte[]>();

        /// <summary>Whether to refuse a model that otherwise causes a warning in the log: an attribute that the
        /// operator does not have, or a domain without an opset import. Default: false. Since 1.0.</summary>
        public bool Strict { get; set; }

        /// <summary>The Winograd algorithm that may compute 3x3 convolutions in 32 bits instead of direct sums.
        /// Default: the one that keeps each layer within 1e-4 of exact sums. Since 1.0.</summary>
        public Winograd Winograd { get; set; }

        /// <summary>Options of the command poprt by name, without dashes; <see cref="Compiler.ListOptions"/> returns
        /// all of them, including those of the other fields. The value of a flag is "True" or "False"; commas separate
        /// names, line feeds separate words. An option that is not available fails with unimplemented. Options that
        /// tune a chip are stored in the metadata of the PopEF file. Since 1.0.</summary>
        public IDictionary<string, string> Options { get; } = new Dictionary<string, string>();

        /// <summary>Whether the PopEF file contains the ONNX model (including external data, at most 2 GiB), so that
        /// <c>poprt_exec recompile</c> needs no other file. Without it, the file contains only the path of the model.
        /// Default: false. Since 1.0.</summary>
        public bool EmbedSource { get; set; }

        /// <summary>The largest fraction of a request's computation that may be padding, for example 0.2 and at most
        /// 0.9. If an input has several shapes, shapes between them are added until this holds. Weights are stored once
        /// for any number of shapes. 0: no shape is added. Since 1.0.</summary>
        public double MaxPadding { get; set; }

        /// <summary>How the ONNX model and its external data are read: "map" uses weights in memory maps of the files;
        /// "copy" copies them into memory. If a mapped file is truncated, the process receives SIGBUS; with "copy" this
        /// is an error. Null or "": "map". Since 1.0.</summary>
        public string Load { get; set; } = "";

        /// <summary>How a model with variable dimensions gets its shapes: "on_demand" compiles each shape when its
        /// first request arrives, and <see cref="InputShapes"/> or <see cref="BatchSize"/> is the shape that is
        /// compiled ahead; "buckets" compiles the shapes of <see cref="InputShapes"/> and pads requests to them;
        /// "fixed" compiles one shape. "on_demand" needs a function that loads a model to run it: an ONNX file, or a
        /// PopEF file that was compiled with <see cref="EmbedSource"/>, which also has the other options. Null or "":
        /// "buckets" if an input has several shapes; else "on_demand" for an ONNX model that is loaded to run it; else
        /// "fixed". Since 1.0.</summary>
        public string Shapes { get; set; } = "";

        /// <summary>Sets of shapes of inputs, by name: the model is compiled at all of them, and a request is padded to
        /// the next larger set. None given: the shapes of inputs. Since 1.0.</summary>
        public IList<IDictionary<string, long[]>> ShapeSets { get; } = new List<IDictionary<string, long[]>>();

        private void FillFields(RawCompileOptions raw)
        {
            raw.set_precision((int)Precision);
            raw.set_verify(Verify);
            raw.set_max_tensor_size(MaxTensorSize);
            raw.set_rewrite_limit(RewriteLimit);
            raw.set_stop_after(StopAfter ?? "");
            raw.set_convert_version(ConvertVersion);
            raw.set_allow_links(AllowLinks);
            raw.set_variable_weights(VariableWeights);
            raw.set_strict(Strict);
            raw.set_winograd((int)Winograd);
            raw.set_embed_source(EmbedSource);
            raw.set_max_padding(MaxPadding);
            raw.set_load(Load ?? "");
            raw.set_shapes(Shapes ?? "");
        }
        // </options:compile>

        private static unsafe void AddShapes(RawCompileOptions raw, IDictionary<string, long[]> shapes)
        {
            foreach (KeyValuePair<string, long[]> input in shapes)
            {
                long none = 0;
                fixed (long* dimensions = input.Value)
                    raw.add_input_shape(input.Key, dimensions == null ? &none : dimensions, input.Value.Length);
            }
        }

        internal unsafe void Fill(RawCompileOptions raw)
        {
            AddShapes(raw, InputShapes);
            foreach (IDictionary<string, long[]> set in ShapeSets) AddShapes(raw, set);
            foreach (KeyValuePair<string, long> input in InputLengths) raw.add_input_length(input.Key, input.Value);
            foreach (KeyValuePair<string, byte[]> blob in OpaqueBlobs)
                fixed (byte* data = blob.Value)
                    raw.add_opaque_blob(blob.Key, (long)data, blob.Value.Length);
            foreach (KeyValuePair<string, string> option in Options) raw.add_option(option.Key, option.Value);
            FillFields(raw);
            raw.set_batch_size(BatchSize, BatchAxis);
            foreach (string pass in Passes) raw.add_pass(pass);
            foreach (string pass in SkipPasses) raw.add_skip_pass(pass);
            foreach (string output in Outputs) raw.add_output(output);
            raw.set_engine_caching(EnableEngineCaching, CachePath ?? "");
        }
    }

    /// <summary>Compiles ONNX models to executables or PopEF files, or converts them to ONNX.</summary>
    /// <remarks>
    /// Immutable: several threads may compile with one at the same time. The native compiler is a separate library,
    /// loaded on first use.
    /// </remarks>
    public sealed unsafe class Compiler : IDisposable
    {
        private readonly RawCompiler raw;
        private readonly Listeners listeners;

        /// <summary>Creates a compiler with options; null means the defaults.</summary>
        /// <exception cref="PoprtException">InvalidArgument: an option; NotFound: a pass or a plug-in; Unimplemented: an
        /// option that is not available; FailedPrecondition: the native compiler is not installed.</exception>
        public Compiler(CompilerOptions options = null)
        {
            options = options ?? new CompilerOptions();
            listeners = new Listeners(options);
            using (var rawOptions = new RawCompileOptions())
            {
                options.Fill(rawOptions);
                listeners.Fill(rawOptions);
                raw = new RawCompiler(rawOptions);
            }
        }

        internal static Executable Load(string path, CompilerOptions options)
        {
            options = options ?? new CompilerOptions();
            var listeners = new Listeners(options);
            try
            {
                using (var rawOptions = new RawCompileOptions())
                {
                    options.Fill(rawOptions);
                    listeners.Fill(rawOptions);
                    return new Executable(RawExecutable.load(path, rawOptions));
                }
            }
            finally
            {
                GC.KeepAlive(listeners);
                listeners.Rethrow();
            }
        }

        /// <summary>Reads an ONNX file, converts and compiles it.</summary>
        /// <exception cref="PoprtException">NotFound; PermissionDenied; DataLoss: damaged; Unimplemented: an operator, type
        /// or opset; InvalidArgument: not ONNX, a shape that is not fixed, an ill-formed model.</exception>
        public Executable Compile(string onnxPath)
        {
            return Compiled(() => raw.compile_file(onnxPath));
        }

        /// <summary>Compiles the bytes of an ONNX file.</summary>
        /// <param name="onnx">The model.</param>
        /// <param name="folder">The folder of external data; "": external data is an error.</param>
        /// <exception cref="PoprtException">As for a file.</exception>
        public Executable Compile(ReadOnlySpan<byte> onnx, string folder = "")
        {
            int size = onnx.Length;
            fixed (byte* first = &MemoryMarshal.GetReference(onnx))
            {
                long address = (long)first;
                return Compiled(() => raw.compile_bytes(address, size, folder));
            }
        }

        /// <summary>Estimates what an ONNX model costs on a chip, with the options of the compiler. The option
        /// estimate_target selects the chip, without it ipu_version, and without both the chip is c600. A model that
        /// does not fit is no error. Since 1.0.</summary>
        /// <param name="onnxPath">The model; files of external data may be missing.</param>
        /// <exception cref="PoprtException">As for compiling.</exception>
        public Estimate Estimate(string onnxPath)
        {
            RawEstimate made = null;
            Listening(() => made = raw.estimate_file(onnxPath));
            return new Estimate(made);
        }

        private Executable Compiled(Func<RawExecutable> compile)
        {
            RawExecutable made = null;
            Listening(() => made = compile());
            return new Executable(made);
        }

        // <functions:compiler> made from capi/functions.toml by tests/lint/functions.py --write
        /// <summary>Compiles a model straight into a PopEF file, which needs less memory than compiling and saving. The
        /// file is written completely or not at all. Since 0.1.</summary>
        /// <param name="onnxPath">The ONNX model.</param>
        /// <param name="popefPath">The PopEF file to write.</param>
        /// <exception cref="PoprtException">NotFound: there is no such model, or no folder for the PopEF
        /// file.</exception>
        /// <exception cref="PoprtException">PermissionDenied: a file cannot be opened or created.</exception>
        /// <exception cref="PoprtException">DataLoss: the file is damaged.</exception>
        /// <exception cref="PoprtException">Unimplemented: an operator, type or opset is not supported.</exception>
        /// <exception cref="PoprtException">InvalidArgument: the file is not ONNX, the model is ill-formed, or a shape
        /// is not fixed; or both paths are one file.</exception>
        /// <exception cref="PoprtException">ResourceExhausted: the disk is full.</exception>
        /// <exception cref="PoprtException">Cancelled: the caller stopped the compilation.</exception>
        public void CompileToPopef(string onnxPath, string popefPath)
        {
            Listening(() => raw.compile_to_popef(onnxPath, popefPath));
        }

        /// <summary>Converts a model and writes the result as ONNX. Since 0.1.</summary>
        /// <param name="onnxPath">The ONNX model.</param>
        /// <param name="outOnnxPath">The ONNX model to write.</param>
        /// <exception cref="PoprtException">NotFound: there is no such model, or no folder for the result.</exception>
        /// <exception cref="PoprtException">PermissionDenied: a file cannot be opened or created.</exception>
        /// <exception cref="PoprtException">DataLoss: the file is damaged; or a check failed.</exception>
        /// <exception cref="PoprtException">Unimplemented: an operator, type or opset is not supported.</exception>
        /// <exception cref="PoprtException">InvalidArgument: the file is not ONNX, or the model is ill-formed; or both
        /// paths are one file.</exception>
        /// <exception cref="PoprtException">ResourceExhausted: the disk is full.</exception>
        /// <exception cref="PoprtException">Cancelled: the caller stopped the conversion.</exception>
        public void Convert(string onnxPath, string outOnnxPath)
        {
            Listening(() => raw.convert_file(onnxPath, outOnnxPath));
        }

        /// <summary>Name, type and shape of every input and output of an ONNX file, one line each, without conversion.
        /// A variable dimension has its name, or ? if it has none. Shapes and the batch size of the options are
        /// applied. Since 0.1.</summary>
        /// <param name="onnxPath">The ONNX model.</param>
        /// <exception cref="PoprtException">NotFound: there is no such model.</exception>
        /// <exception cref="PoprtException">DataLoss: the file is damaged.</exception>
        /// <exception cref="PoprtException">InvalidArgument: the file is not ONNX, or the model is
        /// ill-formed.</exception>
        public string Show(string onnxPath)
        {
            return raw.show_file(onnxPath);
        }

        /// <summary>How many inputs and outputs an ONNX file has of each type and shape, one line each. A variable
        /// dimension has its name, or ? if it has none. Shapes and the batch size of the options are applied. Since
        /// 1.0.</summary>
        /// <param name="onnxPath">The ONNX model.</param>
        /// <exception cref="PoprtException">NotFound: there is no such model.</exception>
        /// <exception cref="PoprtException">DataLoss: the file is damaged.</exception>
        /// <exception cref="PoprtException">InvalidArgument: the file is not ONNX, or the model is
        /// ill-formed.</exception>
        public string IoStatistics(string onnxPath)
        {
            return raw.io_stat_file(onnxPath);
        }
        // </functions:compiler>

        private void Listening(Action call)
        {
            try
            {
                call();
            }
            finally
            {
                GC.KeepAlive(this);
                listeners.Rethrow();
            }
        }

        /// <summary>Writes several ONNX models as one. Compiling the result is equivalent to Executable.Fuse.
        /// Since 1.0.</summary>
        /// <exception cref="PoprtException">InvalidArgument: no models, a model that is fused, or two versions of a
        /// domain other than that of ONNX; Unimplemented: opsets that cannot be converted to one; and errors of reading
        /// and writing ONNX.</exception>
        public static void Fuse(IEnumerable<string> onnxPaths, string outOnnxPath)
        {
            using (var models = new RawOpenOptions())
            {
                foreach (string path in Argument.Given(onnxPaths, nameof(onnxPaths))) models.add_path(path);
                RawCompiler.fuse_files(models, outOnnxPath);
            }
        }

        /// <summary>All passes, one line each.</summary>
        public static string ListPasses()
        {
            return RawCompiler.list_passes();
        }

        /// <summary>All supported operators with their opsets, one line each.</summary>
        public static string ListOps()
        {
            return RawCompiler.list_ops();
        }

        /// <summary>All options by name, as JSON. Since 1.0.</summary>
        public static string ListOptions()
        {
            return RawCompiler.list_options();
        }

        /// <summary>
        /// Loads a library with operators, passes, patterns and transforms (docs/plugins.md), for all compilers and
        /// runners of the process. Its code is executed. Loading it again has no effect. Since 1.0.
        /// </summary>
        /// <exception cref="PoprtException">NotFound: no such file; FailedPrecondition: not a plug-in, or one for
        /// another version; AlreadyExists: a name is in use; or an error of its init.</exception>
        public static void LoadPlugin(string path)
        {
            if (path == null)
            {
                throw new ArgumentNullException(nameof(path));
            }
            RawCompiler.load_plugin(path);
        }

        /// <summary>The loaded libraries as JSON. Since 1.0.</summary>
        public static string ListPlugins()
        {
            return RawCompiler.list_plugins();
        }

        /// <summary>Frees the compiler; its executables remain valid. A second call has no effect.</summary>
        public void Dispose()
        {
            raw.Dispose();
        }

        /// <summary>Calls the listeners and keeps their exceptions until the compiling call has ended.</summary>
        private sealed class Listeners
        {
            [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
            private delegate void ProgressFn(double done, IntPtr what, IntPtr self);

            [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
            private delegate void PassFn(IntPtr pass, long rewrites, double ms, long before, long after, IntPtr self);

            private static readonly ProgressFn onProgress = OnProgress; // native code keeps their addresses
            private static readonly PassFn onPass = OnPass;

            private readonly Action<double, string> progress;
            private readonly Action<PassReport> afterPass;
            private readonly ThreadLocal<Exception> thrown = new ThreadLocal<Exception>();
            private GCHandle self; // weak: the compiler refers to the object, and is kept alive during its calls

            internal Listeners(CompilerOptions options)
            {
                progress = options.Progress;
                afterPass = options.AfterPass;
                self = GCHandle.Alloc(this, GCHandleType.Weak);
            }

            ~Listeners()
            {
                if (self.IsAllocated) self.Free();
            }

            internal void Fill(RawCompileOptions raw)
            {
                raw.set_callbacks(
                    progress == null ? 0 : Marshal.GetFunctionPointerForDelegate(onProgress).ToInt64(),
                    afterPass == null ? 0 : Marshal.GetFunctionPointerForDelegate(onPass).ToInt64(),
                    GCHandle.ToIntPtr(self).ToInt64());
            }

            internal void Rethrow()
            {
                Exception e = thrown.Value;
                thrown.Value = null;
                if (e != null) ExceptionDispatchInfo.Capture(e).Throw();
            }

            private void Call(Action call)
            {
                if (thrown.Value != null) return;
                try
                {
                    call();
                }
                catch (Exception e)
                {
                    thrown.Value = e;
                }
            }

            private static void OnProgress(double done, IntPtr what, IntPtr self)
            {
                var me = (Listeners)GCHandle.FromIntPtr(self).Target;
                me.Call(() => me.progress(done, Utf8.String(what)));
            }

            private static void OnPass(IntPtr pass, long rewrites, double ms, long before, long after, IntPtr self)
            {
                var me = (Listeners)GCHandle.FromIntPtr(self).Target;
                me.Call(() => me.afterPass(new PassReport(Utf8.String(pass), rewrites, ms, before, after)));
            }
        }
    }
}
