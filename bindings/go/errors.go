package poprt

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"syscall"

	"poprt.example.org/bindings/go/internal/native"
)

// Code is the kind of an [Error]. A Code is also an error, so it can be tested:
//
//	if errors.Is(err, poprt.NotFound) { ... }
type Code int32

// The gRPC canonical codes. Treat others as Unknown.
const (
	Cancelled          Code = 1
	Unknown            Code = 2
	InvalidArgument    Code = 3
	DeadlineExceeded   Code = 4
	NotFound           Code = 5
	AlreadyExists      Code = 6
	PermissionDenied   Code = 7
	ResourceExhausted  Code = 8
	FailedPrecondition Code = 9
	Aborted            Code = 10
	OutOfRange         Code = 11
	Unimplemented      Code = 12
	Internal           Code = 13
	Unavailable        Code = 14
	DataLoss           Code = 15
)

// String returns the code's name, "not_found" for NotFound.
func (c Code) String() string { return native.Raw_error_code_name(int(c)) }

func (c Code) Error() string { return c.String() }

// Error is an error of the library. Message is one line.
type Error struct {
	Code    Code
	Message string
	PopEF   PopEFError // since 1.0
}

// PopEFError is the kind of a PopEF error, because the code does not distinguish a missing link from a newer file.
type PopEFError int32

const (
	NotPopEF            PopEFError = 0 // not an error of a PopEF function
	PopEFFileError      PopEFError = 1 // a file cannot be opened, read or written
	PopEFFormatError    PopEFError = 2 // bytes that violate the format
	PopEFVersionError   PopEFError = 3 // the file needs a newer library
	PopEFLinkError      PopEFError = 4 // a name is duplicated or missing
	PopEFInactiveWriter PopEFError = 5 // a writer that is closed, replaced or has failed
	PopEFSizeError      PopEFError = 6 // data with another size than declared
)

func (e *Error) Error() string { return "poprt: " + e.Message }

// Is reports whether the error has a [Code] or matches an error of the standard library: [context.Canceled],
// [context.DeadlineExceeded], [fs.ErrExist], [fs.ErrPermission], and [fs.ErrNotExist] if a file or folder is missing.
// If another name is missing, such as that of an input, the error only matches [NotFound].
func (e *Error) Is(target error) bool {
	if c, ok := target.(Code); ok {
		return c == e.Code
	}
	if target == fs.ErrNotExist && !e.missesFile() {
		return false
	}
	return target != nil && target == standard[e.Code]
}

var standard = map[Code]error{
	Cancelled:        context.Canceled,
	DeadlineExceeded: context.DeadlineExceeded,
	NotFound:         fs.ErrNotExist,
	AlreadyExists:    fs.ErrExist,
	PermissionDenied: fs.ErrPermission,
}

// missesFile reports whether a file or folder does not exist. Messages of the library about a failed system call
// contain ": " and the text of strerror, which differs from the text of [syscall.Errno] only in its case.
func (e *Error) missesFile() bool {
	if e.PopEF == PopEFFileError {
		return true
	}
	for _, number := range []syscall.Errno{syscall.ENOENT, syscall.ENOTDIR} {
		if strings.Contains(strings.ToLower(e.Message), ": "+number.Error()) {
			return true
		}
	}
	return strings.HasPrefix(e.Message, "external data file ")
}

// ErrClosed is returned by methods of a closed object.
var ErrClosed = errors.New("poprt: already closed")

func check(err uintptr) error {
	if err == 0 {
		return nil
	}
	code, popef, message := native.TakeError(err)
	return &Error{Code(code), spellOptions(message), PopEFError(popef)}
}

// <options:names> made from capi/option_fields.toml by tests/lint/option_fields.py --write

