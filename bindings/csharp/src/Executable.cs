using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;

namespace Poprt
{
    /// <summary>Options for opening PopEF files.</summary>
    public sealed class OpenOptions
    {
        /// <summary>Whether to open executables that another version compiled.</summary>
        public bool IgnorePackageHash { get; set; }

        /// <summary>The name of the model if the files contain several; null: the only one.</summary>
        public string Executable { get; set; }
    }

    /// <summary>A compiled model, from the <see cref="Compiler"/> or from PopEF files.</summary>
    /// <remarks>
    /// Immutable: any number of threads and runners may use one. Its runners and sessions continue to work after it
    /// is disposed of.
    /// An unreferenced object is freed by the garbage collector.
    /// </remarks>
    public sealed unsafe class Executable : IDisposable
    {
        private readonly RawExecutable raw;

        internal Executable(RawExecutable raw)
        {
            this.raw = raw;
            Inputs = Anchor.List(raw.input_count(), raw.input_anchor);
            Outputs = Anchor.List(raw.output_count(), raw.output_anchor);
            Name = raw.name();
        }

        internal RawExecutable Raw
        {
            get { return raw; }
        }

        /// <summary>
        /// Maps a PopEF file. Weights are used in the map, so do not change the file while it is used (replacing it by
        /// renaming is safe).
        /// </summary>
        /// <exception cref="PoprtException">NotFound; PermissionDenied; InvalidArgument: a folder, device or pipe; DataLoss:
        /// not a PopEF file, damaged; FailedPrecondition: another version, or several executables in one file.</exception>
        public static Executable Open(string path)
        {
            return new Executable(RawExecutable.open_file(path));
        }

        /// <summary>
        /// Opens a PopEF file, or compiles an ONNX model with options. The result is stored in CachePath, else
        /// POPXL_CACHE_DIR or POPART_CACHE_DIR, else poprt in XDG_CACHE_HOME or ~/.cache, and later calls use it. If
        /// the model has variable dimensions, its shapes are compiled when a runner gets requests; then dimensions of
        /// anchors are -1 unless the options fix them. On a PopEF file, only option custom_library_so_paths acts, and a
        /// warning in the log names the other options that only a compilation uses. If Shapes is "on_demand", the
        /// source in the file (EmbedSource) is compiled at other shapes, and only CachePath, Load,
        /// custom_library_so_paths and Progress may be given. Since 1.0.
        /// </summary>
        /// <exception cref="PoprtException">As Open and Compiler.Compile.</exception>
        public static Executable Load(string path, CompilerOptions options = null)
        {
            return Compiler.Load(path, options);
        }

        /// <summary>
        /// The metadata of the ONNX model: producer_name, producer_version, domain, model_version, doc_string,
        /// graph_name, graph.doc_string, and its metadata_props as prop.KEY. Since 1.0.
        /// </summary>
        public IReadOnlyDictionary<string, string> Metadata
        {
            get
            {
                var entries = new Dictionary<string, string>();
                for (long i = 0; i < raw.metadata_count(); i++) entries[raw.metadata_key(i)] = raw.metadata_value(i);
                return entries;
            }
        }

        /// <summary>Opens several files, in any order, that form one model.</summary>
        /// <exception cref="PoprtException">As for one file.</exception>
        public static Executable Open(IEnumerable<string> paths, OpenOptions options = null)
        {
            using (var rawOptions = new RawOpenOptions())
            {
                foreach (string path in Argument.Given(paths, nameof(paths))) rawOptions.add_path(path);
                if (options != null) rawOptions.set_ignore_package_hash(options.IgnorePackageHash);
                if (options != null && options.Executable != null) rawOptions.set_executable(options.Executable);
                return new Executable(RawExecutable.open_files(rawOptions));
            }
        }

        /// <summary>Makes one executable of several. Inputs and outputs of the first are called graph0/NAME, of the
        /// second graph1/NAME and so on. Equal weights are stored once. A ModelRunner selects the model by the names of
        /// a request. Since 1.0.</summary>
        /// <exception cref="PoprtException">InvalidArgument: none, more than 1024, or one that is fused, has several
        /// shapes, replicas in the program, a feed, or another number of batches per step than the first;
        /// FailedPrecondition: one has no shape that was compiled ahead; Unimplemented: one is for several IPUs, and
        /// another one has load or save programs; ResourceExhausted.</exception>
        public static Executable Fuse(IEnumerable<Executable> executables)
        {
            var held = new List<SafeHandle>();
            using (var list = new RawExecutables())
            {
                try
                {
                    foreach (Executable executable in Argument.Given(executables, nameof(executables)))
                    {
                        bool added = false;
                        Argument.Given(executable, nameof(executables)).raw.swigCPtr.DangerousAddRef(ref added);
                        held.Add(executable.raw.swigCPtr);
                        list.add(executable.raw);
                    }
                    return new Executable(RawExecutable.fuse(list));
                }
                finally
                {
                    foreach (SafeHandle handle in held) handle.DangerousRelease();
                }
            }
        }

