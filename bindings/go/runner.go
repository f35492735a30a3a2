package poprt

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"

	"poprt.example.org/bindings/go/internal/native"
)

// RunnerOptions are the options of [NewRunner]; the zero value, or nil, is the default.
type RunnerOptions struct {
	// <options:runner> made from capi/option_fields.toml by tests/lint/option_fields.py --write
	// Compute threads. Results are bit-equal for any number. 0: POPRT_THREADS from the environment, or all CPUs. Since
	// 0.1.
	Threads int
	// Whether to measure the time of every instruction, which [Runner.Profile] returns. Runs are slower. Default:
	// false. Since 0.1.
	Profile bool
	// The device to run on. Nil: any free device. Since 0.1.
	Device *Device
	// How many requests per replica may be in the queue; see [Binding.Go]. 0: the size of the ring. Since 0.1.
	QueueDepth int
	// Whether to publish the runner's activity, as POPRT_TELEMETRY=1 does; see [ReadTelemetry]. Default: false. Since
	// 1.0.
	Telemetry bool
	// How long a batch that has some rows waits for more before it is padded with zeros. 0: it does not wait: it runs
	// as soon as the device is idle, and rows are gathered while the device is busy; negative: without limit. Since
	// 1.0.
	Timeout time.Duration
	// PadTimeout is Timeout by its older name: only one of them may be set. Since 0.1.
	PadTimeout time.Duration
	// Whether runs omit the checks of names and sizes. Then unknown names are ignored, missing inputs are zeros,
	// missing outputs are dropped, the size of the first binding determines the number of rows, and others may be
	// larger. Fused and conditional models need this. Since 1.0.
	NoValidateIOParams bool
	// NoValidateIO is NoValidateIOParams by its older name: only one of them may be set. Since 0.1.
	NoValidateIO bool
	// Whether requests may have any size along the batching dimension. A batch then contains rows of several requests,
	// and padding. The compiler proves that no row changes the results of another; if it cannot, the runner is refused
	// as a failed precondition, and the message names the node. Without it, a request has a whole number of compiled
	// batches. Default: false. Since 1.0.
	UseBatchingDim bool
	// Dynamic is UseBatchingDim by its older name: only one of them may be set. Since 0.1.
	Dynamic bool
	// The dimension along which requests may have any size. A value other than 0 is refused without UseBatchingDim.
	// Since 0.1.
	BatchingDim int
	// The ring has places for this number times the rows of a step; without a batching dimension a row is a batch. With
	// 2, the ring has at least 64 places. 0: 2. Since 1.0.
	RingBufferSizeMultiplier int
	// RingBufferMultiplier is RingBufferSizeMultiplier by its older name: only one of them may be set. Since 0.1.
	RingBufferMultiplier int
	// Whether the device is reset after an error that a reset repairs. Default: false. Since 0.1.
	AutoReset bool
	// Whether a batch is padded only while a caller waits for one of its requests or has given a callback for it.
	// Without a limit by the timeout, a batch is then padded at once. This also records tracepoints. Default: false.
	// Since 0.1.
	FlushOnWaitingOutputs bool
	// Whether the timeouts of batches and of steps are used. Default: false. Since 1.0.
	IsBatchSizeTimeoutEnabled bool
	// BatchTimeouts is IsBatchSizeTimeoutEnabled by its older name: only one of them may be set. Since 0.1.
	BatchTimeouts bool
	// How long a batch waits, from its first row until it is padded. With it, the default of timeout has no effect. 0:
	// never. Since 1.0.
	BatchSizeTimeout time.Duration
	// BatchTimeout is BatchSizeTimeout by its older name: only one of them may be set. Since 0.1.
	BatchTimeout time.Duration
	// How long a step waits, from its first complete batch until it runs without the missing batches. 0: never. Since
	// 1.0.
	DataParallelTimeout time.Duration
	// StepTimeout is DataParallelTimeout by its older name: only one of them may be set. Since 0.1.
	StepTimeout time.Duration
	// How many of the last requests [Runner.Tracepoints] reports. 0: 1000; negative: all. Since 1.0.
	RequestTracepointsBufferSize int64
	// TracepointsRoom is RequestTracepointsBufferSize by its older name: only one of them may be set. Since 0.1.
	TracepointsRoom int64
	// Number of copies of the model, each on a different device. 0: 1. Since 1.0.
	ReplicationFactor int
	// Replicas is ReplicationFactor by its older name: only one of them may be set. Since 0.1.
	Replicas int
	// Whether separate threads copy the inputs of the next step and the outputs of the last step while a step computes.
	// An executable that was compiled with num_io_tiles turns this on. Default: false. Since 0.1.
	OverlapIO bool
	// Number of batches in a step. Submitted requests wait, within the timeouts, until a step is full; whole batches of
	// a call that waits for its result do not. 0: the executable's number. Since 0.1.
	BatchesPerStep int64
	// Devices of the replicas, which are counted from 0. None given: any free devices. Since 0.1.
	ReplicaDevices map[int64]*Device
	// Constant values of inputs, which requests then leave out. The values are copied. Since 0.1.
	FrozenInputs []Tensor
	// How long to try again when no device is free. 0: 1 s; negative: without limit. Since 1.0.
	DeviceWaitTimeout time.Duration
	// DeviceWait is DeviceWaitTimeout by its older name: only one of them may be set. Since 0.1.
	DeviceWait time.Duration
	// How long to sleep between two attempts to acquire a device. 0: 6 s. Since 1.0.
	DeviceWaitSleep time.Duration
	// DeviceSleep is DeviceWaitSleep by its older name: only one of them may be set. Since 0.1.
	DeviceSleep time.Duration
	// Device errors to inject, for tests: "CLASS[:ACTION][@RUN][*COUNT][/REPLICA];...", see capi/ABI.md. "":
	// POPRT_INJECT_FAULTS from the environment. Since 1.0.
	Faults string
	// The arithmetic: "fast"; "faithful", which rounds as the chip does and gives NaN when a half overflows; or
	// "saturating", which differs from faithful in that an overflow gives the greatest half. With a seed, as in
	// "faithful:7", halves are rounded stochastically, and equal runs have equal results. The last two are slow and
	// need an executable that was compiled with the option numerics=faithful. "": "fast". Since 1.0.
	Numerics string
	// Which processes share the devices of the replicas: "0": none; "1": all processes of the user; an absolute path:
	// all processes that give the same folder. Two replicas never have the same device, even in different processes.
	// "": POPRT_SHARED_DEVICES from the environment, or none. Since 1.0.
	SharedDevices string
	// How the runner uses a PopEF file: "map" uses weights in the memory map of the file; "copy" copies them into
	// memory, so that later changes of the file have no effect. If a mapped file is truncated, the process receives
	// SIGBUS. "": "map". Since 1.0.
	Load string
	// Whether to check the checksums of the PopEF file, which reads all of it. If one differs, the runner is refused
	// with data_loss, and the message names the file and the blob. A file without checksums causes a warning. Default:
	// false. Since 1.0.
	Verify bool
	// How many shapes of a model whose shapes are compiled on demand are kept, without the one that was compiled ahead.
	// Beyond it, the least recently used shape is removed. 0: 16. Since 1.0.
	MaxShapes int
	// The precision of products with constant weights: "f32"; "bf16", which rounds both factors; "f16", which rounds
	// the weights of MatMul and Gemm, and both factors on CPUs with AVX512-FP16; or "auto", which is bf16 for weights
	// that bf16 represents, and f16 for those that are stored as f16. Weights are packed once and kept in the cache
	// folder: POPXL_CACHE_DIR or POPART_CACHE_DIR, else poprt in XDG_CACHE_HOME or ~/.cache. "": that of the
	// executable. Since 1.0.
	ExecutionPrecision string
	// The largest number of bytes of memory that the shapes which are compiled on demand may need for one run each,
	// with the inputs and outputs of a request, without the shape that was compiled ahead. A request whose shape needs
	// more is refused with invalid_argument, and the message contains the needed and the allowed bytes. To make room
	// for a shape, the least recently used ones are removed. 0: no limit; negative: half of the memory of the computer
	// or, if that is smaller, of the limit of the process's control group. Since 1.0.
	MaxShapeMemory int64
	// </options:runner>
}

