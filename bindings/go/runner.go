package poprt

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"poprt.example.org/bindings/go/internal/native"
)

// RunnerOptions of [NewRunner]; the zero value, or nil, is the default.
type RunnerOptions struct {
	Threads    int     // compute threads; 0: POPRT_THREADS from the environment, or all CPUs
	Profile    bool    // time every instruction, see [Runner.Profile]
	Telemetry  bool    // publish, as POPRT_TELEMETRY=1 does; see [ReadTelemetry]; since 1.0
	Device     *Device // nil: any free one
	QueueDepth int     // places of the queue, further runs stand in a line; 0: the ring's size

	// With Dynamic, runs may have any size along BatchingDim: rows of several runs make one batch, which is padded
	// with zeros when PadTimeout is over. Otherwise a run has a whole number of compiled batches.
	Dynamic               bool
	BatchingDim           int
	PadTimeout            time.Duration // 0: 10 ms; negative: never
	RingBufferMultiplier  int           // rows in the queue: it times those of a step; 0: 2
	FlushOnWaitingOutputs bool          // pad only while somebody waits; turns tracing on

	Replicas    int           // copies of the model, each on its own device; 0: 1
	DeviceWait  time.Duration // how long to try when no device is free; 0: 1 s
	DeviceSleep time.Duration // between attempts; 0: 6 s
	AutoReset   bool          // reset the IPU after errors that allow it

	// Since 1.0:
	ReplicaDevices  map[int64]*Device // of replicas, from 0 on; others get any free one
	FrozenInputs    []Tensor          // Named values, copied, for inputs that runs then leave out
	NoValidateIO    bool              // ignore unknown names; inputs that are not given are zeros, such outputs dropped
	OverlapIO       bool              // copy inputs and outputs while a step computes, on threads of their own
	BatchesPerStep  int64             // 0: as the executable says
	TracepointsRoom int64             // runs that Tracepoints remembers; 0: 1000; negative: all
	BatchTimeouts   bool              // the next two hold
	BatchTimeout    time.Duration     // from a batch's first row until it is padded; 0: never
	StepTimeout     time.Duration     // from a step's first complete batch until it goes without the others; 0: never
	Faults          string            // device errors to inject, for tests; "": POPRT_INJECT_FAULTS
}

// Runner is an executable loaded on a device, for any number of goroutines.
type Runner struct {
	h               *handle[native.RawRunner]
	inputs, outputs []Anchor
	hasData         []bool // of inputs
}

// NewRunner takes a device and loads the executable. Errors: Unavailable (no free device), FailedPrecondition (the
// device is in use), InvalidArgument (options).
func NewRunner(executable *Executable, options *RunnerOptions) (*Runner, error) {
	return newRunner(executable, options, native.NewRawRunner)
}

