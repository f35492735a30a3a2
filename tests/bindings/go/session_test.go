package scenario

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	poprt "poprt.example.org/bindings/go"
)

func session(t testing.TB, e *poprt.Executable) *poprt.Session {
	t.Helper()
	s := must(poprt.NewSession(e, &poprt.SessionOptions{Threads: 1}))
	t.Cleanup(func() { s.Close() })
	return s
}

// numbers gives x = run, run + 1 ... and counts its calls.
type numbers struct {
	run, fetched, prefetched, invalidated int
	early                                 bool
}

func (n *numbers) fill(data []byte) {
	for i, x := 0, poprt.View[float32](data); i < len(x); i++ {
		x[i] = float32(n.run + i)
	}
}

func (n *numbers) Fetch(data []byte) error {
	n.fetched++
	n.fill(data)
	return nil
}

func (n *numbers) Prefetch(data []byte) bool {
	if n.early {
		n.prefetched++
		n.fill(data)
	}
	return n.early
}

func (n *numbers) Invalidate() { n.invalidated++ }
func (n *numbers) Complete()   { n.run++ }

// patient waits for data that never comes.
type patient struct{ waiting, interrupted chan struct{} }

func newPatient() *patient { return &patient{make(chan struct{}), make(chan struct{}, 8)} }

func (p *patient) Fetch([]byte) error {
	close(p.waiting)
	<-p.interrupted
	return io.EOF
}

func (p *patient) Interrupt() { p.interrupted <- struct{}{} }

// results are copies of the elements of an output.
type results [][]float32

func (r *results) Take(data []byte) error {
	*r = append(*r, append([]float32(nil), poprt.View[float32](data)...))
	return nil
}

func nothing([]byte) error { return nil }

func equal(t testing.TB, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func panics(t testing.TB, want any, call func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got := recover(); got != want {
			t.Fatalf("panicked with %v, want %v", got, want)
		}
	}()
	call()
}

func TestScenario34Session(t *testing.T) {
	s := session(t, affine(t))
	equal(t, s.Loaded(), true)
	equal(t, fmt.Sprint(s.UserInputs(), s.UserOutputs()), "[x f32 [2,4]] [y f32 [2,4]]")
	fails(t, s.VerifyConnected(), poprt.FailedPrecondition, "'x'", "'y'")
	fails(t, s.RunMainPrograms(), poprt.FailedPrecondition, "'x'", "'y'")
	n, r := &numbers{}, &results{}
	ok(t, s.SetInputHandler("x", n))
	ok(t, s.SetOutputHandler("y", r))
	ok(t, s.VerifyConnected())
	ok(t, s.RunLoadPrograms())
	ok(t, s.RunMainPrograms())
	n.early = true
	ok(t, s.RunMainPrograms())
	ok(t, s.RunMainPrograms())
	ok(t, s.RunPrograms(1))
	ok(t, s.RunSavePrograms())
	equal(t, len(*r), 4)
	for i, y := range *r {
		twicePlusOne(t, iota8(float32(i)), y)
	}
	equal(t, []int{n.fetched, n.prefetched, n.invalidated}, []int{2, 3, 0})
	ok(t, s.UnloadFromDevice())
	equal(t, n.invalidated, 1)
	equal(t, s.Loaded(), false)
	fails(t, s.RunMainPrograms(), poprt.FailedPrecondition, "on no device")
	ok(t, s.Reload())
	ok(t, s.RunMainPrograms())
	twicePlusOne(t, iota8(4), (*r)[4])
	fails(t, s.SetInputHandler("nope", n), poprt.NotFound, "'nope'", "'x'")
	fails(t, s.RunPrograms(1, 9), poprt.NotFound, "9")
	fails(t, s.RunPrograms(-1), poprt.NotFound)
	ok(t, s.SetInputHandler("x", nil))
	fails(t, s.RunMainPrograms(), poprt.FailedPrecondition, "'x'")
}