// <options:runner_functions> made from capi/option_fields.toml by tests/lint/option_fields.py --write

// settled returns the options, each under its newest name, or an error for a value that is refused.
func (o RunnerOptions) settled() (RunnerOptions, error) {
	var err error
	check32(&err, "Threads", o.Threads)
	check32(&err, "QueueDepth", o.QueueDepth)
	o.Timeout = oneOf(&err, "Timeout", o.Timeout, "PadTimeout", o.PadTimeout)
	o.NoValidateIOParams = oneOf(&err, "NoValidateIOParams", o.NoValidateIOParams, "NoValidateIO", o.NoValidateIO)
	o.UseBatchingDim = oneOf(&err, "UseBatchingDim", o.UseBatchingDim, "Dynamic", o.Dynamic)
	check32(&err, "BatchingDim", o.BatchingDim)
	o.RingBufferSizeMultiplier = oneOf(&err, "RingBufferSizeMultiplier", o.RingBufferSizeMultiplier, "RingBufferMultiplier", o.RingBufferMultiplier)
	check32(&err, "RingBufferSizeMultiplier", o.RingBufferSizeMultiplier)
	o.IsBatchSizeTimeoutEnabled = oneOf(&err, "IsBatchSizeTimeoutEnabled", o.IsBatchSizeTimeoutEnabled, "BatchTimeouts", o.BatchTimeouts)
	o.BatchSizeTimeout = oneOf(&err, "BatchSizeTimeout", o.BatchSizeTimeout, "BatchTimeout", o.BatchTimeout)
	o.DataParallelTimeout = oneOf(&err, "DataParallelTimeout", o.DataParallelTimeout, "StepTimeout", o.StepTimeout)
	o.RequestTracepointsBufferSize = oneOf(&err, "RequestTracepointsBufferSize", o.RequestTracepointsBufferSize, "TracepointsRoom", o.TracepointsRoom)
	o.ReplicationFactor = oneOf(&err, "ReplicationFactor", o.ReplicationFactor, "Replicas", o.Replicas)
	check32(&err, "ReplicationFactor", o.ReplicationFactor)
	o.DeviceWaitTimeout = oneOf(&err, "DeviceWaitTimeout", o.DeviceWaitTimeout, "DeviceWait", o.DeviceWait)
	o.DeviceWaitSleep = oneOf(&err, "DeviceWaitSleep", o.DeviceWaitSleep, "DeviceSleep", o.DeviceSleep)
	check32(&err, "MaxShapes", o.MaxShapes)
	return o, err
}

