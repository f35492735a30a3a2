using System;
using System.Collections.Generic;
using System.Text.RegularExpressions;

namespace Poprt
{
    /// <summary>The kinds of errors: the codes of gRPC and Abseil.</summary>
    public enum ErrorCode
    {
        /// <summary>A run was cancelled, or its runner was stopped.</summary>
        Cancelled = 1,
        /// <summary>An unknown error of a device, or a code that this version of the classes does not know.</summary>
        Unknown = 2,
        /// <summary>An argument is wrong: a size, a shape, a type, an ill-formed model.</summary>
        InvalidArgument = 3,
        /// <summary>A time limit has passed.</summary>
        DeadlineExceeded = 4,
        /// <summary>A file, a name or a device does not exist.</summary>
        NotFound = 5,
        /// <summary>The object exists already.</summary>
        AlreadyExists = 6,
        /// <summary>A file may not be read or written.</summary>
        PermissionDenied = 7,
        /// <summary>There is not enough memory, disk space or threads.</summary>
        ResourceExhausted = 8,
        /// <summary>The state does not allow the call: another version, a device in use, profiling that is
        /// off.</summary>
        FailedPrecondition = 9,
        /// <summary>The operation was aborted, for example a run by an error of the program on the device.</summary>
        Aborted = 10,
        /// <summary>A number is out of its range.</summary>
        OutOfRange = 11,
        /// <summary>An operator, type, opset, option or operation that the library does not support.</summary>
        Unimplemented = 12,
        /// <summary>An error of the library, or one of a device that cannot be repaired.</summary>
        Internal = 13,
        /// <summary>All devices are busy, or a device must be reset; trying again later may help.</summary>
        Unavailable = 14,
        /// <summary>A file is damaged, or has another format.</summary>
        DataLoss = 15
    }

    /// <summary>The kind of PopEF error of a <see cref="PoprtException"/>.</summary>
    public enum PopefError
    {
        /// <summary>Not an error of a function for PopEF.</summary>
        None = 0,
        /// <summary>A file cannot be opened, read or written.</summary>
        File = 1,
        /// <summary>Bytes that violate the format.</summary>
        Format = 2,
        /// <summary>The file needs a newer library.</summary>
        Version = 3,
        /// <summary>A name is duplicated or missing.</summary>
        Link = 4,
        /// <summary>A writer that is closed, replaced or has failed.</summary>
        InactiveWriter = 5,
        /// <summary>Data with another size than declared.</summary>
        Size = 6
    }

    /// <summary>An error of the library: a code and a message of one line.</summary>
    public sealed class PoprtException : Exception
    {
        internal PoprtException(ErrorCode code, string message, PopefError popefError = PopefError.None)
            : base(SpellOptions(message))
        {
            Code = code;
            PopefError = popefError;
        }

