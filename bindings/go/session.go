package poprt

import (
	"context"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"poprt.example.org/bindings/go/internal/native"
)

// InputHandler provides the data of one input of a session. Fetch waits for the next transfer and writes it to data,
// which is only valid during the call; [View] converts its type. An error ends the run, which returns it, and the run
// propagates a panic. Handlers are called on the goroutine that runs programs, except Interrupt and Invalidate, and
// must not call the session, except [Session.Stop].
//
// A handler may also be a [Prefetcher], [Completer] or [Interrupter].
type InputHandler interface {
	Fetch(data []byte) error
}

// OutputHandler receives the data of one output, like InputHandler.
type OutputHandler interface {
	Take(data []byte) error
}

// InputFunc is a function that is an InputHandler.
type InputFunc func(data []byte) error

// Fetch calls f.
func (f InputFunc) Fetch(data []byte) error { return f(data) }

// OutputFunc is a function that is an OutputHandler.
type OutputFunc func(data []byte) error

// Take calls f.
func (f OutputFunc) Take(data []byte) error { return f(data) }

// Prefetcher is an InputHandler that may provide the next transfer before it is needed.
type Prefetcher interface {
	// Prefetch writes the next transfer if it is available; repeated calls write the same one until Complete. Otherwise it
	// returns false, and Fetch will be called.
	Prefetch(data []byte) bool
	// Invalidate reports that the prefetched transfer is not used. It is called before the next transfer at the latest,
	// also on a goroutine that unloads the session or replaces the handler.
	Invalidate()
}

// Completer is a handler that is notified when a transfer was used and the next one begins.
type Completer interface {
	Complete()
}

// Interrupter is a handler that may wait. Interrupt makes a waiting transfer return an error. It may be called on any
// goroutine, such as the one that stops the session.
type Interrupter interface {
	Interrupt()
}

// View returns memory as a slice of elements, without a copy.
func View[T Element](data []byte) []T {
	if len(data) == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&data[0])), len(data)/int(unsafe.Sizeof(*new(T))))
}

// AnchorPredicate selects the anchors that handlers or queues serve. If it returns false, no queue is created for the
// anchor or, if a session is created, an input is zeros and an output is discarded. It is called once for each anchor
// while a session or its queues are created. programs are PopEF's indices.
type AnchorPredicate func(name string, output bool, programs []uint32) bool

// SessionOptions are the options of [NewSession]; the zero value, or nil, is the default.
type SessionOptions struct {
	// <options:session> made from capi/option_fields.toml by tests/lint/option_fields.py --write
	// Compute threads. Results are bit-equal for any number. 0: POPRT_THREADS from the environment, or all CPUs. Since
	// 0.1.
	Threads int
	// Whether to measure the time of every instruction, which [Session.Profile] returns. Runs are slower. Default:
	// false. Since 0.1.
	Profile bool
	// The device to run on. Nil: any free device that fits the executable. Since 0.1.
	Device *Device
	// Whether [Session.BindToDevice] or the first run acquires the device, instead of the creation of the session.
	// Default: false. Since 0.1.
	Deferred bool
	// Whether other sessions are refused the device. Otherwise the next session that binds the device unloads this one.
	// Default: false. Since 0.1.
	Exclusive bool
	// Whether to publish the session's activity, as POPRT_TELEMETRY=1 does; see [ReadTelemetry]. Default: false. Since
	// 0.1.
	Telemetry bool
	// How long to wait for a device when none is free. 0: fail at once. Since 1.0.
	DeviceWaitTimeout time.Duration
	// DeviceWait is DeviceWaitTimeout by its older name: only one of them may be set. Since 0.1.
	DeviceWait time.Duration
	// How long to sleep between two checks of devices that other processes use. 0: 15 s. Since 1.0.
	DeviceWaitSleep time.Duration
	// DeviceSleep is DeviceWaitSleep by its older name: only one of them may be set. Since 0.1.
	DeviceSleep time.Duration
	// A function that chooses the anchors that handlers or queues serve. Other inputs are zeros, other outputs are
	// dropped. Nil: the anchors without data that belong to a main program or to no program. Since 0.1.
	UserAnchors AnchorPredicate
	// </options:session>
}

