using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using System.Threading;
using System.Threading.Tasks;

namespace Poprt
{
    /// <summary>The options of a <see cref="ModelRunner"/>. Zero and null mean the default.</summary>
    public sealed class RuntimeConfig
    {
        // <options:runner> made from capi/option_fields.toml by tests/lint/option_fields.py --write
        /// <summary>Compute threads. Results are bit-equal for any number. 0: POPRT_THREADS from the environment, or
        /// all CPUs. Since 0.1.</summary>
        public int Threads { get; set; }

        /// <summary>Whether to measure the time of every instruction, which <see cref="ModelRunner.Profile"/> returns.
        /// Runs are slower. Default: false. Since 1.0.</summary>
        public bool Profile { get; set; }

        /// <summary><see cref="Profile"/> by its older name. Since 0.1.</summary>
        public bool EnableProfile
        {
            get { return Profile; }
            set { Profile = value; }
        }

        /// <summary>The device to run on. Null: any free device. Since 0.1.</summary>
        public Device Device { get; set; }

        /// <summary>How many requests per replica may be in the queue; see ExecuteAsync. 0: the size of the ring. Since
        /// 0.1.</summary>
        public int QueueDepth { get; set; }

        /// <summary>Whether to publish the runner's activity, as POPRT_TELEMETRY=1 does; see
        /// <see cref="Library.ReadTelemetry"/>. Default: false. Since 1.0.</summary>
        public bool Telemetry { get; set; }

        /// <summary>How long a batch that has some rows waits for more before it is padded with zeros. Zero: it does
        /// not wait: it runs as soon as the device is idle, and rows are gathered while the device is busy; negative:
        /// without limit. Since 0.1.</summary>
        public TimeSpan Timeout { get; set; }

        /// <summary>Whether several threads may use the runner at once. Off saves a lock. Default: true. Since
        /// 0.1.</summary>
        public bool ThreadSafe { get; set; } = true;

        /// <summary>Whether each run checks names and sizes. Without the checks, unknown names are ignored, missing
        /// inputs are zeros, missing outputs are dropped, the size of the first binding determines the number of rows,
        /// and others may be larger. Fused and conditional models need this. Default: true. Since 0.1.</summary>
        public bool ValidateIoParams { get; set; } = true;

        /// <summary>The dimension along which requests may have any size. Null: none; runs are whole compiled batches.
        /// Since 0.1.</summary>
        public int? BatchingDim { get; set; }

        /// <summary>The ring has places for this number times the rows of a step; without a batching dimension a row is
        /// a batch. With 2, the ring has at least 64 places. 0: 2. Since 0.1.</summary>
        public int RingBufferSizeMultiplier { get; set; }

        /// <summary>Whether the device is reset after an error that a reset repairs. Default: false. Since
        /// 0.1.</summary>
        public bool AutoReset { get; set; }

        /// <summary>Whether a batch is padded only while a caller waits for one of its requests or has given a callback
        /// for it. Without a limit by the timeout, a batch is then padded at once. This also records tracepoints.
        /// Default: false. Since 0.1.</summary>
        public bool FlushOnWaitingOutputs { get; set; }

        /// <summary>Whether the timeouts of batches and of steps are used. Default: false. Since 0.1.</summary>
        public bool IsBatchSizeTimeoutEnabled { get; set; }

        /// <summary>How long a batch waits, from its first row until it is padded. With it, the default of timeout has
        /// no effect. Zero: never. Since 0.1.</summary>
        public TimeSpan BatchSizeTimeout { get; set; }

        /// <summary>How long a step waits, from its first complete batch until it runs without the missing batches.
        /// Zero: never. Since 0.1.</summary>
        public TimeSpan DataParallelTimeout { get; set; }

        /// <summary>How many of the last requests <see cref="ModelRunner.Tracepoints"/> reports. 0: 1000; negative:
        /// all. Since 0.1.</summary>
        public long RequestTracepointsBufferSize { get; set; }

        /// <summary>Number of copies of the model, each on a different device. 0: 1. Since 0.1.</summary>
        public int ReplicationFactor { get; set; }

