package scenario

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"testing"
	"time"

	poprt "poprt.example.org/bindings/go"
	"poprt.example.org/tests/bindings/go/exhausted"
)

// Mistakes of programs.

func TestPositionsThatThereAreNot(t *testing.T) {
	r := runner(t, affine(t))
	x, y := iota8(0), make([]float32, 8)
	for _, index := range []int{-1, 1} {
		fails(t, r.Execute([]poprt.Tensor{poprt.At(index, x)}, out(y)), poprt.NotFound,
			fmt.Sprintf("there is no input %d; inputs are: 'x'", index))
		fails(t, r.Execute(in(x), []poprt.Tensor{poprt.At(index, y)}), poprt.NotFound,
			fmt.Sprintf("there is no output %d; outputs are: 'y'", index))
	}
	fails(t, r.Execute([]poprt.Tensor{poprt.Named("", x)}, out(y)), poprt.NotFound, "there is no input ''")
}

func TestAnOutputThatThereIsNot(t *testing.T) {
	outputs, err := runner(t, affine(t)).Run(poprt.Shaped("x", iota8(0), 2, 4))
	if err != nil {
		t.Fatal(err)
	}
	_, err = poprt.Values[float32](outputs["z"])
	fails(t, err, poprt.InvalidArgument, "no output of the run has the name")
}

func TestWhatWasNeverMade(t *testing.T) {
	var r poprt.Runner
	var e poprt.Executable
	var s poprt.Session
	x, y := iota8(0), make([]float32, 8)
	closed := func(err error) {
		t.Helper()
		if !errors.Is(err, poprt.ErrClosed) {
			t.Fatal(err)
		}
	}
	closed(r.Execute(in(x), out(y)))
	closed((<-r.Go(in(x), out(y), nil).Done).Error)
	_, err := r.Counters()
	closed(err)
	_, err = poprt.NewRunner(&e, nil)
	closed(err)
	closed(s.RunMainPrograms())
	ok(t, r.Close())
	ok(t, e.Close())
	_, err = poprt.NewRunner(nil, nil)
	fails(t, err, poprt.InvalidArgument, "the executable is nil")
	_, err = poprt.NewSession(nil, nil)
	fails(t, err, poprt.InvalidArgument, "the executable is nil")
	_, err = poprt.FuseExecutables([]*poprt.Executable{nil})
	fails(t, err, poprt.InvalidArgument, "the executable is nil")
	_, err = poprt.NewPackRunner(nil, poprt.PackOptions{}, nil)
	fails(t, err, poprt.InvalidArgument, "the executable is nil")
}

func TestObjectsSayWhatTheyAre(t *testing.T) {
	e := affine(t)
	r := runner(t, e)
	const anchors = ": x f32 [2,4] -> y f32 [2,4]"
	equal(t, fmt.Sprint(e), "executable affine"+anchors)
	equal(t, fmt.Sprint(r), "runner"+anchors)
	ok(t, r.Close())
	ok(t, e.Close())
	equal(t, fmt.Sprint(r), "runner"+anchors)
}

func TestErrNotExistIsForFiles(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	_, noFile := poprt.Open(missing)
	_, noModel := poprt.Compile(missing+".onnx", nil)
	_, noPopEF := poprt.OpenPopEF(missing)
	for _, err := range []error{noFile, noModel, noPopEF, poprt.LoadPlugin(missing)} {
		if !errors.Is(err, fs.ErrNotExist) || !errors.Is(err, poprt.NotFound) {
			t.Error(err)
		}
	}
	r := runner(t, affine(t))
	noInput := r.Execute([]poprt.Tensor{poprt.Named("nope", make([]float32, 8))}, nil)
	_, noPass := poprt.SortPasses("nonsense")
	for _, err := range []error{noInput, noPass} {
		if errors.Is(err, fs.ErrNotExist) || !errors.Is(err, poprt.NotFound) {
			t.Error(err)
		}
	}
}

func TestMessagesHaveTheNamesOfFields(t *testing.T) {
	_, err := poprt.Compile(model("affine.onnx"), &poprt.CompileOptions{InputShapes: map[string][]int64{"x": {2, -2}}})
	fails(t, err, poprt.InvalidArgument, "InputShapes: 'x' has a dimension -2")
}

func TestAnUnbufferedChannel(t *testing.T) {
	r := runner(t, affine(t))
	for _, name := range []string{"x", "z"} {
		panics(t, "poprt: the done channel is unbuffered", func() {
			r.Go([]poprt.Tensor{poprt.Named(name, iota8(0))}, out(make([]float32, 8)), make(chan *poprt.Call))
		})
	}
}

func TestOutOfMemory(t *testing.T) {
	e := affine(t)
	r, s := runner(t, e), session(t, e)
	devices, popef := must(poprt.NewDeviceManager(0)), must(e.PopEFModel())
	path := filepath.Join(t.TempDir(), "affine.popef")
	ok(t, e.Save(path))
	file := must(poprt.OpenPopEF(path))
	bound := must(r.Bind(in(iota8(0)), out(make([]float32, 8))))
	limited := func() error { return (<-bound.GoWithin(time.Hour, nil).Done).Error }
	for name, call := range map[string]func() error{
		"NewSession":      func() error { _, err := poprt.NewSession(e, nil); return err },
		"NewQueueManager": func() error { _, err := s.NewQueueManager(nil); return err },
		"NewRunner":       func() error { _, err := poprt.NewRunner(e, nil); return err },
		"Acquire":         func() error { _, err := devices.Acquire(poprt.DeviceRequest{}); return err },
		"FuseExecutables": func() error { _, err := poprt.FuseExecutables([]*poprt.Executable{e}); return err },
		"OpenModel":       func() error { _, err := poprt.OpenModel(popef, poprt.OpenOptions{}); return err },
		"Models":          func() error { _, err := file.Models(); return err },
		"GoWithin":        limited,
	} {
		t.Run(name, func(t *testing.T) { fails(t, exhausted.During(call), poprt.ResourceExhausted, "out of memory") })
	}
	ok(t, limited())
}

// The wrapper allocates the tensors of runs with more than sixteen.
func TestOutOfMemoryForManyTensors(t *testing.T) {
	r := runner(t, compile(t, "types.onnx", nil))
	var inputs, outputs []poprt.Tensor
	for _, one := range everyType() {
		inputs, outputs = append(inputs, one.in), append(outputs, one.out)
	}
	bound := must(r.Bind(inputs, outputs))
	fails(t, exhausted.During(bound.Execute), poprt.ResourceExhausted, "out of memory")
	fails(t, exhausted.During(func() error { return (<-bound.Go(nil).Done).Error }), poprt.ResourceExhausted, "out of memory")
	ok(t, bound.Execute())
	ok(t, (<-bound.Go(nil).Done).Error)
}
