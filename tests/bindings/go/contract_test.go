package scenario

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"math/rand"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	poprt "poprt.example.org/bindings/go"
)

// Guarantees of the binding for every object: each binding has its own memory, every 16-bit float is the same number on both
// sides, and objects are closed in any order and refuse any use afterwards (scenarios 75 to 78).

func TestScenario75EachBindingHasItsOwnMemory(t *testing.T) {
	r := runner(t, affine(t))
	var x, y [4][]float32
	var bound [4]*poprt.Binding
	for i := range x {
		x[i], y[i] = iota8(float32(10*i)), make([]float32, 8)
		if i%2 == 0 {
			bound[i] = must(r.Bind(in(x[i]), out(y[i])))
		} else {
			bound[i] = must(r.Bind([]poprt.Tensor{poprt.At(0, x[i])}, []poprt.Tensor{poprt.At(0, y[i])}))
		}
	}
	for _, i := range []int{0, 1, 2, 3, 3, 1, 0, 2} {
		before := y
		for j := range before {
			before[j] = append([]float32{}, y[j]...)
		}
		x[i][0] += 100
		if i == 1 {
			ok(t, (<-bound[i].Go(nil).Done).Error)
		} else {
			ok(t, bound[i].Execute())
		}
		twicePlusOne(t, x[i], y[i])
		for j := range y {
			if j != i {
				equal(t, y[j], before[j])
			}
		}
	}
}

func TestScenario75TensorsAreReadAtEachCall(t *testing.T) {
	r := runner(t, affine(t))
	inputs, outputs := in(iota8(0)), out(make([]float32, 8))
	ok(t, r.Execute(inputs, outputs))
	for _, batches := range []int{3, 1, 2} {
		x, y := make([]float32, 8*batches), make([]float32, 8*batches)
		for i := range x {
			x[i] = float32(i + batches)
		}
		inputs[0], outputs[0] = poprt.Named("x", x), poprt.Named("y", y)
		ok(t, r.Execute(inputs, outputs))
		twicePlusOne(t, x, y)
	}
}

func TestScenario75ARunInFlightKeepsItsMemory(t *testing.T) {
	r := runner(t, slow(t))
	x, old, now := make([]float32, 512*512), make([]float32, 512*512), make([]float32, 512*512)
	for i := range x {
		x[i] = 1
	}
	outputs := out(old)
	call := r.Go(in(x), outputs, nil)
	outputs[0] = poprt.Named("y", now)
	ok(t, (<-call.Done).Error)
	for i := range old {
		if old[i] != 1 || now[i] != 0 {
			t.Fatalf("element %d is %v and %v", i, old[i], now[i])
		}
	}
}

func TestScenario22ARunThatHasEndedCannotBeCancelled(t *testing.T) {
	r := runner(t, affine(t))
	x, y := iota8(0), make([]float32, 8)
	call := r.Go(in(x), out(y), nil)
	ok(t, (<-call.Done).Error)
	if call.Cancel() || call.Cancel() {
		t.Fatal("cancelled")
	}
	ok(t, call.Error)
	twicePlusOne(t, x, y)
}

func TestScenario21SizesOfNothing(t *testing.T) {
	r := runner(t, compile(t, "affine.onnx", map[string][]int64{"x": {0, 4}}))
	y := must(r.Run(poprt.Named("x", []float32{})))["y"]
	if y.String() != "y f32 [0,4]" || y.Bytes() != nil || len(must(poprt.Values[float32](y))) != 0 {
		t.Fatalf("%v of %d bytes", y, len(y.Bytes()))
	}
	ok(t, r.Execute(in(nil), out(nil)))
}