// <options:session_functions> made from capi/option_fields.toml by tests/lint/option_fields.py --write

// settled returns the options, each under its newest name, or an error for a value that is refused.
func (o SessionOptions) settled() (SessionOptions, error) {
	var err error
	check32(&err, "Threads", o.Threads)
	o.DeviceWaitTimeout = oneOf(&err, "DeviceWaitTimeout", o.DeviceWaitTimeout, "DeviceWait", o.DeviceWait)
	o.DeviceWaitSleep = oneOf(&err, "DeviceWaitSleep", o.DeviceWaitSleep, "DeviceSleep", o.DeviceSleep)
	return o, err
}

func (o SessionOptions) fill(raw native.RawSessionOptions) {
	raw.Set_threads(o.Threads)
	raw.Set_profile(o.Profile)
	raw.Set_deferred(o.Deferred)
	raw.Set_exclusive(o.Exclusive)
	raw.Set_telemetry(o.Telemetry)
}

// </options:session_functions>

// Session is an executable on a device whose inputs and outputs use handlers or queues, and whose programs the caller
// runs. A [Runner] is simpler. Any goroutine may use a session. Runs, loading and changes of handlers wait for each
// other. A session that is not exclusive loses its device to the next one that binds it, and then fails with
// FailedPrecondition until Reload or BindToDevice.
type Session struct {
	h                       *handle[native.RawSession]
	userInputs, userOutputs []Anchor
	inputs                  []Anchor // of the executable, including those for which it has data

	targets  *native.Targets
	running  sync.Mutex // locked during a run, so that it receives the errors of its handlers
	changing sync.Mutex // protects the next two fields
	numbers  map[string]int64
	queues   *QueueManager

	outcome  sync.Mutex // protects the next two fields
	err      error
	panicked any
}

// NewSession acquires a device and loads the executable. Errors: Unavailable (no free device), NotFound (no suitable
// device exists), FailedPrecondition (another session uses the device exclusively, the device does not suit the
// executable, or a kernel is missing), InvalidArgument (options), ResourceExhausted.
func NewSession(executable *Executable, options *SessionOptions) (_ *Session, refused error) {
	defer refuse(&refused)
	if options == nil {
		options = &SessionOptions{}
	}
	settled, err := options.settled()
	if err != nil {
		return nil, err
	}
	options = &settled
	raw, err := executable.acquire()
	if err != nil {
		return nil, err
	}
	defer executable.h.release()
	o := native.NewRawSessionOptions()
	defer native.DeleteRawSessionOptions(o)
	options.fill(o)
	strategy := 0
	if options.DeviceWaitTimeout != 0 {
		strategy = 1
	}
	o.Set_wait(strategy, int64(options.DeviceWaitTimeout), int64(options.DeviceWaitSleep))
	if options.Device != nil {
		device, err := options.Device.h.acquire()
		if err != nil {
			return nil, err
		}
		defer options.Device.h.release()
		o.Set_device(device)
	}
	predicate := native.Predicate{Func: options.UserAnchors}
	if options.UserAnchors != nil {
		data, release := predicate.UserData()
		defer release()
		o.Set_predicate(native.AcceptsFn, data)
	}
	var failure uintptr
	session := native.NewRawSession(raw, o, &failure)
	if err := check(failure); err != nil {
		return nil, err
	}
	s := &Session{h: newHandle(session, native.DeleteRawSession), inputs: executable.inputs, targets: &native.Targets{}, numbers: map[string]int64{},
		userInputs:  anchors(session.User_input_count(), session.User_input_anchor),
		userOutputs: anchors(session.User_output_count(), session.User_output_anchor)}
	if predicate.Panic != nil {
		s.Close()
		panic(predicate.Panic)
	}
	return s, nil
}

// Close stops the session, so that a running program ends with Cancelled, and frees it. Waiting elements of its queues
// end with Cancelled.
func (s *Session) Close() error {
	s.Stop()
	return s.h.Close()
}