        /// <summary>Opens the bytes of a PopEF file; they are copied.</summary>
        /// <exception cref="PoprtException">As for a file.</exception>
        public static Executable Open(ReadOnlySpan<byte> bytes)
        {
            fixed (byte* first = &MemoryMarshal.GetReference(bytes))
                return new Executable(RawExecutable.open_bytes((long)first, bytes.Length));
        }

        /// <summary>Opens a model that was assembled from PopEF files. The model and its reader may be disposed of
        /// afterwards. Since 1.0.</summary>
        /// <param name="model">The model.</param>
        /// <param name="options">Options; Executable is ignored.</param>
        /// <exception cref="PoprtException">As for a file.</exception>
        public static Executable Open(PopefModel model, OpenOptions options = null)
        {
            using (var rawOptions = new RawOpenOptions())
            {
                if (options != null) rawOptions.set_ignore_package_hash(options.IgnorePackageHash);
                return new Executable(RawExecutable.open_model(Argument.Given(model, nameof(model)).Raw, rawOptions));
            }
        }

        /// <summary>Returns the blobs: metadata, executable, data, opaque blobs. They are a copy if the executable came
        /// from the compiler. Since 1.0.</summary>
        /// <returns>An independent model, which must be disposed of and outlives the executable.</returns>
        public PopefModel PopefModel()
        {
            return new PopefModel(raw.popef_model());
        }

        /// <summary>The executable as the bytes of a PopEF file, for Open or a stream.</summary>
        /// <exception cref="OverflowException">They do not fit in an array.</exception>
        public byte[] ToBytes()
        {
            using (RawBlob blob = raw.save_bytes())
            {
                var bytes = new byte[checked((int)blob.bytes())];
                Marshal.Copy((IntPtr)blob.address(), bytes, 0, bytes.Length);
                return bytes;
            }
        }

        /// <summary>The inputs of a run, in the model's order.</summary>
        public IReadOnlyList<Anchor> Inputs { get; }

        /// <summary>The outputs of a run, in the model's order.</summary>
        public IReadOnlyList<Anchor> Outputs { get; }

        /// <summary>The name by which PopEF links blobs to the executable.</summary>
        public string Name { get; }

        // <functions:executable> made from capi/functions.toml by tests/lint/functions.py --write
        /// <summary>Writes a PopEF file. The file is written completely or not at all, and replaces an existing file.
        /// Since 0.1.</summary>
        /// <param name="path">The PopEF file.</param>
        /// <exception cref="PoprtException">NotFound: the folder does not exist.</exception>
        /// <exception cref="PoprtException">PermissionDenied: the file cannot be created.</exception>
        /// <exception cref="PoprtException">ResourceExhausted: the disk is full.</exception>
        public void Save(string path)
        {
            raw.save(path);
        }

        /// <summary>Writes the program with its metadata to one PopEF file, and the weights to another. Variable
        /// weights are stored by name. Each file is written completely or not at all. Since 0.1.</summary>
        /// <param name="programPath">The PopEF file for the program and its metadata.</param>
        /// <param name="weightsPath">The PopEF file for the weights.</param>
        /// <exception cref="PoprtException">InvalidArgument: both paths are one file.</exception>
        /// <exception cref="PoprtException">NotFound: a folder does not exist.</exception>
        /// <exception cref="PoprtException">PermissionDenied: a file cannot be created.</exception>
        /// <exception cref="PoprtException">ResourceExhausted: the disk is full.</exception>
        public void SaveParts(string programPath, string weightsPath)
        {
            raw.save_parts(programPath, weightsPath);
        }

        /// <summary>The size of the constants in bytes. Since 0.1.</summary>
        public long WeightsBytes
        {
            get { return raw.weights_bytes(); }
        }

        /// <summary>The size of the device memory that one run needs, in bytes. Since 0.1.</summary>
        public long ArenaBytes
        {
            get { return raw.arena_bytes(); }
        }

        /// <summary>The program as text for people. The format may change. Since 0.1.</summary>
        public string Listing()
        {
            return raw.listing();
        }

        /// <summary>Why a runner refuses a batching dimension. The text is empty if requests with any number of rows
        /// along the dimension may share a batch, because no row changes the results of another. Since 1.0.</summary>
        /// <param name="dimension">The dimension, counted from 0.</param>
        /// <exception cref="PoprtException">InvalidArgument: the first input has no such dimension.</exception>
        /// <exception cref="PoprtException">FailedPrecondition: the executable does not state it, because an earlier
        /// version compiled the model.</exception>
        public string BatchingRefusal(int dimension)
        {
            return raw.batching_refusal(dimension);
        }

        /// <summary>What the model costs on a chip, as option <c>estimate</c> of the compiler stored it: a JSON object.
        /// Since 1.0.</summary>
        /// <exception cref="PoprtException">NotFound: the executable was compiled without the option.</exception>
        public string Estimate()
        {
            return raw.estimate();
        }
        // </functions:executable>

        /// <summary>Frees the executable. A second call has no effect.</summary>
        public void Dispose()
        {
            raw.Dispose();
        }

        /// <summary>A description of the executable.</summary>
        public override string ToString()
        {
            return "Executable " + Name + ": " + string.Join(", ", Inputs) + " -> " + string.Join(", ", Outputs);
        }
    }
}