func TestScenario60NumbersOf32Bits(t *testing.T) {
	m := must(poprt.NewDeviceManager(0))
	for _, version := range []int{math.MinInt32 - 1, math.MaxInt32 + 1} {
		_, err := m.IPUModelDevice(1, version, 0)
		fails(t, err, poprt.InvalidArgument, "there is no IPU version")
		_, err = m.SmallIPUModelDevice(1, version)
		fails(t, err, poprt.InvalidArgument, "there is no IPU version")
		_, err = m.Acquire(poprt.DeviceRequest{IPUVersion: version})
		fails(t, err, poprt.InvalidArgument, "there is no IPU version")
		_, err = poprt.NewRunner(affine(t), &poprt.RunnerOptions{Threads: version})
		fails(t, err, poprt.InvalidArgument, "Threads is a 32-bit number")
		_, err = poprt.NewSession(affine(t), &poprt.SessionOptions{Threads: version})
		fails(t, err, poprt.InvalidArgument, "Threads is a 32-bit number")
	}
	for _, version := range []int{math.MinInt32, math.MaxInt32} { // these fit into 32 bits, so the library refuses them
		_, err := m.IPUModelDevice(1, version, 0)
		if err == nil || strings.Contains(err.Error(), "there is no IPU version") {
			t.Fatalf("version %d: %v", version, err)
		}
		_, err = m.SmallIPUModelDevice(1, version)
		if err == nil || strings.Contains(err.Error(), "there is no IPU version") {
			t.Fatalf("version %d: %v", version, err)
		}
	}
}

// halfValue returns the value of a code, computed from the definition of half precision.
func halfValue(code int) float64 {
	exponent, fraction, sign := code>>10&31, float64(code&1023), 1.0
	if code >= 0x8000 {
		sign = -1
	}
	switch {
	case exponent == 31 && fraction == 0:
		return sign * math.Inf(1)
	case exponent == 31:
		return math.NaN()
	case exponent == 0:
		return math.Copysign(math.Ldexp(fraction, -24), sign)
	}
	return sign * math.Ldexp(1+fraction/1024, exponent-15)
}

func TestScenario76EveryHalfIsItsValueAndBack(t *testing.T) {
	for code := 0; code < 1<<16; code++ {
		value, found := halfValue(code), poprt.Float16(code).Float32()
		back := int(poprt.ToFloat16(found))
		if math.IsNaN(value) {
			if found == found || !math.IsNaN(halfValue(back)) || back>>15 != code>>15 {
				t.Fatalf("%#x is %v and back %#x", code, found, back)
			}
			continue
		}
		if math.Float32bits(found) != math.Float32bits(float32(value)) || back != code {
			t.Fatalf("%#x is %v, expected %v, and back %#x", code, found, value, back)
		}
	}
	for _, bits := range []uint32{0x7f800001, 0x7fc00000, 0xff801fff, 0x7fffffff} {
		if half := poprt.ToFloat16(math.Float32frombits(bits)); !math.IsNaN(halfValue(int(half))) {
			t.Fatalf("%#x becomes %#x", bits, half)
		}
	}
}

func TestScenario76TiesRoundToEven(t *testing.T) {
	for code := 0; code < 0x7c00; code++ {
		next := halfValue(code + 1)
		if code == 0x7bff {
			next = 65536
		}
		middle := math.Float32bits(float32((halfValue(code) + next) / 2))
		for _, sign := range []int{0, 0x8000} {
			for _, c := range []struct{ step, expected int }{{0, code + code&1}, {-1, code}, {1, code + 1}} {
				value := math.Float32frombits(uint32(int(middle)+c.step) | uint32(sign)<<16)
				if found := int(poprt.ToFloat16(value)); found != c.expected|sign {
					t.Fatalf("%v becomes %#x, expected %#x", value, found, c.expected|sign)
				}
			}
		}
	}
	for _, large := range []float32{65536, 1e6, math.MaxFloat32, float32(math.Inf(1))} {
		if poprt.ToFloat16(large) != 0x7c00 || poprt.ToFloat16(-large) != 0xfc00 {
			t.Fatalf("%v does not become infinity", large)
		}
	}
}

