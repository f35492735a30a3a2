using System;
using System.Collections.Generic;
using System.Linq;

namespace Poprt
{
    /// <summary>The direction of the stream of a <see cref="PopefAnchor"/>.</summary>
    public enum PopefDirection
    {
        /// <summary>It has data but no stream.</summary>
        None = 0,
        /// <summary>An input.</summary>
        HostToDevice = 1,
        /// <summary>An output.</summary>
        DeviceToHost = 2
    }

    /// <summary>A host-visible tensor of a model, which <see cref="PopefMetadata"/> describes.</summary>
    public sealed unsafe class PopefAnchor
    {
        /// <summary>Creates an anchor without a stream handle that no program uses.</summary>
        /// <param name="name">The name in the model and of its tensor or feed blob.</param>
        /// <param name="direction">The direction of its stream.</param>
        /// <param name="dataType">The type of its elements.</param>
        /// <param name="shape">The dimensions of one transfer; none for a scalar.</param>
        public PopefAnchor(string name, PopefDirection direction, DataType dataType, params long[] shape)
        {
            Name = name;
            Direction = direction;
            DataType = dataType;
            Shape = shape;
        }

        internal PopefAnchor(RawPopefAnchor raw)
        {
            Name = raw.name();
            Handle = raw.handle();
            int direction = raw.anchor_type();
            Direction = Enum.IsDefined(typeof(PopefDirection), direction) ? (PopefDirection)direction : PopefDirection.None;
            DataType = TypeOf(raw.dtype());
            Shape = new long[raw.rank()];
            for (int i = 0; i < Shape.Length; i++) Shape[i] = raw.dimension(i);
            Programs = new uint[raw.program_count()];
            for (int i = 0; i < Programs.Length; i++) Programs[i] = (uint)raw.program(i);
            IsPerReplica = raw.is_per_replica();
        }

        internal void AddTo(RawPopefMetadata metadata)
        {
            using (var raw = new RawPopefAnchor(Name, Handle, (int)Direction))
            {
                fixed (long* first = Shape) raw.set_tensor((int)DataType, first, Shape.Length);
                long[] programs = Programs.Select(p => (long)p).ToArray();
                fixed (long* first = programs) raw.set_programs(first, programs.Length);
                raw.set_is_per_replica(IsPerReplica);
                metadata.add_anchor(raw);
            }
        }

        internal static DataType TypeOf(int number)
        {
            return Enum.IsDefined(typeof(DataType), number) ? (DataType)number : DataType.Undefined;
        }

        /// <summary>Its name in the model, and that of its tensor or feed blob.</summary>
        public string Name { get; set; }

        /// <summary>The handle of its stream; "": no callback can be connected.</summary>
        public string Handle { get; set; } = "";

        /// <summary>The direction of its stream.</summary>
        public PopefDirection Direction { get; set; }

        /// <summary>Type of its elements.</summary>
        public DataType DataType { get; set; }

        /// <summary>The name of the type in the C library and in messages, such as "f32".</summary>
        public string DataTypeName
        {
            get { return poprt_raw.raw_dtype_name((int)DataType); }
        }

        /// <summary>Dimensions of one transfer; empty for a scalar.</summary>
        public long[] Shape { get; set; }

        /// <summary>Bytes of one transfer; 0 for text and unknown types.</summary>
        /// <exception cref="OverflowException">The product of the dimensions does not fit in a long.</exception>
        public long ByteSize
        {
            get
            {
                long bits = poprt_raw.raw_dtype_bits((int)DataType);
                foreach (long dimension in Shape) bits = checked(bits * dimension);
                return bits / 8 + (bits % 8 == 0 ? 0 : 1);
            }
        }

        /// <summary>Indices of the programs that use the stream.</summary>
        public uint[] Programs { get; set; } = new uint[0];

        /// <summary>Whether the first dimension is the replication factor.</summary>
        public bool IsPerReplica { get; set; }

        /// <summary>A description such as "x f32[2,4]".</summary>
        public override string ToString()
        {
            return Name + " " + DataTypeName + "[" + string.Join(",", Shape) + "]";
        }
    }

    /// <summary>The metadata of an executable in a PopEF file, which describes how to run it.</summary>
    /// <remarks>For one thread at a time. A reader returns copies, which may be changed.</remarks>
    public sealed unsafe class PopefMetadata
    {
        internal const int BlobType = 2;
        private const int EngineOptionsList = 1, DeviceOptionsList = 2;
        private const int Load = 1, Main = 2, Save = 3;

        /// <summary>One replica on one IPU of version 2, inference, one iteration, everything else empty.</summary>
        public PopefMetadata()
        {
        }

        internal PopefMetadata(RawPopefMetadata raw)
        {
            ReadFields(raw);
            EngineOptions = Options(raw, EngineOptionsList);
            DeviceOptions = Options(raw, DeviceOptionsList);
            LoadPrograms = Flow(raw, Load);
            MainPrograms = Flow(raw, Main);
            SavePrograms = Flow(raw, Save);
            for (long i = 0; i < raw.program_count(); i++)
                ProgramNames[(uint)raw.program_index(i)] = raw.program_name(i);
            for (long i = 0; i < raw.anchor_count(); i++)
                using (RawPopefAnchor anchor = raw.anchor(i)) Anchors.Add(new PopefAnchor(anchor));
        }