// UserInputs are the inputs that the caller must serve, in the model's order. A mask poprt.real.DIM of a model at
// several shapes is not one of them: the session fills it with ones, so that every place of the shape that poprt.bucket
// selects is real. A caller that pads its inputs sets a handler for it.
func (s *Session) UserInputs() []Anchor { return s.userInputs }

// UserOutputs are the outputs that the caller must serve, in the model's order.
func (s *Session) UserOutputs() []Anchor { return s.userOutputs }

// call calls the library while its callbacks find the handlers.
func (s *Session) call(what func(native.RawSession) uintptr) (refused error) {
	defer refuse(&refused)
	raw, err := s.h.acquire()
	if err != nil {
		return err
	}
	defer s.h.release()
	s.targets.Enter()
	defer s.targets.Leave()
	failure := what(raw)
	runtime.KeepAlive(s)
	return check(failure)
}

// run calls the library, and returns the errors of handlers.
func (s *Session) run(what func(native.RawSession) uintptr) error {
	s.running.Lock()
	defer s.running.Unlock()
	s.takeOutcome()
	err := s.call(what)
	failure, panicked := s.takeOutcome()
	if panicked != nil {
		panic(panicked)
	}
	if failure != nil {
		return failure
	}
	return err
}

func (s *Session) takeOutcome() (err error, panicked any) {
	s.outcome.Lock()
	defer s.outcome.Unlock()
	err, panicked = s.err, s.panicked
	s.err, s.panicked = nil, nil
	return err, panicked
}

// guard keeps the error or panic of a handler for the run and then returns false.
func (s *Session) guard(call func() error) (ok bool) {
	defer func() {
		if r := recover(); r != nil {
			s.keepOutcome(nil, r)
			ok = false
		}
	}()
	err := call()
	if err != nil {
		s.keepOutcome(err, nil)
	}
	return err == nil
}

func (s *Session) keepOutcome(err error, panicked any) {
	s.outcome.Lock()
	defer s.outcome.Unlock()
	if s.err == nil {
		s.err = err
	}
	if s.panicked == nil {
		s.panicked = panicked
	}
}

// BindToDevice loads the session on a device; nil is its current one, else that of the options, else a free one. It
// unloads the session that uses the device. Errors: as NewSession.
func (s *Session) BindToDevice(device *Device) error {
	if device == nil {
		return s.call(func(raw native.RawSession) uintptr { return raw.Bind_to_any_device() })
	}
	on, err := device.h.acquire()
	if err != nil {
		return err
	}
	defer device.h.release()
	return s.call(func(raw native.RawSession) uintptr { return raw.Bind_to_device(on) })
}

// Reload loads again: the state is the initial one, and the session is no longer stopped. Updated weights are kept.
// Errors: as NewSession.
func (s *Session) Reload() error {
	return s.call(func(raw native.RawSession) uintptr { return raw.Load_again() })
}

// UnloadFromDevice frees the device. Running programs end with Cancelled.
func (s *Session) UnloadFromDevice() error {
	return s.call(func(raw native.RawSession) uintptr {
		raw.Unload_from_device()
		return 0
	})
}

// Loaded reports whether the session is on a device. It is false before one was acquired, after unloading, if another
// session uses the device, and after Close.
func (s *Session) Loaded() bool {
	loaded := false
	s.call(func(raw native.RawSession) uintptr {
		loaded = raw.Is_loaded()
		return 0
	})
	return loaded
}

// Stop ends running programs soon with Cancelled, and later ones until Reload or BindToDevice. Handlers may call it.
func (s *Session) Stop() error {
	return s.call(func(raw native.RawSession) uintptr {
		raw.Stop()
		return 0
	})
}