func TestScenario76RunsTakeAndReturnEveryCode(t *testing.T) {
	r := runner(t, compile(t, "floats.onnx", nil))
	half, brain := make([]poprt.Float16, 65536), make([]uint16, 65536)
	value := make([]float32, 65536)
	for code := range half {
		half[code], brain[code] = poprt.Float16(code), uint16(code)
		value[code] = half[code].Float32()
	}
	halfValues, brainValues := make([]float32, 65536), make([]float32, 65536)
	halves, brains := make([]poprt.Float16, 65536), make([]uint16, 65536)
	run := func() {
		ok(t, r.Execute([]poprt.Tensor{poprt.Named("half", half), poprt.Named("brain", brain), poprt.Named("value", value)},
			[]poprt.Tensor{poprt.Named("half_value", halfValues), poprt.Named("brain_value", brainValues),
				poprt.Named("value_half", halves), poprt.Named("value_brain", brains)}))
	}
	run()
	number := func(code int) bool { return code&0x7f80 != 0 && code&0x7f80 != 0x7f80 } // a normal bfloat16
	for code := range half {
		if v := halfValue(code); !math.IsNaN(v) && (halfValues[code] != float32(v) || int(halves[code]) != code) {
			t.Fatalf("%#x is %v, and back %#x", code, halfValues[code], halves[code])
		}
		if number(code) && math.Float32bits(brainValues[code]) != uint32(code)<<16 {
			t.Fatalf("bfloat16 %#x is %v", code, brainValues[code])
		}
	}
	copy(value, brainValues)
	run()
	for code := range half {
		if number(code) && int(brains[code]) != code {
			t.Fatalf("bfloat16 %#x comes back as %#x", code, brains[code])
		}
	}
}

var background = context.Background()

type closer interface{ Close() error }

// objects makes one object of each class that can be closed, each from those before it.
func objects(t testing.TB) []closer {
	manager := must(poprt.NewDeviceManager(0))
	executable := affine(t)
	device := must(manager.Device())
	return []closer{executable, device, manager,
		must(poprt.NewRunner(executable, &poprt.RunnerOptions{Threads: 1, Device: device})),
		must(poprt.NewSession(executable, &poprt.SessionOptions{Threads: 1})),
	}
}

func permutations(n int) (all [][]int) {
	if n == 0 {
		return [][]int{{}}
	}
	for _, shorter := range permutations(n - 1) {
		for at := 0; at <= len(shorter); at++ {
			longer := append(append(append([]int{}, shorter[:at]...), n-1), shorter[at:]...)
			all = append(all, longer)
		}
	}
	return all
}

func TestScenario77ObjectsCloseInAnyOrder(t *testing.T) {
	orders := permutations(5)
	if len(orders) != 120 {
		t.Fatalf("%d orders", len(orders))
	}
	rand.Shuffle(len(orders), func(i, j int) { orders[i], orders[j] = orders[j], orders[i] })
	for _, order := range orders {
		made := objects(t)
		x, y := iota8(1), make([]float32, 8)
		call := made[3].(*poprt.Runner).Go(in(x), out(y), nil)
		for _, i := range order {
			ok(t, made[i].Close())
			ok(t, made[i].Close())
		}
		ok(t, (<-call.Done).Error)
		twicePlusOne(t, x, y)
	}
	freeDevices(t)
}

// argument returns an argument for a call that fails before it uses it.
func argument(kind reflect.Type) reflect.Value {
	for _, value := range []any{[]poprt.Tensor{poprt.At(0, iota8(0))}, iota8(0), 0, int64(0), "x", time.Second, poprt.Named("x", iota8(0)), []int{0}, background,
		poprt.InputHandler(poprt.InputFunc(func([]byte) error { return nil })), poprt.OutputFunc(func([]byte) error { return nil })} {
		if reflect.TypeOf(value).AssignableTo(kind) {
			return reflect.ValueOf(value)
		}
	}
	return reflect.Zero(kind)
}