        private static List<KeyValuePair<string, string>> Options(RawPopefMetadata raw, int list)
        {
            var options = new List<KeyValuePair<string, string>>();
            for (long i = 0; i < raw.option_count(list); i++)
                options.Add(new KeyValuePair<string, string>(raw.option_name(list, i), raw.option_value(list, i)));
            return options;
        }

        private static List<uint> Flow(RawPopefMetadata raw, int flow)
        {
            var programs = new List<uint>();
            for (long i = 0; i < raw.flow_count(flow); i++) programs.Add((uint)raw.flow_program(flow, i));
            return programs;
        }

        internal void Fill(RawPopefMetadata raw)
        {
            FillFields(raw);
            foreach (var option in EngineOptions) raw.add_option(EngineOptionsList, option.Key, option.Value);
            foreach (var option in DeviceOptions) raw.add_option(DeviceOptionsList, option.Key, option.Value);
            SetFlow(raw, Load, LoadPrograms);
            SetFlow(raw, Main, MainPrograms);
            SetFlow(raw, Save, SavePrograms);
            foreach (var program in ProgramNames) raw.set_program(program.Key, program.Value);
            foreach (PopefAnchor anchor in Anchors) anchor.AddTo(raw);
        }

        private static void SetFlow(RawPopefMetadata raw, int flow, List<uint> programs)
        {
            long[] numbers = programs.Select(p => (long)p).ToArray();
            fixed (long* first = numbers) raw.set_flow(flow, first, numbers.Length);
        }

        // tests/lint/popef_fields.py generates these from core/popef/metadata.toml.
        // <popef:fields>
        private const int ReplicationFactorField = 1;
        private const int NumIpusField = 2;
        private const int IpuVersionField = 3;
        private const int IsPodField = 4;
        private const int NumProcessesField = 5;
        private const int IsInferenceField = 6;
        private const int DeviceIterationsField = 7;

        /// <summary>Name of the executable that the metadata describes. Since 0.1.</summary>
        public string Executable { get; set; } = "";

        /// <summary>Number of replicas that are compiled in. Default: 1. Since 0.1.</summary>
        public long ReplicationFactor { get; set; } = 1;

        /// <summary>Number of IPUs that all replicas use together. Default: 1. Since 0.1.</summary>
        public long NumIpus { get; set; } = 1;

        /// <summary>Version of the IPU that the executable was compiled for: 1, 2 or 21. Default: 2. Since
        /// 0.1.</summary>
        public long IpuVersion { get; set; } = 2;

        /// <summary>Whether the executable is for a POD. Default: false. Since 0.1.</summary>
        public bool IsPod { get; set; }

        /// <summary>Number of host processes that work together. Default: 1. Since 0.1.</summary>
        public long NumProcesses { get; set; } = 1;

        /// <summary>Whether the executable is for inference. Default: true. Since 0.1.</summary>
        public bool IsInference { get; set; } = true;

        /// <summary>Number of transfers of each stream in one run of the main programs. Default: 1. Since
        /// 0.1.</summary>
        public long DeviceIterations { get; set; } = 1;

        /// <summary>Handle of the stream of the random seed; empty if there is none. Since 0.1.</summary>
        public string SeedHandle { get; set; } = "";

        private void ReadFields(RawPopefMetadata raw)
        {
            Executable = raw.executable();
            ReplicationFactor = raw.field(ReplicationFactorField);
            NumIpus = raw.field(NumIpusField);
            IpuVersion = raw.field(IpuVersionField);
            IsPod = raw.field(IsPodField) != 0;
            NumProcesses = raw.field(NumProcessesField);
            IsInference = raw.field(IsInferenceField) != 0;
            DeviceIterations = raw.field(DeviceIterationsField);
            SeedHandle = raw.seed_handle();
        }

        private void FillFields(RawPopefMetadata raw)
        {
            raw.set_executable(Executable);
            raw.set_field(ReplicationFactorField, ReplicationFactor);
            raw.set_field(NumIpusField, NumIpus);
            raw.set_field(IpuVersionField, IpuVersion);
            raw.set_field(IsPodField, IsPod ? 1 : 0);
            raw.set_field(NumProcessesField, NumProcesses);
            raw.set_field(IsInferenceField, IsInference ? 1 : 0);
            raw.set_field(DeviceIterationsField, DeviceIterations);
            raw.set_seed_handle(SeedHandle);
        }
        // </popef:fields>

        /// <summary>Options for the engine that runs it.</summary>
        public List<KeyValuePair<string, string>> EngineOptions { get; } = new List<KeyValuePair<string, string>>();

        /// <summary>Options for choosing a device.</summary>
        public List<KeyValuePair<string, string>> DeviceOptions { get; } = new List<KeyValuePair<string, string>>();

        /// <summary>Programs to run once, before all others, in order.</summary>
        public List<uint> LoadPrograms { get; } = new List<uint>();

        /// <summary>Programs to run repeatedly, in order.</summary>
        public List<uint> MainPrograms { get; } = new List<uint>();

        /// <summary>Programs that return state to the host, in order.</summary>
        public List<uint> SavePrograms { get; } = new List<uint>();

        /// <summary>Readable names of programs, by index.</summary>
        public SortedDictionary<uint, string> ProgramNames { get; } = new SortedDictionary<uint, string>();

        /// <summary>Its host-visible tensors, in the order of the file.</summary>
        public List<PopefAnchor> Anchors { get; } = new List<PopefAnchor>();
    }
}