func (o RunnerOptions) fill(raw native.RawRunnerOptions) {
	raw.SetThreads(o.Threads)
	raw.SetProfile(number(o.Profile))
	raw.SetQueue_depth(o.QueueDepth)
	raw.SetTelemetry(number(o.Telemetry))
	raw.SetTimeout_ns(int64(o.Timeout))
	raw.SetNo_validate_io_params(number(o.NoValidateIOParams))
	raw.SetUse_batching_dim(number(o.UseBatchingDim))
	raw.SetBatching_dim(uint(o.BatchingDim))
	raw.SetRing_buffer_size_multiplier(o.RingBufferSizeMultiplier)
	raw.SetAuto_reset(number(o.AutoReset))
	raw.SetFlush_on_waiting_outputs(number(o.FlushOnWaitingOutputs))
	raw.SetIs_batch_size_timeout_enabled(number(o.IsBatchSizeTimeoutEnabled))
	raw.SetBatch_size_timeout_ns(int64(o.BatchSizeTimeout))
	raw.SetData_parallel_timeout_ns(int64(o.DataParallelTimeout))
	raw.SetRequest_tracepoints_buffer_size(o.RequestTracepointsBufferSize)
	raw.SetReplication_factor(o.ReplicationFactor)
	raw.SetOverlap_io(number(o.OverlapIO))
	raw.SetBatches_per_step(o.BatchesPerStep)
	raw.SetDevice_wait_timeout_ns(int64(o.DeviceWaitTimeout))
	raw.SetDevice_wait_sleep_ns(int64(o.DeviceWaitSleep))
	raw.Set_faults(o.Faults)
	raw.Set_numerics(o.Numerics)
	raw.Set_shared_devices(o.SharedDevices)
	raw.Set_load(o.Load)
	raw.SetVerify(number(o.Verify))
	raw.SetMax_shapes(o.MaxShapes)
	raw.Set_execution_precision(o.ExecutionPrecision)
	raw.SetMax_shape_memory(o.MaxShapeMemory)
}