        /// <summary>Whether separate threads copy the inputs of the next step and the outputs of the last step while a
        /// step computes. An executable that was compiled with num_io_tiles turns this on. Default: false. Since
        /// 0.1.</summary>
        public bool OverlapIo { get; set; }

        /// <summary>Number of batches in a step. Submitted requests wait, within the timeouts, until a step is full;
        /// whole batches of a call that waits for its result do not. 0: the executable's number. Since 0.1.</summary>
        public long BatchesPerStep { get; set; }

        /// <summary>Devices of the replicas, which are counted from 0. None given: any free devices. Since
        /// 0.1.</summary>
        public IDictionary<long, Device> ReplicaDevices { get; } = new Dictionary<long, Device>();

        /// <summary>How long to try again when no device is free. Zero: 1 s; negative: without limit. Since
        /// 0.1.</summary>
        public TimeSpan DeviceWaitTimeout { get; set; }

        /// <summary>How long to sleep between two attempts to acquire a device. Zero: 6 s. Since 0.1.</summary>
        public TimeSpan DeviceWaitSleep { get; set; }

        /// <summary>Device errors to inject, for tests: "CLASS[:ACTION][@RUN][*COUNT][/REPLICA];...", see capi/ABI.md.
        /// Null or "": POPRT_INJECT_FAULTS from the environment. Since 1.0.</summary>
        public string Faults { get; set; }

        /// <summary>The arithmetic: "fast"; "faithful", which rounds as the chip does and gives NaN when a half
        /// overflows; or "saturating", which differs from faithful in that an overflow gives the greatest half. With a
        /// seed, as in "faithful:7", halves are rounded stochastically, and equal runs have equal results. The last two
        /// are slow and need an executable that was compiled with the option numerics=faithful. Null or "": "fast".
        /// Since 1.0.</summary>
        public string Numerics { get; set; }

        /// <summary>Which processes share the devices of the replicas: "0": none; "1": all processes of the user; an
        /// absolute path: all processes that give the same folder. Two replicas never have the same device, even in
        /// different processes. Null or "": POPRT_SHARED_DEVICES from the environment, or none. Since 1.0.</summary>
        public string SharedDevices { get; set; }

        /// <summary>How the runner uses a PopEF file: "map" uses weights in the memory map of the file; "copy" copies
        /// them into memory, so that later changes of the file have no effect. If a mapped file is truncated, the
        /// process receives SIGBUS. Null or "": "map". Since 1.0.</summary>
        public string Load { get; set; }

        /// <summary>Whether to check the checksums of the PopEF file, which reads all of it. If one differs, the runner
        /// is refused with data_loss, and the message names the file and the blob. A file without checksums causes a
        /// warning. Default: false. Since 1.0.</summary>
        public bool Verify { get; set; }

        /// <summary>How many shapes of a model whose shapes are compiled on demand are kept, without the one that was
        /// compiled ahead. Beyond it, the least recently used shape is removed. 0: 16. Since 1.0.</summary>
        public int MaxShapes { get; set; }

        /// <summary>The precision of products with constant weights: "f32"; "bf16", which rounds both factors; "f16",
        /// which rounds the weights of MatMul and Gemm, and both factors on CPUs with AVX512-FP16; or "auto", which is
        /// bf16 for weights that bf16 represents, and f16 for those that are stored as f16. Weights are packed once and
        /// kept in the cache folder: POPXL_CACHE_DIR or POPART_CACHE_DIR, else poprt in XDG_CACHE_HOME or ~/.cache.
        /// Null or "": that of the executable. Since 1.0.</summary>
        public string ExecutionPrecision { get; set; }

        /// <summary>The largest number of bytes of memory that the shapes which are compiled on demand may need for one
        /// run each, with the inputs and outputs of a request, without the shape that was compiled ahead. A request
        /// whose shape needs more is refused with invalid_argument, and the message contains the needed and the allowed
        /// bytes. To make room for a shape, the least recently used ones are removed. 0: no limit; negative: half of
        /// the memory of the computer or, if that is smaller, of the limit of the process's control group. Since
        /// 1.0.</summary>
        public long MaxShapeMemory { get; set; }