// newRunner makes a runner of some kind.
func newRunner(executable *Executable, options *RunnerOptions,
	create func(native.RawExecutable, native.RawRunnerOptions, *uintptr) native.RawRunner) (*Runner, error) {
	if options == nil {
		options = &RunnerOptions{}
	}
	for _, n := range []int{options.Threads, options.QueueDepth, options.BatchingDim, options.RingBufferMultiplier,
		options.Replicas} {
		if n < math.MinInt32 || n > math.MaxInt32 {
			return nil, invalid(fmt.Sprintf("options are 32-bit numbers, given %d", n))
		}
	}
	if options.BatchingDim < 0 {
		return nil, invalid(fmt.Sprintf("BatchingDim is a dimension from 0, given %d", options.BatchingDim))
	}
	raw, err := executable.h.acquire()
	if err != nil {
		return nil, err
	}
	defer executable.h.release()
	o := native.NewRawRunnerOptions()
	defer native.DeleteRawRunnerOptions(o)
	o.SetThreads(options.Threads)
	o.SetQueue_depth(options.QueueDepth)
	if options.Profile {
		o.SetProfile(1)
	}
	if options.Telemetry {
		o.SetTelemetry(1)
	}
	native.Raw_set_batching(o, int64(options.PadTimeout), options.Dynamic, int64(options.BatchingDim),
		int64(options.RingBufferMultiplier), options.FlushOnWaitingOutputs)
	native.Raw_set_devices(o, int64(options.Replicas), int64(options.DeviceWait), int64(options.DeviceSleep),
		options.AutoReset)
	o.SetNo_validate_io_params(number(options.NoValidateIO))
	o.SetOverlap_io(number(options.OverlapIO))
	o.SetBatches_per_step(options.BatchesPerStep)
	o.SetRequest_tracepoints_buffer_size(options.TracepointsRoom)
	o.SetIs_batch_size_timeout_enabled(number(options.BatchTimeouts))
	o.SetBatch_size_timeout_ns(int64(options.BatchTimeout))
	o.SetData_parallel_timeout_ns(int64(options.StepTimeout))
	o.Set_faults(options.Faults)
	if options.Device != nil {
		device, err := options.Device.h.acquire()
		if err != nil {
			return nil, err
		}
		defer options.Device.h.release()
		o.Set_device(device)
	}
	for replica, device := range options.ReplicaDevices {
		raw, err := device.h.acquire()
		if err != nil {
			return nil, err
		}
		defer device.h.release()
		o.Add_replica_device(replica, raw)
	}
	for _, value := range options.FrozenInputs {
		o.Add_frozen_input(value.name, int64(uintptr(value.address)), value.bytes)
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

// Close gives the device back, after the runs that are in flight.
func (r *Runner) Close() error { return r.h.Close() }

// Inputs in the model's order.
func (r *Runner) Inputs() []Anchor { return r.inputs }

// InputHasData says whether that input comes with the executable: runs leave it out. Since 1.0.
func (r *Runner) InputHasData(index int) bool { return r.hasData[index] }

// Outputs in the model's order.
func (r *Runner) Outputs() []Anchor { return r.outputs }

// Stop ends the runner: runs that wait fail with Cancelled, so do later ones and the run on the device.
func (r *Runner) Stop() error {
	raw, err := r.h.acquire()
	if err != nil {
		return err
	}
	defer r.h.release()
	raw.Stop()
	return nil
}

// Profile is a JSON object with times of every instruction. FailedPrecondition unless RunnerOptions.Profile was set.
func (r *Runner) Profile() (string, error) {
	return r.text(func(raw native.RawRunner, failure *uintptr) uintptr { return raw.Profile(failure) })
}

// Statistics is a JSON object: counters, a latency histogram, and those of each replica.
func (r *Runner) Statistics() (string, error) {
	return r.text(func(raw native.RawRunner, failure *uintptr) uintptr {
		return uintptr(native.Raw_statistics(raw, failure))
	})
}

// Counters is what the runner has counted, all replicas together: Statistics as numbers. Since 1.0.
func (r *Runner) Counters() (RunnerCounters, error) { return r.ReplicaCounters(-1) }

// ReplicaCounters is what one replica has counted, from 0 to RunnerCounters.Replicas - 1; -1: all together. Errors:
// NotFound (no such replica), Unimplemented (of a pack runner). Since 1.0.
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

// Tracepoints is a JSON array of the last runs' stages. Empty without RunnerOptions.FlushOnWaitingOutputs.
func (r *Runner) Tracepoints() (string, error) {
	return r.text(func(raw native.RawRunner, failure *uintptr) uintptr {
		return uintptr(native.Raw_tracepoints(raw, failure))
	})
}

func (r *Runner) text(ask func(native.RawRunner, *uintptr) uintptr) (string, error) {
	raw, err := r.h.acquire()
	if err != nil {
		return "", err
	}
	defer r.h.release()
	var failure uintptr
	text := ask(raw, &failure)
	return native.TakeText(text), check(failure)
}

// Execute runs the model once; the outputs' slices are written when it returns. Slices are used where they are.
// Errors: NotFound (a name), InvalidArgument (missing, given twice, another type or size), Cancelled (stopped).
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

// Bind checks memory once for any number of runs. The binding keeps the slices alive; do not run it twice at the same
// time, because both runs would write the same memory.
func (r *Runner) Bind(inputs, outputs []Tensor) (*Binding, error) {
	b := &Binding{runner: r, inputs: len(inputs), outputs: len(outputs)}
	room := len(inputs) + len(outputs)
	table, keep, err := entries(make([]int64, 0, 3*room), make([]unsafe.Pointer, 0, room), "input", r.inputs, inputs)
	if err == nil {
		b.table, b.keep, err = entries(table, keep, "output", r.outputs, outputs)
	}
	if err != nil {
		return nil, err
	}
	b.pins.pin(b.keep)
	return b, nil
}

// Binding is memory for runs of one runner.
type Binding struct {
	runner          *Runner
	table           []int64 // index, address and bytes of each input, then of each output
	inputs, outputs int
	keep            []unsafe.Pointer // what makes the slices stay: memory on Go's heap does not move
	pins            pins
}

// directRuns is how many goroutines at a time run on threads of their own: more than that wait in the queue, where
// they cost no thread.
var directRuns = make(chan struct{}, 4)

// Execute runs the model once.
func (b *Binding) Execute() error {
	select {
	case directRuns <- struct{}{}:
		defer func() { <-directRuns }()
		return b.executeHere()
	default:
		c := b.Go(nil)
		<-c.over
		return c.Error
	}
}

func (b *Binding) executeHere() error {
	raw, err := b.runner.h.acquire()
	if err != nil {
		return err
	}
	failure := native.Raw_execute(raw, b.table, int64(b.inputs), int64(b.outputs))
	b.runner.h.release()
	runtime.KeepAlive(b)
	return check(failure)
}

// Call is a run that was submitted by [Runner.Go]. Error is set when it arrives on Done.
type Call struct {
	Binding *Binding
	Error   error
	Done    chan *Call    // the call arrives here when it is over
	over    chan struct{} // closed when it is over
	mutex   sync.Mutex
	request int64 // 0 when there is none (any more)
}

// Calls that were submitted and are not over, by the number that the library gives back. One goroutine takes them all.
var calls struct {
	sync.Mutex
	start sync.Once
	last  int64
	byID  map[int64]*Call
}

func (c *Call) register() int64 {
	calls.start.Do(func() {
		calls.byID = map[int64]*Call{}
		go takeCalls()
	})
	calls.Lock()
	defer calls.Unlock()
	calls.last++
	calls.byID[calls.last] = c
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
		c := unregister(native.Raw_next_done())
		c.mutex.Lock() // until the submission has returned
		request := c.request
		c.request = 0
		c.mutex.Unlock()
		failure := native.Raw_wait(request) // it is done
		runtime.KeepAlive(c.Binding)
		native.Raw_request_free(request)
		c.Binding.runner.h.release() // runs that are in flight keep a runner that was closed
		c.finish(check(failure))
	}
}

// Go submits a run and returns at once; runs are made in the order of submission. Those for which the queue has no place
// (RunnerOptions.QueueDepth) stand in a line without limit, so bound what you submit by waiting for results. The call
// arrives on done when the run is over, also when it could not be submitted; done must have room. A nil done is replaced
// by a new channel. Until then the binding's memory is in use.
func (b *Binding) Go(done chan *Call) *Call { return b.GoWithin(0, done) }

// GoWithin is Go for a run that fails with DeadlineExceeded unless it begins within the limit; 0: no limit.
func (b *Binding) GoWithin(limit time.Duration, done chan *Call) *Call {
	if done == nil {
		done = make(chan *Call, 1)
	} else if cap(done) == 0 {
		panic("poprt: the done channel is unbuffered")
	}
	c := &Call{Binding: b, Done: done, over: make(chan struct{})}
	raw, err := b.runner.h.acquire()
	if err != nil {
		c.finish(err)
		return c
	}
	id := c.register()
	var failure uintptr
	c.mutex.Lock()
	c.request = native.Raw_submit(raw, b.table, int64(b.inputs), int64(b.outputs), int64(limit), id, &failure)
	c.mutex.Unlock()
	if err := check(failure); err != nil {
		unregister(id)
		b.runner.h.release()
		c.finish(err)
	}
	return c
}

// Cancel ends a run that has not begun: its error is then Cancelled, and its memory is free. False when it has begun or
// is over.
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
	default: // whoever made the channel gave it too little room: nobody else waits for that
		go func() { c.Done <- c }()
	}
}

// Go checks the memory and submits a run: see [Binding.Go].
func (r *Runner) Go(inputs, outputs []Tensor, done chan *Call) *Call {
	b, err := r.Bind(inputs, outputs)
	if err != nil {
		if done == nil {
			done = make(chan *Call, 1)
		}
		c := &Call{Done: done, over: make(chan struct{})}
		c.finish(err)
		return c
	}
	return b.Go(done)
}

// ExecuteContext runs the model once. When the context ends first, a run that has not begun is cancelled, one that has is
// waited for, and the context's error is returned: the memory is free in any case.
func (b *Binding) ExecuteContext(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if ctx.Done() == nil {
		return b.Execute()
	}
	c := b.Go(nil)
	select {
	case <-c.over:
		return c.Error
	case <-ctx.Done():
		c.Cancel()
		<-c.over
		return ctx.Err()
	}
}