// </options:runner_functions>

// Runner is an executable loaded on a device, for any number of goroutines.
type Runner struct {
	h               *handle[native.RawRunner]
	inputs, outputs []Anchor
	hasData         []bool // for each input
}

// NewRunner acquires a device and loads the executable. Errors: Unavailable (no free device), NotFound (no such replica,
// input or suitable device), FailedPrecondition (the device is in use, a kernel is missing, or the options do not suit
// the executable), InvalidArgument (options), DataLoss (a damaged file, with RunnerOptions.Verify),
// PermissionDenied (the folder of SharedDevices), ResourceExhausted (memory, threads).
func NewRunner(executable *Executable, options *RunnerOptions) (*Runner, error) {
	return newRunner(executable, options, native.NewRawRunner)
}

// newRunner creates a runner of any kind.
func newRunner(executable *Executable, options *RunnerOptions,
	create func(native.RawExecutable, native.RawRunnerOptions, *uintptr) native.RawRunner) (_ *Runner, refused error) {
	defer refuse(&refused)
	if options == nil {
		options = &RunnerOptions{}
	}
	settled, err := options.settled()
	if err != nil {
		return nil, err
	}
	options = &settled
	if options.BatchingDim < 0 {
		return nil, invalid(fmt.Sprintf("BatchingDim is a dimension from 0, given %d", options.BatchingDim))
	}
	raw, err := executable.acquire()
	if err != nil {
		return nil, err
	}
	defer executable.h.release()
	o := native.NewRawRunnerOptions()
	defer native.DeleteRawRunnerOptions(o)
	options.fill(o)
	if options.Device != nil {
		device, err := options.Device.h.acquire()
		if err != nil {
			return nil, err
		}
		defer options.Device.h.release()
		o.Set_device(device)
	}
	for replica, device := range options.ReplicaDevices {
		if device == nil {
			return nil, invalid(fmt.Sprintf("ReplicaDevices: the device of replica %d is nil", replica))
		}
		raw, err := device.h.acquire()
		if err != nil {
			return nil, err
		}
		defer device.h.release()
		o.Add_replica_device(replica, raw)
	}
	for _, value := range options.FrozenInputs {
		i := value.find(executable.inputs)
		if i == len(executable.inputs) {
			return nil, &Error{Code: NotFound, Message: unknown("input", value, executable.inputs)}
		}
		if err := value.checkWhole("frozen input", &executable.inputs[i]); err != nil {
			return nil, err
		}
		o.Add_frozen_input(executable.inputs[i].Name, int64(uintptr(value.address)), value.bytes)
	}
	defer runtime.KeepAlive(options.FrozenInputs)
	var failure uintptr
	runner := create(raw, o, &failure)
	if err := check(failure); err != nil {
		return nil, err
	}
	r := &Runner{h: newHandle(runner, native.DeleteRawRunner), inputs: anchors(runner.Input_count(), runner.Input_anchor),
		outputs: anchors(runner.Output_count(), runner.Output_anchor)}
	for i := range r.inputs {
		r.hasData = append(r.hasData, runner.Input_has_data(int64(i)))
	}
	return r, nil
}