        private void FillFields(RawRunnerOptions raw)
        {
            raw.threads = Threads;
            raw.profile = Profile ? 1 : 0;
            raw.queue_depth = QueueDepth;
            raw.telemetry = Telemetry ? 1 : 0;
            raw.timeout_ns = RuntimeConfig.Nanoseconds(Timeout);
            raw.not_thread_safe = ThreadSafe ? 0 : 1;
            raw.no_validate_io_params = ValidateIoParams ? 0 : 1;
            raw.ring_buffer_size_multiplier = RingBufferSizeMultiplier;
            raw.auto_reset = AutoReset ? 1 : 0;
            raw.flush_on_waiting_outputs = FlushOnWaitingOutputs ? 1 : 0;
            raw.is_batch_size_timeout_enabled = IsBatchSizeTimeoutEnabled ? 1 : 0;
            raw.batch_size_timeout_ns = RuntimeConfig.Nanoseconds(BatchSizeTimeout);
            raw.data_parallel_timeout_ns = RuntimeConfig.Nanoseconds(DataParallelTimeout);
            raw.request_tracepoints_buffer_size = RequestTracepointsBufferSize;
            raw.replication_factor = ReplicationFactor;
            raw.overlap_io = OverlapIo ? 1 : 0;
            raw.batches_per_step = BatchesPerStep;
            raw.device_wait_timeout_ns = RuntimeConfig.Nanoseconds(DeviceWaitTimeout);
            raw.device_wait_sleep_ns = RuntimeConfig.Nanoseconds(DeviceWaitSleep);
            raw.set_faults(Faults ?? "");
            raw.set_numerics(Numerics ?? "");
            raw.set_shared_devices(SharedDevices ?? "");
            raw.set_load(Load ?? "");
            raw.verify = Verify ? 1 : 0;
            raw.max_shapes = MaxShapes;
            raw.set_execution_precision(ExecutionPrecision ?? "");
            raw.max_shape_memory = MaxShapeMemory;
        }
        // </options:runner>

        private struct Frozen
        {
            internal Type Element;
            internal byte[] Value;
        }

        private readonly Dictionary<string, Frozen> frozenInputs = new Dictionary<string, Frozen>();

        /// <summary>Sets a value of an input, which is copied, for all runs, which then omit the input. A runner refuses
        /// elements of another type than the input has. Since 1.0.</summary>
        /// <returns>This.</returns>
        public RuntimeConfig FrozenInput<T>(string name, ReadOnlySpan<T> value) where T : struct
        {
            frozenInputs[Argument.Given(name, nameof(name))] =
                new Frozen { Element = typeof(T), Value = MemoryMarshal.AsBytes(value).ToArray() };
            return this;
        }

        /// <summary>Calls make with the options and keeps their memory until it returns.</summary>
        internal unsafe RawRunner With(RawRunnerOptions raw, Func<RawRunner> make)
        {
            var pins = new List<GCHandle>();
            try
            {
                Fill(raw);
                foreach (KeyValuePair<long, Device> replica in ReplicaDevices)
                    raw.add_replica_device(replica.Key, replica.Value.Raw);
                foreach (KeyValuePair<string, Frozen> input in frozenInputs)
                {
                    byte[] value = input.Value.Value;
                    pins.Add(GCHandle.Alloc(value, GCHandleType.Pinned));
                    raw.add_frozen_input(input.Key, pins[pins.Count - 1].AddrOfPinnedObject().ToInt64(), value.Length);
                }
                RawRunner made = make();
                try
                {
                    foreach (Anchor anchor in Anchor.List(made.input_count(), made.input_anchor))
                        if (frozenInputs.TryGetValue(anchor.Name, out Frozen frozen))
                            Bindings.Check(anchor, frozen.Element, "frozen input");
                }
                catch
                {
                    made.Dispose();
                    throw;
                }
                return made;
            }
            finally
            {
                foreach (GCHandle pin in pins) pin.Free();
                GC.KeepAlive(this);
            }
        }

        private void Fill(RawRunnerOptions raw)
        {
            FillFields(raw);
            raw.use_batching_dim = BatchingDim == null ? 0 : 1;
            raw.batching_dim = checked((uint)(BatchingDim ?? 0));
            if (Device != null) raw.set_device(Device.Raw);
        }