func TestScenario35NoDataAndPanics(t *testing.T) {
	s := session(t, affine(t))
	mine := errors.New("of the test")
	var answer error = io.EOF
	ok(t, s.SetInputHandler("x", poprt.InputFunc(func([]byte) error { return answer })))
	ok(t, s.SetOutputHandler("y", poprt.OutputFunc(nothing)))
	equal(t, s.RunMainPrograms(), io.EOF)
	answer = nil
	ok(t, s.RunMainPrograms())
	ok(t, s.SetInputHandler("x", poprt.InputFunc(func([]byte) error { panic(mine) })))
	panics(t, mine, func() { s.RunMainPrograms() })
	ok(t, s.SetInputHandler("x", poprt.InputFunc(nothing)))
	ok(t, s.SetOutputHandler("y", poprt.OutputFunc(func([]byte) error { panic(mine) })))
	panics(t, mine, func() { s.RunMainPrograms() })
	ok(t, s.SetOutputHandler("y", poprt.OutputFunc(func([]byte) error { return mine })))
	equal(t, s.RunMainPrograms(), mine)
	ok(t, s.SetOutputHandler("y", poprt.OutputFunc(nothing)))
	ok(t, s.RunMainPrograms())
}

func TestScenario36StopEndsARunThatWaits(t *testing.T) {
	s := session(t, affine(t))
	p := newPatient()
	ok(t, s.SetInputHandler("x", p))
	ok(t, s.SetOutputHandler("y", poprt.OutputFunc(nothing)))
	over := make(chan error)
	go func() { over <- s.RunMainPrograms() }()
	<-p.waiting
	ok(t, s.Stop())
	equal(t, <-over, io.EOF) // the error that the interrupted handler returns
	fails(t, s.RunMainPrograms(), poprt.Cancelled, "stopped")
	ok(t, s.Reload())
	// A context has the same effect.
	p = newPatient()
	ok(t, s.SetInputHandler("x", p))
	ctx, cancel := context.WithCancel(context.Background())
	go func() { over <- s.RunMainProgramsContext(ctx) }()
	<-p.waiting
	cancel()
	equal(t, <-over, context.Canceled)
	equal(t, s.RunMainProgramsContext(ctx), context.Canceled)
	ok(t, s.SetInputHandler("x", poprt.InputFunc(nothing)))
	ok(t, s.Reload())
	ctx, cancel = context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	ok(t, s.RunMainProgramsContext(ctx))
	// A handler may stop its session.
	ok(t, s.SetInputHandler("x", poprt.InputFunc(func([]byte) error { return s.Stop() })))
	err := s.RunMainPrograms()
	fails(t, err, poprt.Cancelled, "stopped")
	if !errors.Is(err, context.Canceled) {
		t.Fatal("expected context.Canceled")
	}
}

// sink counts the calls, and waits for an interruption if it is full.
type sink struct {
	waiting, interrupted chan struct{}
	full                 bool
	taken, completed     int
}

func (s *sink) Take([]byte) error {
	s.taken++
	if !s.full {
		return nil
	}
	close(s.waiting)
	<-s.interrupted
	return io.EOF
}

func (s *sink) Complete()  { s.completed++ }
func (s *sink) Interrupt() { close(s.interrupted) }

func TestScenario115EventsOfAnOutput(t *testing.T) {
	s := session(t, affine(t))
	out := &sink{waiting: make(chan struct{}), interrupted: make(chan struct{})}
	ok(t, s.SetInputHandler("x", poprt.InputFunc(nothing)))
	ok(t, s.SetOutputHandler("y", out))
	for i := 0; i < 3; i++ {
		ok(t, s.RunMainPrograms())
	}
	equal(t, []int{out.taken, out.completed}, []int{3, 3})
	out.full = true
	done := make(chan error)
	go func() { done <- s.RunMainPrograms() }()
	<-out.waiting
	s.Stop()
	equal(t, <-done, io.EOF) // the error of the handler
	equal(t, out.taken, 4)
}