func number(on bool) int {
	if on {
		return 1
	}
	return 0
}

// WarmUpShapes is [Runner.WarmUp] for each of the sets, which contain the shapes of inputs by name. Since 1.0.
func (r *Runner) WarmUpShapes(sets ...map[string][]int64) error {
	if err := r.h.hold(); err != nil {
		return err
	}
	defer r.h.release()
	for _, set := range sets {
		var lines []string
		for name, shape := range set {
			sizes := make([]string, len(shape))
			for i, size := range shape {
				sizes[i] = strconv.FormatInt(size, 10)
			}
			text := strings.Join(sizes, ",")
			if len(sizes) == 0 {
				text = "[]"
			}
			lines = append(lines, name+"="+text)
		}
		if err := r.WarmUp(strings.Join(lines, "\n")); err != nil {
			return err
		}
	}
	return nil
}

// Close releases the device when the submitted runs are complete, also those that wait for others to fill their batch.
func (r *Runner) Close() error {
	if raw, err := r.h.acquire(); err == nil {
		raw.Drain()
		r.h.release()
	}
	return r.h.Close()
}

// String describes the model.
func (r *Runner) String() string { return "runner: " + described(r.inputs, r.outputs) }

// Inputs returns the inputs in the model's order.
func (r *Runner) Inputs() []Anchor { return r.inputs }

// InputHasData reports whether the executable contains that input or the input is frozen, so that runs omit it.
// Since 1.0.
func (r *Runner) InputHasData(index int) bool { return r.hasData[index] }

// Outputs returns the outputs in the model's order.
func (r *Runner) Outputs() []Anchor { return r.outputs }

// <functions:runner> made from capi/functions.toml by tests/lint/functions.py --write

// InputIndex is the position of the input with a name, for bindings by position. Errors: NotFound (no input of requests
// has the name; the message lists the names). Since 1.0.
func (r *Runner) InputIndex(name string) (int, error) {
	return resultOf(r.h, func(raw native.RawRunner, failure *uintptr) int { return int(raw.Input_index(name, failure)) })
}

// OutputIndex is the position of the output with a name, for bindings by position. Errors: NotFound (no output has the
// name; the message lists the names). Since 1.0.
func (r *Runner) OutputIndex(name string) (int, error) {
	return resultOf(r.h, func(raw native.RawRunner, failure *uintptr) int { return int(raw.Output_index(name, failure)) })
}

// Statistics is a JSON object with the counters and latencies of the runner and of each replica, since the runner was
// created. Since 0.1.
func (r *Runner) Statistics() (string, error) { return textOf(r.h, native.RawRunner.Statistics) }

// Tracepoints is a JSON array of the times at which each of the last requests was submitted, began, computed and ended.
// The array is empty without the option `flush_on_waiting_outputs`. Since 0.1.
func (r *Runner) Tracepoints() (string, error) { return textOf(r.h, native.RawRunner.Tracepoints) }

// Profile is a JSON object with the times of every instruction on the first device of replica 0 since the model was
// last loaded on it: when the runner was created, or by `auto_reset` after an error. Errors: FailedPrecondition (the
// runner was created without the option `profile`); Unimplemented (this kind of runner has no profile). Since 0.1.
func (r *Runner) Profile() (string, error) { return textOf(r.h, native.RawRunner.Profile) }

// WarmUp compiles shapes of a model whose shapes are compiled on demand, and waits until they are ready. Errors:
// InvalidArgument (the text is ill-formed, or a shape contradicts the model); Unimplemented (the shapes of the runner
// are fixed); FailedPrecondition (there is no compiler library). Since 1.0.
func (r *Runner) WarmUp(shapes string) error {
	return callOf(r.h, func(raw native.RawRunner) uintptr { return raw.Warm_up(shapes) })
}

// OpenDimensions is a JSON object with the dimensions of all inputs and outputs, which states the sizes that requests
// decide. Since 1.0.
func (r *Runner) OpenDimensions() (string, error) {
	return textOf(r.h, native.RawRunner.Open_dimensions)
}