func TestScenario78NoMethodWorksAfterwards(t *testing.T) {
	// Methods that work on a closed object: their result is known since it was made, or they have none.
	known := map[string]bool{"Close": true, "String": true, "Inputs": true, "Outputs": true, "InputHasData": true, "Name": true,
		"UserInputs": true, "UserOutputs": true, "ID": true, "IPUVersion": true, "NumIPUs": true, "TilesPerIPU": true,
		"IsIPUModel": true, "DeviceCount": true, "HardwareVersion": true, "Metadata": true, "Bind": true}
	path := filepath.Join(t.TempDir(), "affine.popef")
	executable := affine(t)
	ok(t, executable.Save(path))
	made := append(objects(t), must(poprt.OpenPopEF(path)), must(executable.PopEFModel()))
	calls := 0
	for _, closed := range made {
		ok(t, closed.Close())
		kind := reflect.TypeOf(closed)
		for m := 0; m < kind.NumMethod(); m++ {
			method := kind.Method(m)
			if known[method.Name] {
				continue
			}
			arguments := []reflect.Value{reflect.ValueOf(closed)}
			for i := 1; i < method.Type.NumIn(); i++ {
				if method.Type.IsVariadic() && i == method.Type.NumIn()-1 {
					break
				}
				arguments = append(arguments, argument(method.Type.In(i)))
			}
			results := method.Func.Call(arguments)
			last := results[len(results)-1].Interface()
			if call, asynchronous := last.(*poprt.Call); asynchronous {
				<-call.Done
				last = call.Error
			}
			err, isError := last.(error)
			if !isError && results[len(results)-1].IsZero() && len(results) == 1 && method.Type.Out(0).Kind() != reflect.Interface {
				continue // it returns zero, as documented
			}
			if !errors.Is(err, poprt.ErrClosed) && !errors.Is(err, fs.ErrClosed) {
				t.Errorf("%v.%s: expected ErrClosed, got %v", kind, method.Name, last)
			}
			calls++
		}
	}
	if calls < 40 {
		t.Fatalf("only %d calls", calls)
	}
}

func TestScenario78NeitherDoesAnObjectThatNeedsIt(t *testing.T) {
	executable, other := affine(t), affine(t)
	device := must(must(poprt.NewDeviceManager(0)).Device())
	r := must(poprt.NewRunner(other, &poprt.RunnerOptions{Threads: 1}))
	b := must(r.Bind(in(iota8(0)), out(make([]float32, 8))))
	session := must(poprt.NewSession(other, &poprt.SessionOptions{Threads: 1}))
	queues := must(session.NewQueueManager(nil))
	queue := must(queues.InputQueue("x"))
	closed := func(err error) {
		t.Helper()
		if !errors.Is(err, poprt.ErrClosed) {
			t.Errorf("expected ErrClosed, got %v", err)
		}
	}
	device.Close()
	_, err := poprt.NewRunner(executable, &poprt.RunnerOptions{Device: device})
	closed(err)
	_, err = poprt.NewRunner(executable, &poprt.RunnerOptions{ReplicaDevices: map[int64]*poprt.Device{0: device}})
	closed(err)
	_, err = poprt.NewSession(executable, &poprt.SessionOptions{Device: device})
	closed(err)
	closed(session.BindToDevice(device))
	executable.Close()
	_, err = poprt.NewRunner(executable, nil)
	closed(err)
	_, err = poprt.NewPackRunner(executable, poprt.PackOptions{Timeout: time.Second}, nil)
	closed(err)
	_, err = poprt.NewLightRunner(executable, nil)
	closed(err)
	_, err = poprt.NewSession(executable, nil)
	closed(err)
	_, err = poprt.FuseExecutables([]*poprt.Executable{other, executable})
	closed(err)
	_, err = must(poprt.NewDeviceManager(0)).Acquire(poprt.DeviceRequest{Executable: executable})
	closed(err)
	session.Close()
	_, err = queues.InputQueue("x")
	closed(err)
	closed(queues.FlushAll())
	closed(queues.DisconnectAll())
	closed((<-queue.Enqueue(poprt.Elements(iota8(0)), nil).Done).Error)
	r.Close()
	closed(b.Execute())
	closed(b.ExecuteContext(background))
	closed((<-b.Go(nil).Done).Error)
	closed((<-b.GoWithin(time.Second, nil).Done).Error)
}