var spelled = strings.NewReplacer(
	"`after_pass`", "AfterPass",
	"`allow_links`", "AllowLinks",
	"`at_once`", "AtOnce",
	"`auto_reset`", "AutoReset",
	"`batch_axis`", "BatchAxis",
	"`batch_size`", "BatchSize",
	"`batch_size_timeout`", "BatchSizeTimeout",
	"`batch_size_timeout_ns`", "BatchSizeTimeout",
	"`batching_dim`", "BatchingDim",
	"`cache_path`", "CachePath",
	"`compile_batch_size`", "CompileBatchSize",
	"`convert_version`", "ConvertVersion",
	"`data_parallel_timeout`", "DataParallelTimeout",
	"`data_parallel_timeout_ns`", "DataParallelTimeout",
	"`deferred`", "Deferred",
	"`device`", "Device",
	"`device_wait_sleep`", "DeviceWaitSleep",
	"`device_wait_sleep_ns`", "DeviceWaitSleep",
	"`device_wait_timeout`", "DeviceWaitTimeout",
	"`device_wait_timeout_ns`", "DeviceWaitTimeout",
	"`dynamic_group`", "DynamicGroup",
	"`dynamic_input_name`", "DynamicInput",
	"`embed_source`", "EmbedSource",
	"`enable_engine_caching`", "EnableEngineCaching",
	"`exclusive`", "Exclusive",
	"`faults`", "Faults",
	"`flush_on_waiting_outputs`", "FlushOnWaitingOutputs",
	"`frozen_inputs`", "FrozenInputs",
	"`input_lengths`", "InputLengths",
	"`input_shape`", "InputShapes",
	"`input_shapes`", "InputShapes",
	"`is_batch_size_timeout_enabled`", "IsBatchSizeTimeoutEnabled",
	"`load`", "Load",
	"`max_padding`", "MaxPadding",
	"`max_shape_memory`", "MaxShapeMemory",
	"`max_shapes`", "MaxShapes",
	"`max_tensor_size`", "MaxTensorSize",
	"`max_valid_num`", "MaxValidNum",
	"`no_validate_io_params`", "NoValidateIOParams",
	"`no_verify`", "NoVerify",
	"`opaque_blobs`", "OpaqueBlobs",
	"`options`", "Options",
	"`outputs`", "Outputs",
	"`overlap_io`", "OverlapIO",
	"`passes`", "Passes",
	"`precision`", "Precision",
	"`predicate`", "UserAnchors",
	"`profile`", "Profile",
	"`progress`", "Progress",
	"`queue_depth`", "QueueDepth",
	"`replica_devices`", "ReplicaDevices",
	"`replication_factor`", "ReplicationFactor",
	"`request_tracepoints_buffer_size`", "RequestTracepointsBufferSize",
	"`rewrite_limit`", "RewriteLimit",
	"`ring_buffer_size_multiplier`", "RingBufferSizeMultiplier",
	"`shape_sets`", "ShapeSets",
	"`shapes`", "Shapes",
	"`shared_devices`", "SharedDevices",
	"`skip_passes`", "SkipPasses",
	"`stop_after`", "StopAfter",
	"`strict`", "Strict",
	"`telemetry`", "Telemetry",
	"`threads`", "Threads",
	"`timeout`", "Timeout",
	"`timeout_ns`", "Timeout",
	"`use_batching_dim`", "UseBatchingDim",
	"`use_replica`", "Replica",
	"`variable_weights`", "VariableWeights",
	"`verify`", "Verify",
	"`wait_sleep_ns`", "DeviceWaitSleep",
	"`wait_strategy`", "DeviceWaitTimeout",
	"`wait_timeout_ns`", "DeviceWaitTimeout",
	"`winograd`", "Winograd",
)

// </options:names>

// spellOptions replaces the library's name `batch_size` by BatchSize. An option that only exists by name keeps it.
func spellOptions(message string) string { return spelled.Replace(message) }

// refuse returns an error for a panic of package native: for a text that C would end at a zero character, and if there
// is no memory for the wrapper. Functions that pass texts of the caller or allocate memory there defer it.
func refuse(err *error) {
	switch found := recover().(type) {
	case nil:
	case native.BadText:
		*err = invalid("argument '" + found.Argument + "' contains the character \\0")
	case string:
		if found != native.OutOfMemory {
			panic(found)
		}
		*err = &Error{Code: ResourceExhausted, Message: "out of memory"}
	default:
		panic(found)
	}
}

func invalid(message string) error { return &Error{Code: InvalidArgument, Message: message} }