        /// <summary>Converts a time; a time that is too long becomes the longest one. The smallest number is never
        /// returned, because some options have another meaning for it.</summary>
        internal static long Nanoseconds(TimeSpan time)
        {
            if (time.Ticks > long.MaxValue / 100) return long.MaxValue;
            return time.Ticks < long.MinValue / 100 ? -long.MaxValue : time.Ticks * 100;
        }
    }

    /// <summary>A model on a device, for use by any number of threads.</summary>
    /// <remarks>
    /// Memory of inputs and outputs must stay unchanged until a run is complete; the classes pin it. Disposing while
    /// another thread runs is safe: that run ends first.
    /// </remarks>
    /// <seealso cref="ModelFusionRunner"/>
    /// <seealso cref="PackRunner"/>
    /// <seealso cref="HostConcatRunner"/>
    /// <seealso cref="LightRunner"/>
    public unsafe class ModelRunner : IDisposable
    {
        private readonly RawRunner raw;

        /// <summary>Acquires a device and loads the model, which may be disposed of afterwards.</summary>
        /// <exception cref="PoprtException">Unavailable: all devices are busy; NotFound: no such replica, input or suitable
        /// device; FailedPrecondition: another runner uses the given device, a kernel is missing, or the options do not
        /// suit the executable; InvalidArgument: options; DataLoss: a damaged file, with Verify; PermissionDenied:
        /// the folder of SharedDevices; ResourceExhausted: memory, threads.</exception>
        public ModelRunner(Executable executable, RuntimeConfig config = null)
            : this(Create(executable, config, (model, options) => new RawRunner(model, options)))
        {
        }

        /// <summary>Acquires a device and loads a PopEF file, or an ONNX model, which is compiled and stored in a cache
        /// for later calls; see <see cref="Executable.Load"/>. Since 1.0.</summary>
        /// <exception cref="PoprtException">As Executable.Load and above.</exception>
        public ModelRunner(string path, CompilerOptions options = null, RuntimeConfig config = null)
            : this(Load(path, options, config))
        {
        }

        private static RawRunner Load(string path, CompilerOptions options, RuntimeConfig config)
        {
            using (Executable executable = Executable.Load(path, options))
            {
                return Create(executable, config, (model, raw) => new RawRunner(model, raw));
            }
        }

        internal ModelRunner(RawRunner raw)
        {
            this.raw = raw;
            Inputs = Anchor.List(raw.input_count(), raw.input_anchor);
            Outputs = Anchor.List(raw.output_count(), raw.output_anchor);
        }

        /// <summary>Creates a raw runner of one kind.</summary>
        internal static RawRunner Create(Executable executable, RuntimeConfig config,
            Func<RawExecutable, RawRunnerOptions, RawRunner> make)
        {
            Argument.Given(executable, nameof(executable));
            config = config ?? new RuntimeConfig();
            using (var options = new RawRunnerOptions())
            {
                return config.With(options, () => make(executable.Raw, options));
            }
        }

        internal RawRunner Raw
        {
            get { return raw; }
        }

        /// <summary>The inputs of a run, in the model's order.</summary>
        public IReadOnlyList<Anchor> Inputs { get; }

        /// <summary>The outputs of a run, in the order of the model.</summary>
        public IReadOnlyList<Anchor> Outputs { get; }

        /// <summary>Creates bindings, to which memory for runs is bound.</summary>
        public Bindings CreateBindings()
        {
            return new Bindings(Inputs, Outputs);
        }

        /// <summary>Runs the model once. Every input and output must be bound. Thread-safe: calls wait until a device
        /// of the runner is free.</summary>
        /// <exception cref="PoprtException">NotFound: a name; InvalidArgument: missing, given twice, a wrong size;
        /// Cancelled: the runner was stopped; the error of the device: Aborted, Unavailable, Internal, Unknown or
        /// FailedPrecondition.</exception>
        public void Execute(Bindings bindings)
        {
            // The memory stays pinned, also if another thread changes the bindings during the run.
            Pin[] pins = Argument.Given(bindings, nameof(bindings)).Acquire();
            try
            {
                raw.execute(bindings.Raw);
            }
            finally
            {
                bindings.Release(pins);
            }
        }