func TestScenario37Predicates(t *testing.T) {
	var asked []string
	e := affine(t)
	s := must(poprt.NewSession(e, &poprt.SessionOptions{Threads: 1,
		UserAnchors: func(name string, output bool, programs []uint32) bool {
			asked = append(asked, fmt.Sprintf("%s %v %v", name, output, programs))
			return output
		}}))
	defer s.Close()
	equal(t, asked, []string{"x false [1]", "y true [1]"})
	equal(t, []int{len(s.UserInputs()), len(s.UserOutputs())}, []int{0, 1})
	r := &results{}
	ok(t, s.SetOutputHandler("y", r))
	ok(t, s.RunMainPrograms()) // zeros replace the rejected input
	equal(t, (*r)[0], []float32{1, 1, 1, 1, 1, 1, 1, 1})
	mine := errors.New("of the test")
	panics(t, mine, func() {
		poprt.NewSession(e, &poprt.SessionOptions{
			UserAnchors: func(string, bool, []uint32) bool { panic(mine) }})
	})
	s.Close()
	freeDevices(t)
}

func weights(t testing.TB) *poprt.Executable {
	return must(poprt.Compile(model("weights.onnx"), &poprt.CompileOptions{VariableWeights: true}))
}

func TestScenario38Weights(t *testing.T) {
	s := session(t, weights(t))
	r := &results{}
	ok(t, s.SetInputHandler("x", &numbers{}))
	ok(t, s.SetOutputHandler("y", r))
	ok(t, s.RunMainPrograms())
	equal(t, (*r)[0], []float32{1, 3, 7, 13, 5, 11, 19, 29})
	ok(t, s.UpdateWeights("w", poprt.Elements([]float32{5, 5, 5, 5})))
	ok(t, s.SetInputHandler("x", &numbers{}))
	ok(t, s.RunMainPrograms())
	equal(t, (*r)[1], []float32{1, 6, 11, 16, 21, 26, 31, 36})
	value := make([]float32, 4)
	ok(t, s.ReadWeights("w", poprt.Elements(value)))
	equal(t, value, []float32{5, 5, 5, 5})
	fails(t, s.UpdateWeights("x", poprt.Elements(value)), poprt.NotFound, "'x'", "'w'")
	fails(t, s.UpdateWeights("w", poprt.Elements(value[:3])), poprt.InvalidArgument, "16", "12")
	fails(t, s.ReadWeights("w", poprt.Elements(value[:3])), poprt.InvalidArgument, "16", "12")
}

func TestScenario39TheNextSessionTakesTheDevice(t *testing.T) {
	device := must(must(poprt.NewDeviceManager(0)).Device())
	defer device.Close()
	e := affine(t)
	options := poprt.SessionOptions{Threads: 1, Device: device}
	first := must(poprt.NewSession(e, &options))
	defer first.Close()
	n := &numbers{early: true}
	ok(t, first.SetInputHandler("x", n))
	ok(t, first.SetOutputHandler("y", poprt.OutputFunc(nothing)))
	ok(t, first.RunMainPrograms())
	options.Exclusive = true
	second := must(poprt.NewSession(e, &options))
	equal(t, []bool{first.Loaded(), second.Loaded()}, []bool{false, true})
	fails(t, first.BindToDevice(device), poprt.FailedPrecondition, "another session")
	ok(t, second.Close())
	ok(t, first.BindToDevice(device))
	equal(t, first.Loaded(), true)
	ok(t, first.RunMainPrograms())
	equal(t, n.invalidated, 1) // called before the next transfer
	ok(t, first.Close())
	deferred := must(poprt.NewSession(e, &poprt.SessionOptions{Threads: 1, Deferred: true}))
	defer deferred.Close()
	equal(t, deferred.Loaded(), false)
	ok(t, deferred.BindToDevice(nil))
	equal(t, deferred.Loaded(), true)
}

func TestScenario40ASessionIsClosed(t *testing.T) {
	freeDevices(t)
	s := session(t, affine(t))
	p := newPatient()
	ok(t, s.SetInputHandler("x", p))
	ok(t, s.SetOutputHandler("y", poprt.OutputFunc(nothing)))
	over := make(chan error)
	go func() { over <- s.RunMainPrograms() }()
	<-p.waiting
	ok(t, s.Close())
	ok(t, s.Close())
	equal(t, <-over, io.EOF)
	for _, err := range []error{s.RunMainPrograms(), s.Stop(), s.SetInputHandler("x", p), s.UpdateWeights("w", poprt.Tensor{})} {
		equal(t, err, poprt.ErrClosed)
	}
	_, err := s.NewQueueManager(nil)
	equal(t, err, poprt.ErrClosed)
	equal(t, s.UserInputs()[0].Name, "x")
	freeDevices(t)
}