// Stop ends the runner. Waiting requests are cancelled, and the request on the device ends early with cancelled. Later
// requests fail with cancelled. Since 0.1.
func (r *Runner) Stop() error { return callVoidOf(r.h, native.RawRunner.Stop) }

// Drain lets incomplete batches run at once from now on: requests do not wait for others that would fill their batch.
// Nothing changes for a runner that packs sequences, whose requests wait at most its timeout. Since 1.0.
func (r *Runner) Drain() error { return callVoidOf(r.h, native.RawRunner.Drain) }

// </functions:runner>

// Counters returns the counters of all replicas: Statistics as numbers. Since 1.0.
func (r *Runner) Counters() (RunnerCounters, error) { return r.ReplicaCounters(-1) }

// ReplicaCounters returns the counters of one replica, from 0 to RunnerCounters.Replicas - 1; -1: all together. Errors:
// NotFound (no such replica), Unimplemented (a replica of a pack runner), InvalidArgument (a number below -1).
// Since 1.0.
func (r *Runner) ReplicaCounters(replica int) (RunnerCounters, error) {
	raw, err := r.h.acquire()
	if err != nil {
		return RunnerCounters{}, err
	}
	defer r.h.release()
	var failure uintptr
	counters := raw.Counters(int64(replica), &failure)
	if err := check(failure); err != nil {
		return RunnerCounters{}, err
	}
	defer native.DeleteRawCounters(counters)
	return takeCounters(counters), nil
}

// Execute runs the model once. The outputs' slices are written when it returns. Slices are used in place. Errors:
// NotFound (no anchor has the name or index), InvalidArgument (a tensor that is missing, given twice, or of another
// type, size or, of [Shaped], shape), Cancelled (stopped), and those of the device: Aborted, Unavailable, Internal,
// Unknown, FailedPrecondition.
func (r *Runner) Execute(inputs, outputs []Tensor) error {
	b, err := r.Bind(inputs, outputs)
	if err != nil {
		return err
	}
	return b.Execute()
}

// ExecuteContext is Execute with a context. See [Binding.ExecuteContext].
func (r *Runner) ExecuteContext(ctx context.Context, inputs, outputs []Tensor) error {
	b, err := r.Bind(inputs, outputs)
	if err != nil {
		return err
	}
	return b.ExecuteContext(ctx)
}

// Bind checks names and types once for any number of runs; each run compares sizes and shapes. The binding keeps the
// slices alive. Do not run it twice at the same time, because both runs would write the same memory. Errors: NotFound
// (no anchor has the name or index), InvalidArgument (another type).
func (r *Runner) Bind(inputs, outputs []Tensor) (*Binding, error) {
	if r.h == nil { // it was never created and has no anchors
		return nil, ErrClosed
	}
	b := &Binding{runner: r, inputs: len(inputs), outputs: len(outputs)}
	room := len(inputs) + len(outputs)
	table, keep, err := entries(make([]int64, 0, 8*room), make([]unsafe.Pointer, 0, room), "input", r.inputs, inputs)
	if err == nil {
		b.table, b.keep, err = entries(table, keep, "output", r.outputs, outputs)
	}
	if err != nil {
		return nil, err
	}
	b.pins.pin(b.keep)
	return b, nil
}

// RequestOptions are the options of a submission; the zero value is the default. See [Binding.GoWith], and
// [Binding.Replica].
type RequestOptions struct {
	// <options:request> made from capi/option_fields.toml by tests/lint/option_fields.py --write
	// How long the request may wait, counted from the call. A request that has not begun by then fails with
	// deadline_exceeded. 0: without limit. Since 1.0.
	Timeout time.Duration
	// Whether whole batches run at once, even if the step of batches_per_step batches is not full. Batches of a call
	// that waits for its result always do. Default: false. Since 1.0.
	AtOnce bool
	// </options:request>
}

// <options:request_functions> made from capi/option_fields.toml by tests/lint/option_fields.py --write