        /// <summary>Runs a model with one input and one output once, without copying.</summary>
        /// <exception cref="PoprtException">As above, or the type of the elements differs.</exception>
        public void Execute<TIn, TOut>(ReadOnlySpan<TIn> input, Span<TOut> output) where TIn : struct where TOut : struct
        {
            if (Inputs.Count > 0) Bindings.Check(Inputs[0], typeof(TIn), "input");
            if (Outputs.Count > 0) Bindings.Check(Outputs[0], typeof(TOut), "output");
            // One element is enough for the address, because the number of all bytes may not fit in an int.
            ReadOnlySpan<byte> from = MemoryMarshal.AsBytes(input.Slice(0, Math.Min(1, input.Length)));
            Span<byte> to = MemoryMarshal.AsBytes(output.Slice(0, Math.Min(1, output.Length)));
            byte nothing = 0;
            fixed (byte* first = &MemoryMarshal.GetReference(from))
            fixed (byte* last = &MemoryMarshal.GetReference(to))
            {
                long* table = stackalloc long[4];
                table[0] = input.IsEmpty ? (long)&nothing : (long)first;
                table[1] = (long)input.Length * Element<TIn>.Bytes;
                table[2] = output.IsEmpty ? (long)&nothing : (long)last;
                table[3] = (long)output.Length * Element<TOut>.Bytes;
                raw.execute_table(table, 1, 1);
            }
        }

        /// <summary>Runs a model with one input and one output once, without copying.</summary>
        /// <exception cref="PoprtException">As above, or the type of the elements differs.</exception>
        public void Execute<TIn, TOut>(TIn[] input, TOut[] output) where TIn : struct where TOut : struct
        {
            Execute(new ReadOnlySpan<TIn>(input), new Span<TOut>(output));
        }

        /// <summary>
        /// Runs the model into new memory for as many rows as the inputs have. If there is an output NAME:shape, and
        /// the request is one batch, output NAME only contains the real part, and NAME:shape is left out. Since 1.0.
        /// </summary>
        /// <param name="inputs">By name: arrays with the dimensions of the input, such as float[,].</param>
        /// <returns>The outputs by name.</returns>
        /// <exception cref="PoprtException">As Execute; types and shapes are checked.</exception>
        public IReadOnlyDictionary<string, Tensor> Run(IEnumerable<KeyValuePair<string, Array>> inputs)
        {
            var pins = new List<GCHandle>();
            try
            {
                using (var tensors = new RawTensors())
                {
                    foreach (KeyValuePair<string, Array> input in Argument.Given(inputs, nameof(inputs)))
                    {
                        Anchor anchor = null;
                        foreach (Anchor a in Inputs)
                            if (a.Name == input.Key) anchor = a;
                        pins.Add(Tensor.Add(tensors, input.Key, input.Value, anchor));
                    }
                    using (RawOutputs made = raw.run(tensors))
                    {
                        var outputs = new Dictionary<string, Tensor>();
                        for (long i = 0; i < made.count(); i++) outputs[made.name(i)] = Tensor.Copy(made, i);
                        return outputs;
                    }
                }
            }
            finally
            {
                foreach (GCHandle pin in pins) pin.Free();
            }
        }

        /// <summary>Runs the model once with several inputs and outputs by name, without copying. Since 1.0.</summary>
        /// <param name="inputs">By name: arrays, row by row; shapes are not checked.</param>
        /// <param name="outputs">By name: arrays that are written.</param>
        /// <exception cref="PoprtException">As above, or the type of the elements differs.</exception>
        public void Execute(IEnumerable<KeyValuePair<string, Array>> inputs,
            IEnumerable<KeyValuePair<string, Array>> outputs)
        {
            Argument.Given(inputs, nameof(inputs));
            Argument.Given(outputs, nameof(outputs));
            using (Bindings bindings = CreateBindings())
            {
                foreach (KeyValuePair<string, Array> input in inputs) bindings.Bind(input.Key, input.Value, true);
                foreach (KeyValuePair<string, Array> output in outputs) bindings.Bind(output.Key, output.Value, false);
                Execute(bindings);
            }
        }