func TestScenario41TelemetryOfASession(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("POPRT_TELEMETRY_DIR", folder)
	s := must(poprt.NewSession(affine(t), &poprt.SessionOptions{Threads: 1, Telemetry: true}))
	defer s.Close()
	ok(t, s.SetInputHandler("x", &numbers{}))
	ok(t, s.SetOutputHandler("y", poprt.OutputFunc(nothing)))
	ok(t, s.RunMainPrograms())
	for _, where := range []string{"", folder} {
		json := strings.ReplaceAll(must(poprt.ReadTelemetry(where)), " ", "")
		for _, part := range []string{fmt.Sprintf(`"pid":%d`, os.Getpid()), `"runs":1`} {
			if !strings.Contains(json, part) {
				t.Fatalf("expected %s in %s", part, json)
			}
		}
	}
	equal(t, must(poprt.ReadTelemetry(t.TempDir())), "[]")
}

func TestScenario50NoExplicitCloseOfSessions(t *testing.T) {
	t.Setenv("POPRT_DEVICES", "256")
	e := affine(t)
	if grows(t, func() { serve(t, e) }) {
		t.Fatal("memory grows")
	}
}

// serve has handlers that refer to their session, and leaves an element in a queue.
func serve(t *testing.T, e *poprt.Executable) {
	s, err := poprt.NewSession(e, &poprt.SessionOptions{Threads: 1})
	for attempt := 0; errors.Is(err, poprt.Unavailable) && attempt < 1000; attempt++ {
		runtime.GC() // finalizers give devices back
		runtime.Gosched()
		s, err = poprt.NewSession(e, &poprt.SessionOptions{Threads: 1})
	}
	ok(t, err)
	var y float32
	ok(t, s.SetInputHandler("x", poprt.InputFunc(func(data []byte) error {
		poprt.View[float32](data)[0] = 3
		equal(t, len(s.UserInputs()), 1)
		return nil
	})))
	ok(t, s.SetOutputHandler("y", poprt.OutputFunc(func(data []byte) error {
		y = poprt.View[float32](data)[0]
		equal(t, len(s.UserInputs()), 1)
		return nil
	})))
	ok(t, s.RunMainPrograms())
	equal(t, y, float32(7))
	queues := must(s.NewQueueManager(nil))
	in, out := must(queues.InputQueue("x")), must(queues.OutputQueue("y"))
	in.Enqueue(poprt.Elements(make([]float32, 8)), nil)
	out.Enqueue(poprt.Elements(make([]float32, 8)), nil)
	ok(t, s.RunMainPrograms())
	in.Enqueue(poprt.Elements(make([]float32, 8)), nil)
}

// nested runs another session while its own session waits for data.
type nested struct {
	numbers
	inner *poprt.Session
}

func (n *nested) Fetch(data []byte) error {
	if err := n.inner.RunMainPrograms(); err != nil {
		return err
	}
	return n.numbers.Fetch(data)
}

func TestHandlersOfTwoSessionsAreKeptApart(t *testing.T) {
	outer, inner := session(t, affine(t)), session(t, affine(t))
	var ofOuter, ofInner results
	ok(t, inner.SetInputHandler("x", &numbers{run: 100}))
	ok(t, inner.SetOutputHandler("y", &ofInner))
	ok(t, outer.SetInputHandler("x", &nested{inner: inner}))
	ok(t, outer.SetOutputHandler("y", &ofOuter))
	for run := 0; run < 2; run++ {
		ok(t, outer.RunMainPrograms())
		equal(t, []int{len(ofOuter), len(ofInner)}, []int{run + 1, run + 1})
		twicePlusOne(t, iota8(float32(run)), ofOuter[run])
		twicePlusOne(t, iota8(float32(100+run)), ofInner[run])
	}
}
