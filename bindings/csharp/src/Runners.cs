using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;

namespace Poprt
{
    /// <summary>Runs a fused model, whose anchors are called graphK/NAME: a run binds those of one graph.</summary>
    public sealed class ModelFusionRunner : ModelRunner
    {
        /// <summary>Acquires a device and loads the model, which may be disposed of afterwards.</summary>
        /// <exception cref="PoprtException">FailedPrecondition: not a fused model; and as for ModelRunner.</exception>
        public ModelFusionRunner(Executable executable, RuntimeConfig config = null)
            : base(Create(executable, config, RawRunner.create_fusion))
        {
        }
    }

    /// <summary>How the row of an item is chosen if items must not continue in the next row.</summary>
    public enum PackAlgorithm
    {
        /// <summary>Into the last row, or a new one.</summary>
        NextFit = 0,
        /// <summary>Into the first row with enough space.</summary>
        FirstFit = 1
    }

    /// <summary>How a <see cref="PackRunner"/> packs. Zero and null mean the default.</summary>
    public sealed class PackOptions
    {
        /// <summary>Name of the input of variable length; null: as recorded in the model, else the mask, else the first
        /// input.</summary>
        public string DynamicInput { get; set; }

        /// <summary>The time from the first item of a pack until its submission, in whole microseconds; must be
        /// set.</summary>
        public TimeSpan Timeout { get; set; }

        /// <summary>Items of a pack; 0: as many as fit.</summary>
        public long MaxValidNum { get; set; }

        /// <summary>The s32 input that contains lengths; null: as recorded in the model, or none.</summary>
        public string UnpackInfoInput { get; set; }

        /// <summary>The input that masks positions; null: none.</summary>
        public string Mask { get; set; }

        /// <summary>Further inputs of the same length. Inputs that have the rows and positions of the dynamic input can
        /// be omitted.</summary>
        public IList<string> DynamicGroup { get; } = new List<string>();

        /// <summary>How the row of an item is chosen if items must not continue in the next row.</summary>
        public PackAlgorithm Algorithm { get; set; }

        /// <summary>Whether items may continue in the next row.</summary>
        public bool DataAcrossRows { get; set; } = true;

        /// <summary>Rows of the compiled batch; 0: the first dimension of the dynamic input.</summary>
        public long CompileBatchSize { get; set; }

        /// <summary>Whether to remove the padding of requests, which the mask marks.</summary>
        public bool PaddingRemove { get; set; }

        /// <summary>Whether inputs of the next pack are prepared while one runs.</summary>
        public bool PrefetchDatastreams { get; set; } = true;

        /// <summary>Zeros between two items.</summary>
        public long DelimiterNum { get; set; }

        internal void Fill(RawPackOptions raw)
        {
            raw.set_timeout(Timeout.Ticks / 10);
            raw.set_max_valid_num(MaxValidNum);
            raw.set_inputs(DynamicInput ?? "", UnpackInfoInput ?? "", Mask ?? "");
            foreach (string name in DynamicGroup) raw.add_dynamic(name);
            raw.set_algorithm((int)Algorithm);
            raw.set_data_across_rows(DataAcrossRows);
            raw.set_compile_batch_size(CompileBatchSize);
            raw.set_padding_remove(PaddingRemove);
            raw.set_prefetch_datastreams(PrefetchDatastreams);
            raw.set_delimiter_num(DelimiterNum);
        }
    }

    /// <summary>
    /// Packs runs of variable length into the compiled batches. The dynamic inputs of a run have the same number of
    /// positions. Its outputs have as many, or with unpack info one item of the output's first dimension. A pack is
    /// submitted when it is full, when the next item does not fit, or after the timeout.
    /// </summary>
    public sealed class PackRunner : ModelRunner
    {
        /// <summary>Acquires a device and loads the model, which may be disposed of afterwards.</summary>
        /// <exception cref="PoprtException">InvalidArgument: the options; FailedPrecondition: options that do not fit
        /// the model; and as for ModelRunner.</exception>
        public PackRunner(Executable executable, PackOptions options, RuntimeConfig config = null)
            : base(Make(executable, options, config))
        {
        }

        private static RawRunner Make(Executable executable, PackOptions options, RuntimeConfig config)
        {
            using (var raw = new RawPackOptions())
            {
                Argument.Given(options, nameof(options)).Fill(raw);
                return Create(executable, config, (model, how) => RawRunner.create_pack(model, how, raw));
            }
        }
    }

    /// <summary>An input of a model that consists of the bytes of several inputs in order.</summary>
    public sealed class HostConcat
    {
        /// <summary>Describes the inputs to join.</summary>
        /// <param name="tensor">The model's input.</param>
        /// <param name="inputs">The inputs that runs bind in its place.</param>
        public HostConcat(string tensor, params string[] inputs)
        {
            Tensor = tensor;
            Inputs = inputs;
        }

