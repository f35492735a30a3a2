package scenario

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	poprt "poprt.example.org/bindings/go"
)

func TestLoadRunnerFailsAsLoadDoes(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing.onnx")
	_, err := poprt.LoadRunner(missing, nil, nil)
	fails(t, err, poprt.NotFound, "missing.onnx")
	_, err = poprt.Load(missing, nil)
	fails(t, err, poprt.NotFound, "missing.onnx")
}

// With four runs in progress, further ones wait in the queue and report the same failures.
func TestRunsThatWaitInTheQueueFail(t *testing.T) {
	look := runner(t, compile(t, "lookup.onnx", nil))
	together := must(poprt.NewRunner(affine(t), &poprt.RunnerOptions{BatchesPerStep: 5, Timeout: -1}))
	defer together.Close()
	var group sync.WaitGroup
	start := func() {
		group.Add(1)
		go func() {
			defer group.Done()
			x := iota8(0)
			if outputs, err := together.Run(poprt.Named("x", x)); err != nil {
				t.Error(err)
			} else {
				twicePlusOne(t, x, must(poprt.Values[float32](outputs["y"])))
			}
		}()
	}
	for i := 0; i < 4; i++ {
		start()
	}
	for must(together.Counters()).Submitted < 4 {
		time.Sleep(time.Millisecond)
	}
	table := poprt.Named("table", []float32{0, 1, 2, 3, 4, 5})
	for i := 0; i < 3; i++ {
		_, err := look.Run(table, poprt.Named("ids", []int64{2, 0, 1, 7}))
		fails(t, err, poprt.OutOfRange, "index 7")
		rows := must(look.Run(table, poprt.Named("ids", []int64{2, 0, 1, 2})))["rows"]
		equal(t, must(poprt.Values[float32](rows)), []float32{4, 5, 0, 1, 2, 3, 4, 5})
		y, next := make([]float32, 8), make([]int64, 4)
		err = look.Execute([]poprt.Tensor{table, poprt.Named("ids", []int64{2, 0, 1, -9})},
			[]poprt.Tensor{poprt.Named("rows", y), poprt.Named("next", next)})
		fails(t, err, poprt.OutOfRange, "index -9")
	}
	start() // completes the step
	group.Wait()
}

// retyped returns types.onnx with another type of input u8 and output u8_y.
func retyped(t *testing.T, onnx byte) []byte {
	made := must(os.ReadFile(model("types.onnx")))
	for _, name := range []string{"u8", "u8_y"} {
		// ValueInfoProto: name (1), type (2) { tensor_type (1) { elem_type (1) = 2 ...
		value := regexp.MustCompile(fmt.Sprintf(`(?s)\x0a\x%02x%s\x12.\x0a.\x08\x02`, len(name), name))
		at := value.FindIndex(made)
		if at == nil {
			t.Fatalf("types.onnx has no value %s", name)
		}
		made[at[1]-1] = onnx
	}
	return made
}

// Go has no types of 8 bits that are floats: their memory is []uint8.
func TestFloatsOf8BitsAreBytes(t *testing.T) {
	for onnx, dtype := range map[byte]poprt.DType{17: poprt.F8E4M3FN, 18: poprt.F8E4M3FNUZ, 19: poprt.F8E5M2, 20: poprt.F8E5M2FNUZ,
		24: poprt.F8E8M0} {
		r := runner(t, must(poprt.CompileBytes(retyped(t, onnx), "", nil)))
		var inputs []poprt.Tensor
		for _, one := range everyType() {
			inputs = append(inputs, one.in)
		}
		made := must(r.Run(inputs...))["u8_y"]
		equal(t, made.DType, dtype)
		equal(t, must(poprt.Values[uint8](made)), []uint8{1, 254, 3, 128, 127, 0x12})
		if _, err := poprt.Values[int8](made); err == nil {
			t.Errorf("%v as s8", made)
		}
		_, err := r.Run(append(inputs, poprt.Named("u8", []int8{1, 2, 3, 4, 5, 6}))...)
		fails(t, err, poprt.InvalidArgument, "u8")
	}
}

func TestAllVersionsOf32BitsReachTheLibrary(t *testing.T) {
	m := must(poprt.NewDeviceManager(0))
	defer m.Close()
	for _, version := range []int{math.MinInt32, math.MaxInt32} {
		message := fmt.Sprintf("IPU versions are 1, 2 and 21, given %d", version)
		_, err := m.IPUModelDevice(1, version, 0)
		fails(t, err, poprt.InvalidArgument, message)
		_, err = m.SmallIPUModelDevice(1, version)
		fails(t, err, poprt.InvalidArgument, message)
	}
}

func TestPredicatesOfQueuesMayPanic(t *testing.T) {
	s := session(t, affine(t))
	mine := errors.New("of the test")
	panics(t, mine, func() {
		s.NewQueueManager(&poprt.QueueOptions{UserAnchors: func(string, bool, []uint32) bool { panic(mine) }})
	})
	must(s.NewQueueManager(nil))
	ok(t, s.VerifyConnected())
}

// A call that waits for its result does not wait for the batches of other calls, however it is submitted.
func TestCallsThatWaitDoNotWaitForOtherBatches(t *testing.T) {
	r := must(poprt.NewRunner(affine(t), &poprt.RunnerOptions{BatchesPerStep: 3, Timeout: -1}))
	defer r.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	x, y := iota8(1), make([]float32, 8)
	b := must(r.Bind([]poprt.Tensor{poprt.Named("x", x)}, []poprt.Tensor{poprt.Named("y", y)}))
	for _, execute := range []func() error{
		b.Execute,
		func() error { return b.ExecuteContext(ctx) },
		func() error { return b.Replica(0).Execute() },
	} {
		clear8(y)
		ok(t, execute())
		twicePlusOne(t, x, y)
	}
	var group sync.WaitGroup
	for i := 0; i < 16; i++ { // more than run on threads
		group.Add(1)
		go func() {
			defer group.Done()
			outputs, err := r.Run(poprt.Named("x", x))
			if err != nil {
				t.Error(err)
				return
			}
			twicePlusOne(t, x, must(poprt.Values[float32](outputs["y"])))
		}()
	}
	group.Wait()
}

func clear8(y []float32) {
	for i := range y {
		y[i] = 0
	}
}

func TestADeviceOfAReplicaIsNil(t *testing.T) {
	_, err := poprt.NewRunner(affine(t), &poprt.RunnerOptions{ReplicaDevices: map[int64]*poprt.Device{0: nil}})
	fails(t, err, poprt.InvalidArgument, "replica 0")
}

// The shape of a tensor may be a part of a longer slice.
func TestRunDoesNotWriteTheShapeOfTheCaller(t *testing.T) {
	r := runner(t, affine(t))
	sizes := []int64{2, 4, 7, 9}
	outputs := must(r.Run(poprt.Shaped("x", iota8(0), sizes[:2]...)))
	twicePlusOne(t, iota8(0), must(poprt.Values[float32](outputs["y"])))
	equal(t, sizes, []int64{2, 4, 7, 9})
}