// settled returns the options, each under its newest name, or an error for a value that is refused.
func (o RequestOptions) settled() (RequestOptions, error) {
	var err error
	return o, err
}

func (o RequestOptions) fill(raw native.RawRequestOptions) {
	raw.SetTimeout_ns(int64(o.Timeout))
	raw.SetAt_once(number(o.AtOnce))
}

// </options:request_functions>

// Binding is memory for runs of one runner.
type Binding struct {
	runner          *Runner
	table           []int64 // the numbers of each input, then of each output, in the format of entries()
	inputs, outputs int
	keep            []unsafe.Pointer // keeps the slices alive: memory on Go's heap does not move
	pins            pins
	onReplica       bool
	replica         int
}

// Replica sets the replica, counted from 0, whose state (caches) runs use, and returns b. If the runner does not have
// the replica, runs fail with NotFound. By default, any replica computes a run. Since 1.0.
func (b *Binding) Replica(replica int) *Binding {
	b.onReplica, b.replica = true, replica
	return b
}

// rawReplica returns the replica for the raw layer; -1 means any.
func (b *Binding) rawReplica() int64 {
	if !b.onReplica {
		return -1
	}
	if b.replica < 0 {
		return math.MaxUint32 // an invalid replica
	}
	return int64(b.replica)
}

// directRuns limits the number of goroutines that run on their own threads, for all runners together. Others wait in
// the queue without a thread.
var directRuns = make(chan struct{}, 4)

// Execute runs the model once. Errors: as [Runner.Execute].
func (b *Binding) Execute() error {
	if b.onReplica {
		return b.executeQueued()
	}
	select {
	case directRuns <- struct{}{}:
		defer func() { <-directRuns }()
		return b.executeHere()
	default:
		return b.executeQueued()
	}
}

// waiting are the options of a call that waits for its result: its batch does not wait for those of other calls.
var waiting = RequestOptions{AtOnce: true}

func (b *Binding) executeQueued() error {
	c := b.GoWith(waiting, nil)
	<-c.over
	return c.Error
}

func (b *Binding) executeHere() (refused error) {
	defer refuse(&refused)
	raw, err := b.runner.h.acquire()
	if err != nil {
		return err
	}
	defer b.runner.h.release()
	failure := native.Raw_execute(raw, b.table, int64(b.inputs), int64(b.outputs))
	runtime.KeepAlive(b)
	return check(failure)
}

// Call is a run submitted by [Runner.Go] or [Binding.Go]. Error is set when the call arrives on Done.
type Call struct {
	Binding *Binding
	Error   error
	Done    chan *Call // the call arrives here when it is complete
	runner  *Runner
	over    chan struct{} // closed when it is complete
	mutex   sync.Mutex
	request int64 // 0 if there is none
}

// Running calls, and channels of sequences, by the number that the library returns. One goroutine completes all calls
// and reports the progress of all sequences.
var calls struct {
	sync.Mutex
	start    sync.Once
	last     int64
	byID     map[int64]*Call
	progress map[int64]chan struct{}
}

// register returns the number of a call.
func (c *Call) register() int64 {
	return newNumber(func(id int64) { calls.byID[id] = c })
}

func newNumber(add func(id int64)) int64 {
	calls.start.Do(func() {
		calls.byID = map[int64]*Call{}
		calls.progress = map[int64]chan struct{}{}
		go takeCalls()
	})
	calls.Lock()
	defer calls.Unlock()
	calls.last++
	add(calls.last)
	return calls.last
}

func unregister(id int64) *Call {
	calls.Lock()
	defer calls.Unlock()
	c := calls.byID[id]
	delete(calls.byID, id)
	return c
}

func takeCalls() {
	for {
		id := native.Raw_next_done()
		if c := unregister(id); c != nil {
			c.complete()
		} else {
			report(id)
		}
	}
}