        /// <summary>
        /// Submits a run and returns. Runs of one replica begin in the order of submission, except that those of whole
        /// steps do not wait for an incomplete batch. A process that exits waits up to 10 s for runs. Never blocks:
        /// runs beyond the queue (QueueDepth) wait in a list without limit, so await results to limit their number. The
        /// memory stays pinned until the run is complete; the bindings may be disposed of or changed.
        /// </summary>
        /// <param name="bindings">The memory of inputs and outputs.</param>
        /// <param name="cancellation">Cancels a run that has not begun, and its task; its memory is then free. A run
        /// that has begun continues and uses its memory until the task ends.</param>
        /// <param name="timeout">The run fails with DeadlineExceeded if it has not begun by then; zero or
        /// Timeout.InfiniteTimeSpan: no limit.</param>
        /// <returns>Ends when the outputs are written; cancelled if the runner is stopped before the run is complete.
        /// Continuations run on the thread pool.</returns>
        /// <exception cref="PoprtException">Errors of the arguments, as for Execute.</exception>
        /// <exception cref="ArgumentOutOfRangeException">The timeout is below zero.</exception>
        public Task ExecuteAsync(Bindings bindings, CancellationToken cancellation = default(CancellationToken),
            TimeSpan timeout = default(TimeSpan))
        {
            Argument.Given(bindings, nameof(bindings));
            if (cancellation.IsCancellationRequested) return Task.FromCanceled(cancellation);
            if (timeout == Timeout.InfiniteTimeSpan) timeout = TimeSpan.Zero;
            if (timeout < TimeSpan.Zero)
                throw new ArgumentOutOfRangeException(nameof(timeout), timeout, "expected zero or more");
            if (timeout == TimeSpan.Zero) return AsyncRun.Submit(raw, bindings, cancellation, null);
            return ExecuteAsync(bindings, cancellation, new RequestOptions { Timeout = timeout });
        }

        /// <summary>As above, with options; null: the defaults. Since 1.0.</summary>
        /// <exception cref="PoprtException">Errors of the arguments, as for Execute.</exception>
        /// <exception cref="ArgumentOutOfRangeException">The replica is negative.</exception>
        public Task ExecuteAsync(Bindings bindings, CancellationToken cancellation, RequestOptions options)
        {
            Argument.Given(bindings, nameof(bindings));
            if (cancellation.IsCancellationRequested) return Task.FromCanceled(cancellation);
            using (RawRequestOptions given = options?.ToRaw()) return AsyncRun.Submit(raw, bindings, cancellation, given);
        }

        // <functions:runner> made from capi/functions.toml by tests/lint/functions.py --write
        /// <summary>Whether an input comes with the executable or is frozen, so that requests leave it out. False if
        /// there is no input at this position. Since 1.0.</summary>
        /// <param name="index">The position of the input.</param>
        public bool InputHasData(int index)
        {
            return raw.input_has_data(index);
        }

        /// <summary>The position of the input with a name, for bindings by position. Since 1.0.</summary>
        /// <param name="name">The name of the input.</param>
        /// <exception cref="PoprtException">NotFound: no input of requests has the name; the message lists the
        /// names.</exception>
        public int InputIndex(string name)
        {
            return (int)raw.input_index(name);
        }

        /// <summary>The position of the output with a name, for bindings by position. Since 1.0.</summary>
        /// <param name="name">The name of the output.</param>
        /// <exception cref="PoprtException">NotFound: no output has the name; the message lists the names.</exception>
        public int OutputIndex(string name)
        {
            return (int)raw.output_index(name);
        }

        /// <summary>A JSON object with the counters and latencies of the runner and of each replica, since the runner
        /// was created. Since 0.1.</summary>
        public string Statistics()
        {
            return raw.statistics();
        }

        /// <summary>A JSON array of the times at which each of the last requests was submitted, began, computed and
        /// ended. The array is empty without the option <c>flush_on_waiting_outputs</c>. Since 0.1.</summary>
        public string Tracepoints()
        {
            return raw.tracepoints();
        }