        // <options:names> made from capi/option_fields.toml by tests/lint/option_fields.py --write
        private static readonly Dictionary<string, string> names = new Dictionary<string, string>
        {
            { "after_pass", "AfterPass" },
            { "allow_links", "AllowLinks" },
            { "at_once", "AtOnce" },
            { "auto_reset", "AutoReset" },
            { "batch_axis", "BatchAxis" },
            { "batch_size", "BatchSize" },
            { "batch_size_timeout", "BatchSizeTimeout" },
            { "batch_size_timeout_ns", "BatchSizeTimeout" },
            { "batching_dim", "BatchingDim" },
            { "cache_path", "CachePath" },
            { "compile_batch_size", "CompileBatchSize" },
            { "convert_version", "ConvertVersion" },
            { "data_parallel_timeout", "DataParallelTimeout" },
            { "data_parallel_timeout_ns", "DataParallelTimeout" },
            { "deferred", "Deferred" },
            { "device", "Device" },
            { "device_wait_sleep", "DeviceWaitSleep" },
            { "device_wait_sleep_ns", "DeviceWaitSleep" },
            { "device_wait_timeout", "DeviceWaitTimeout" },
            { "device_wait_timeout_ns", "DeviceWaitTimeout" },
            { "dynamic_group", "DynamicGroup" },
            { "dynamic_input_name", "DynamicInput" },
            { "embed_source", "EmbedSource" },
            { "enable_engine_caching", "EnableEngineCaching" },
            { "exclusive", "Exclusive" },
            { "faults", "Faults" },
            { "flush_on_waiting_outputs", "FlushOnWaitingOutputs" },
            { "frozen_inputs", "FrozenInput" },
            { "input_lengths", "InputLengths" },
            { "input_shape", "InputShapes" },
            { "input_shapes", "InputShapes" },
            { "is_batch_size_timeout_enabled", "IsBatchSizeTimeoutEnabled" },
            { "load", "Load" },
            { "max_padding", "MaxPadding" },
            { "max_shape_memory", "MaxShapeMemory" },
            { "max_shapes", "MaxShapes" },
            { "max_tensor_size", "MaxTensorSize" },
            { "max_valid_num", "MaxValidNum" },
            { "no_validate_io_params", "ValidateIoParams" },
            { "no_verify", "Verify" },
            { "not_thread_safe", "ThreadSafe" },
            { "opaque_blobs", "OpaqueBlobs" },
            { "options", "Options" },
            { "outputs", "Outputs" },
            { "overlap_io", "OverlapIo" },
            { "passes", "Passes" },
            { "precision", "Precision" },
            { "predicate", "UserAnchors" },
            { "profile", "Profile" },
            { "progress", "Progress" },
            { "queue_depth", "QueueDepth" },
            { "replica_devices", "ReplicaDevices" },
            { "replication_factor", "ReplicationFactor" },
            { "request_tracepoints_buffer_size", "RequestTracepointsBufferSize" },
            { "rewrite_limit", "RewriteLimit" },
            { "ring_buffer_size_multiplier", "RingBufferSizeMultiplier" },
            { "shape_sets", "ShapeSets" },
            { "shapes", "Shapes" },
            { "shared_devices", "SharedDevices" },
            { "skip_passes", "SkipPasses" },
            { "stop_after", "StopAfter" },
            { "strict", "Strict" },
            { "telemetry", "Telemetry" },
            { "threads", "Threads" },
            { "timeout", "Timeout" },
            { "timeout_ns", "Timeout" },
            { "use_batching_dim", "BatchingDim" },
            { "use_replica", "Replica" },
            { "variable_weights", "VariableWeights" },
            { "verify", "Verify" },
            { "wait_sleep_ns", "DeviceWaitSleep" },
            { "wait_strategy", "DeviceWaitTimeout" },
            { "wait_timeout_ns", "DeviceWaitTimeout" },
            { "winograd", "Winograd" },
        };
        // </options:names>

        /// <summary>Replaces names of options in the spelling of the library, such as `batch_size`, by those of C#,
        /// such as BatchSize. An option that only exists by name keeps it.</summary>
        private static string SpellOptions(string message)
        {
            return message == null || message.IndexOf('`') < 0 ? message : Regex.Replace(message, "`([a-z0-9_]+)`",
                option => names.TryGetValue(option.Groups[1].Value, out string name) ? name : option.Value);
        }

        /// <summary>The kind of error; Unknown for one of a newer library.</summary>
        public ErrorCode Code { get; }

        /// <summary>The kind of PopEF error, because the code does not distinguish a missing link from a newer file.
        /// Since 1.0.</summary>
        public PopefError PopefError { get; }

        internal static PopefError PopefErrorOf(int number)
        {
            return Enum.IsDefined(typeof(PopefError), number) ? (PopefError)number : PopefError.None;
        }

        internal static ErrorCode CodeOf(int number)
        {
            return Enum.IsDefined(typeof(ErrorCode), number) ? (ErrorCode)number : ErrorCode.Unknown;
        }
    }
}