// SetInputHandler sets the handler of an input; nil removes it. Errors: NotFound, FailedPrecondition (the metadata has
// no handle for the anchor).
func (s *Session) SetInputHandler(name string, handler InputHandler) error {
	if handler == nil {
		return s.set("in "+name, nil, func(raw native.RawSession, _ int64) uintptr {
			return raw.Set_input_handler(name, 0, 0, 0, 0, 0, 0)
		})
	}
	stream := &stream{session: s, transfer: handler.Fetch, handler: handler}
	stream.prefetcher, _ = handler.(Prefetcher)
	return s.set("in "+name, stream, func(raw native.RawSession, data int64) uintptr {
		var prefetch int64
		if stream.prefetcher != nil {
			prefetch = native.PrefetchFn
		}
		return raw.Set_input_handler(name, prefetch, native.FetchFn, native.CompleteFn, native.InvalidateFn,
			native.InterruptFn, data)
	})
}

// SetOutputHandler sets the handler of an output; nil removes it. Errors: as SetInputHandler.
func (s *Session) SetOutputHandler(name string, handler OutputHandler) error {
	if handler == nil {
		return s.set("out "+name, nil, func(raw native.RawSession, _ int64) uintptr {
			return raw.Set_output_handler(name, 0, 0, 0, 0)
		})
	}
	return s.set("out "+name, &stream{session: s, transfer: handler.Take, handler: handler},
		func(raw native.RawSession, data int64) uintptr {
			return raw.Set_output_handler(name, native.FetchFn, native.CompleteFn, native.InterruptFn, data)
		})
}

func (s *Session) set(key string, stream *stream, set func(native.RawSession, int64) uintptr) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	var data int64
	err := s.call(func(raw native.RawSession) uintptr {
		if stream != nil {
			data = s.targets.Add(stream)
		}
		return set(raw, data)
	})
	if err != nil {
		s.targets.Remove(data)
		return err
	}
	s.targets.Remove(s.numbers[key]) // C no longer refers to it
	s.numbers[key] = data
	return nil
}

// stream is a handler in the form that C calls.
type stream struct {
	session    *Session
	transfer   func([]byte) error
	handler    any
	prefetcher Prefetcher
	pending    bool // prefetched, not completed; used by the running goroutine
}

func (t *stream) Transfer(data []byte, prefetch bool) bool {
	if t.pending { // the end of the prefetched transfer was not reported, because no call of the session was running
		t.pending = false
		t.session.guard(func() error { t.prefetcher.Invalidate(); return nil })
	}
	if !prefetch {
		return t.session.guard(func() error { return t.transfer(data) })
	}
	there := false
	t.session.guard(func() error { there = t.prefetcher.Prefetch(data); return nil })
	t.pending = there
	return there
}

func (t *stream) Event(which native.Event) {
	t.session.guard(func() error {
		switch which {
		case native.Complete:
			t.pending = false
			if c, ok := t.handler.(Completer); ok {
				c.Complete()
			}
		case native.Invalidate:
			t.pending = false
			if t.prefetcher != nil {
				t.prefetcher.Invalidate()
			}
		case native.Interrupt:
			if i, ok := t.handler.(Interrupter); ok {
				i.Interrupt()
			}
		}
		return nil
	})
}

// RunLoadPrograms runs the load programs. Errors: those of handlers, Cancelled (stopped, or no data),
// FailedPrecondition (anchors are not connected, or the session is on no device).
func (s *Session) RunLoadPrograms() error {
	return s.run(func(raw native.RawSession) uintptr { return raw.Run_load_programs() })
}

// RunMainPrograms runs the main programs once; each stream is transferred once for each device iteration and replica of
// the executable. Errors: as RunLoadPrograms.
func (s *Session) RunMainPrograms() error {
	return s.run(func(raw native.RawSession) uintptr { return raw.Run_main_programs() })
}

// RunMainProgramsContext is RunMainPrograms with a context. If the context ends during the run, the session is stopped,
// and the context's error is returned. Reload or BindToDevice starts the session again.
func (s *Session) RunMainProgramsContext(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if ctx.Done() == nil {
		return s.RunMainPrograms()
	}
	over, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-ctx.Done():
			s.Stop()
		case <-over:
		}
	}()
	defer func() {
		close(over)
		<-watched
	}()
	err := s.RunMainPrograms()
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// RunSavePrograms runs the save programs. Errors: as RunLoadPrograms.
func (s *Session) RunSavePrograms() error {
	return s.run(func(raw native.RawSession) uintptr { return raw.Run_save_programs() })
}