        /// <summary>A JSON object with the times of every instruction on the first device of replica 0 since the model
        /// was last loaded on it: when the runner was created, or by <c>auto_reset</c> after an error. Since
        /// 0.1.</summary>
        /// <exception cref="PoprtException">FailedPrecondition: the runner was created without the option
        /// <c>profile</c>.</exception>
        /// <exception cref="PoprtException">Unimplemented: this kind of runner has no profile.</exception>
        public string Profile()
        {
            return raw.profile();
        }

        /// <summary>Compiles shapes of a model whose shapes are compiled on demand, and waits until they are ready.
        /// Since 1.0.</summary>
        /// <param name="shapes">The shapes of the inputs, a line NAME=d0,d1,... for each input; several shapes are
        /// separated by slashes.</param>
        /// <exception cref="PoprtException">InvalidArgument: the text is ill-formed, or a shape contradicts the
        /// model.</exception>
        /// <exception cref="PoprtException">Unimplemented: the shapes of the runner are fixed.</exception>
        /// <exception cref="PoprtException">FailedPrecondition: there is no compiler library.</exception>
        public void WarmUp(string shapes)
        {
            raw.warm_up(shapes);
        }

        /// <summary>A JSON object with the dimensions of all inputs and outputs, which states the sizes that requests
        /// decide. Since 1.0.</summary>
        public string OpenDimensions()
        {
            return raw.open_dimensions();
        }

        /// <summary>Ends the runner. Waiting requests are cancelled, and the request on the device ends early with
        /// cancelled. Later requests fail with cancelled. Since 0.1.</summary>
        public void Stop()
        {
            raw.stop();
        }

        /// <summary>Lets incomplete batches run at once from now on: requests do not wait for others that would fill
        /// their batch. Nothing changes for a runner that packs sequences, whose requests wait at most its timeout.
        /// Since 1.0.</summary>
        public void Drain()
        {
            raw.drain();
        }
        // </functions:runner>

        /// <summary>Compiles a shape of a model whose shapes are compiled on demand, and waits until it is ready.
        /// Since 1.0.</summary>
        /// <param name="shapes">The shapes of the inputs by name; inputs whose sizes follow from the others may be left
        /// out.</param>
        /// <exception cref="PoprtException">As for WarmUp with a text.</exception>
        public void WarmUp(IDictionary<string, long[]> shapes)
        {
            if (shapes == null)
            {
                WarmUp((string)null); // throws the exception for null, or for a runner that is closed
                return;
            }
            var lines = new List<string>();
            foreach (KeyValuePair<string, long[]> input in shapes)
                lines.Add(input.Key + "=" + (input.Value.Length == 0 ? "[]" : string.Join(",", input.Value)));
            WarmUp(string.Join("\n", lines));
        }

        /// <summary>The counters of all replicas since the runner was created: Statistics as numbers.
        /// Since 1.0.</summary>
        public RunnerCounters Counters()
        {
            return Counters(-1);
        }

        /// <summary>The counters of one replica since the runner was created. Since 1.0.</summary>
        /// <param name="replica">From 0 to <see cref="RunnerCounters.Replicas"/> - 1; -1: all together.</param>
        /// <exception cref="PoprtException">NotFound: there is no such replica; Unimplemented: a replica of a
        /// <see cref="PackRunner"/>; InvalidArgument: a number below -1.</exception>
        public RunnerCounters Counters(int replica)
        {
            using (RawCounters counters = raw.counters(replica)) return new RunnerCounters(counters);
        }

        /// <summary>Frees the runner without blocking. Submitted runs are completed first, also those that wait for others
        /// to fill their batch; then the device is free. A second call has no effect.</summary>
        public void Dispose()
        {
            try
            {
                raw.drain();
            }
            catch (ObjectDisposedException)
            {
                return;
            }
            raw.Dispose();
        }

        /// <summary>A description of the model.</summary>
        public override string ToString()
        {
            return GetType().Name + ": " + string.Join(", ", Inputs) + " -> " + string.Join(", ", Outputs);
        }
    }
}