        /// <summary>The model's input.</summary>
        public string Tensor { get; }

        /// <summary>The inputs that runs bind in its place.</summary>
        public IReadOnlyList<string> Inputs { get; }

        /// <summary>The expected shape of the joined tensor; null: not checked.</summary>
        public long[] Shape { get; set; }

        /// <summary>The expected number of bytes of the joined tensor; 0: not checked.</summary>
        public long Bytes { get; set; }

        /// <summary>Bytes of each input; null: equal parts.</summary>
        public long[] Sizes { get; set; }

        internal unsafe void Fill(RawHostConcats raw)
        {
            if (Sizes != null && Sizes.Length != Inputs.Count)
                throw new ArgumentException("'" + Tensor + "' has " + Inputs.Count + " inputs, given " + Sizes.Length
                    + " sizes");
            raw.add(Tensor);
            foreach (string input in Inputs) raw.add_input(input);
            fixed (long* first = Shape) raw.set_shape(first, Shape == null ? 0 : Shape.Length);
            if (Sizes != null)
                fixed (long* first = Sizes) raw.set_sizes(first, Sizes.Length);
            raw.set_bytes(Bytes);
        }
    }

    /// <summary>Takes the original inputs of a model with joined inputs, and joins them for each run.</summary>
    public sealed class HostConcatRunner : ModelRunner
    {
        /// <summary>Acquires a device and loads the model, which may be disposed of afterwards.</summary>
        /// <param name="executable">The model.</param>
        /// <param name="concats">The inputs to join; empty: the configuration of the executable.</param>
        /// <param name="config">Options.</param>
        /// <exception cref="PoprtException">NotFound: no such input, or no configuration in the executable;
        /// InvalidArgument; DataLoss: the configuration in the executable; and as for ModelRunner.</exception>
        public HostConcatRunner(Executable executable, IEnumerable<HostConcat> concats, RuntimeConfig config = null)
            : base(Make(executable, concats, config))
        {
        }

        private static RawRunner Make(Executable executable, IEnumerable<HostConcat> concats, RuntimeConfig config)
        {
            using (var raw = new RawHostConcats())
            {
                foreach (HostConcat concat in Argument.Given(concats, nameof(concats))) concat.Fill(raw);
                return Create(executable, config, (model, how) => RawRunner.create_host_concat(model, how, raw));
            }
        }
    }

    /// <summary>
    /// A runner that can release its device (Stop) and acquire one again (Reload), and whose weights can be replaced.
    /// It uses only the options Threads, Device, ReplicaDevices, Telemetry, Numerics, Load, Verify and
    /// ExecutionPrecision. One thread at a time.
    /// </summary>
    public sealed unsafe class LightRunner : ModelRunner
    {
        private readonly bool[] hasData;

        /// <summary>Acquires a device and loads the model, which may be disposed of afterwards.</summary>
        /// <exception cref="PoprtException">As for ModelRunner.</exception>
        public LightRunner(Executable executable, RuntimeConfig config = null)
            : base(Create(executable, config, RawRunner.create_light))
        {
            ModelInputs = Anchor.List(Raw.light_input_count(), Raw.light_input_anchor);
            hasData = new bool[ModelInputs.Count];
            for (int i = 0; i < hasData.Length; i++) hasData[i] = Raw.light_input_has_data(i);
        }

        /// <summary>All inputs, including those that the executable contains.</summary>
        public IReadOnlyList<Anchor> ModelInputs { get; }

        /// <summary>Whether the executable contains the value of an input. Runs then do not bind the input; SetInput
        /// replaces the value.</summary>
        public bool ModelInputHasData(int index)
        {
            return hasData[index];
        }

        /// <summary>Acquires a device again after Stop; otherwise has no effect.</summary>
        /// <exception cref="PoprtException">As for ModelRunner.</exception>
        public void Reload()
        {
            Raw.light_reload();
        }

        /// <summary>Copies new elements for an input that the executable contains; UpdateWeights makes runs use
        /// them.</summary>
        /// <exception cref="PoprtException">NotFound; InvalidArgument: the size; FailedPrecondition: runs bind
        /// it, or it is the random seed.</exception>
        public void SetInput<T>(string name, ReadOnlySpan<T> value) where T : struct
        {
            ReadOnlySpan<byte> bytes = MemoryMarshal.AsBytes(value.Slice(0, Math.Min(1, value.Length)));
            fixed (byte* first = &MemoryMarshal.GetReference(bytes))
                Raw.light_set_input(name, (long)first, (long)value.Length * Element<T>.Bytes);
        }

        /// <summary>Makes the next run use the elements of SetInput.</summary>
        public void UpdateWeights()
        {
            Raw.light_update_weights();
        }
    }
}