func (c *Call) complete() {
	c.mutex.Lock() // until the submission has returned
	request := c.request
	c.request = 0
	c.mutex.Unlock()
	failure := native.Raw_wait(request) // it is done
	runtime.KeepAlive(c.Binding)
	native.Raw_request_free(request)
	c.runner.h.release() // runs in flight keep a closed runner alive
	c.finish(check(failure))
}

// Go submits a run and returns immediately. Runs of one replica begin in the order of submission, except that those of
// whole steps do not wait for an incomplete batch. Runs beyond the queue (RunnerOptions.QueueDepth) wait in a list
// without limit, so wait for results to limit their number. The call arrives on done when the run is complete, or at
// once if it could not be submitted; until then, the binding's memory is in use. done must have capacity. A nil done is
// replaced by a new channel.
func (b *Binding) Go(done chan *Call) *Call { return b.GoWithin(0, done) }

// GoWithin is Go with a limit: the run fails with DeadlineExceeded if it has not begun within the limit; 0: no limit.
func (b *Binding) GoWithin(limit time.Duration, done chan *Call) *Call {
	return b.GoWith(RequestOptions{Timeout: limit}, done)
}

// GoWith is Go with options. Since 1.0.
func (b *Binding) GoWith(options RequestOptions, done chan *Call) *Call {
	c := newCall(b.runner, done)
	c.Binding = b
	options, err := options.settled()
	if err != nil {
		c.finish(err)
		return c
	}
	c.submit(func(raw native.RawRunner, id int64, failure *uintptr) int64 {
		var given int64 // the defaults
		if options != (RequestOptions{}) {
			o := native.NewRawRequestOptions()
			defer native.DeleteRawRequestOptions(o)
			options.fill(o)
			given = int64(o.Swigcptr())
		}
		return native.Raw_submit(raw, b.table, int64(b.inputs), int64(b.outputs), given, b.rawReplica(), id, failure)
	})
	return c
}

func newCall(r *Runner, done chan *Call) *Call {
	if done == nil {
		done = make(chan *Call, 1)
	} else if cap(done) == 0 {
		panic("poprt: the done channel is unbuffered")
	}
	return &Call{runner: r, Done: done, over: make(chan struct{})}
}

// submit makes the request. Without one, the call is complete immediately.
func (c *Call) submit(call func(raw native.RawRunner, id int64, failure *uintptr) int64) {
	raw, err := c.runner.h.acquire()
	if err != nil {
		c.finish(err)
		return
	}
	id := c.register()
	if err := c.begin(call, raw, id); err != nil {
		unregister(id)
		c.runner.h.release()
		c.finish(err)
	}
}

func (c *Call) begin(call func(raw native.RawRunner, id int64, failure *uintptr) int64, raw native.RawRunner, id int64) (refused error) {
	defer refuse(&refused)
	var failure uintptr
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.request = call(raw, id, &failure)
	return check(failure)
}

// Cancel ends a run that has not begun, and returns true: the error of the run is Cancelled, and its memory is free.
// Cancel returns false if the run has begun or is complete.
func (c *Call) Cancel() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.request != 0 && native.Raw_cancel(c.request)
}

func (c *Call) finish(err error) {
	c.Error = err
	close(c.over)
	select {
	case c.Done <- c:
	default: // the channel is full: other calls do not wait until it has space
		go func() { c.Done <- c }()
	}
}

// Go checks the memory and submits a run: see [Binding.Go].
func (r *Runner) Go(inputs, outputs []Tensor, done chan *Call) *Call {
	b, err := r.Bind(inputs, outputs)
	if err != nil {
		c := newCall(r, done)
		c.finish(err)
		return c
	}
	return b.Go(done)
}

// ExecuteContext runs the model once. If the context ends first, a run that has not begun is cancelled, a run that has
// begun is awaited, and the context's error is returned. The memory is free in both cases.
func (b *Binding) ExecuteContext(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if ctx.Done() == nil {
		return b.Execute()
	}
	c := b.GoWith(waiting, nil)
	select {
	case <-c.over:
		return c.Error
	case <-ctx.Done():
		c.Cancel()
		<-c.over
		return ctx.Err()
	}
}