// RunPrograms runs programs by PopEF's indices, in this order. Errors: NotFound, and as RunLoadPrograms.
func (s *Session) RunPrograms(indices ...int) error {
	values := make([]int64, len(indices)+1)
	for i, index := range indices {
		values[i] = int64(index)
	}
	return s.run(func(raw native.RawSession) uintptr { return raw.Run_programs(values, int64(len(indices))) })
}

// <functions:session> made from capi/functions.toml by tests/lint/functions.py --write

// VerifyConnected checks that every anchor that the user serves has a handler or a queue. Errors: FailedPrecondition
// (some have none; the message names them). Since 0.1.
func (s *Session) VerifyConnected() error { return s.call(native.RawSession.Verify_connected) }

// Profile is a JSON object with the times of every instruction since the session was last loaded on a device, in the
// format of the runner's profile. Errors: FailedPrecondition (the session was created without the option `profile`, or
// is on no device). Since 1.0.
func (s *Session) Profile() (string, error) { return s.text(native.RawSession.Profile) }

// </functions:session>

func (s *Session) text(what func(native.RawSession, *uintptr) uintptr) (text string, err error) {
	err = s.call(func(raw native.RawSession) (failure uintptr) {
		text = native.TakeText(what(raw, &failure))
		return failure
	})
	return text, err
}

// PopEFModel returns the blobs of the model; see [Executable.PopEFModel]. Since 1.0.
func (s *Session) PopEFModel() (*PopEFModel, error) {
	var made native.RawPopefModel
	err := s.call(func(raw native.RawSession) (failure uintptr) {
		made = raw.Popef_model(&failure)
		return failure
	})
	if err != nil {
		return nil, err
	}
	return newPopEFModel(made, nil)
}

// UpdateWeights replaces the value of an input that has data in the executable, by copy, for later runs. [Elements]
// makes a tensor of a slice. Errors: NotFound, InvalidArgument (the type, the size or, of [Shaped], the shape).
func (s *Session) UpdateWeights(name string, value Tensor) error {
	if err := s.checkWeights(name, value); err != nil {
		return err
	}
	defer runtime.KeepAlive(value.address)
	return s.call(func(raw native.RawSession) uintptr {
		return raw.Update_weights(name, int64(uintptr(value.address)), value.bytes)
	})
}

// ReadWeights copies the value of an input that has data in the executable into the slice of value. Errors: as
// UpdateWeights.
func (s *Session) ReadWeights(name string, value Tensor) error {
	if err := s.checkWeights(name, value); err != nil {
		return err
	}
	defer runtime.KeepAlive(value.address)
	return s.call(func(raw native.RawSession) uintptr {
		return raw.Read_weights(name, int64(uintptr(value.address)), value.bytes)
	})
}

// checkWeights checks type, size and shape of a weight. The library refuses inputs of the caller and unknown names.
func (s *Session) checkWeights(name string, value Tensor) error {
	for _, a := range s.userInputs {
		if a.Name == name {
			return nil
		}
	}
	return checkNamed(s.inputs, name, value)
}

// Elements returns a tensor that refers to a slice and to no anchor, for queues and weights.
func Elements[T Element](slice []T) Tensor { return At(0, slice) }

// ReadTelemetry returns a JSON array with an object for each session and runner, in any process, that publishes its
// activity. folder is the folder of the telemetry; "": POPRT_TELEMETRY_DIR, else $XDG_RUNTIME_DIR/poprt, else
// /dev/shm/poprt-UID. Errors: PermissionDenied and InvalidArgument for the default folder.
func ReadTelemetry(folder string) (_ string, refused error) {
	defer refuse(&refused)
	var failure uintptr
	text := native.Raw_telemetry_read(folder, &failure)
	return native.TakeText(text), check(failure)
}
