package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/pprof"
	"sync"
	"testing"
	"time"

	poprt "poprt.example.org/bindings/go"
)

var one = &poprt.RunnerOptions{Threads: 1}

func TestScenario46ModelFusionRunner(t *testing.T) {
	r := must(poprt.NewModelFusionRunner(compile(t, "fused.onnx", nil), one))
	defer r.Close()
	equal(t, fmt.Sprint(r.Inputs()), "[graph0/x f32 [4] graph1/x f32 [4]]")
	x, y, k := []float32{1, 2, 3, 4}, make([]float32, 4), make([]uint32, 1)
	for g := 0; g < 2; g++ {
		graph := fmt.Sprintf("graph%d/", g)
		ok(t, r.Execute([]poprt.Tensor{poprt.Named(graph+"x", x)},
			[]poprt.Tensor{poprt.Named(graph+"y", y), poprt.Named(graph+"k", k)}))
		equal(t, k[0], uint32(g))
		for i := range x {
			equal(t, y[i], float32(g+2)*x[i])
		}
	}
	fails(t, r.Execute([]poprt.Tensor{poprt.Named("graph0/x", x)}, []poprt.Tensor{poprt.Named("graph1/y", y)}),
		poprt.InvalidArgument, "different graphs")
	_, err := poprt.NewModelFusionRunner(affine(t), one)
	fails(t, err, poprt.FailedPrecondition, "not a fused")
}

func TestScenario47PackRunner(t *testing.T) {
	e := affine(t)
	pack := poprt.PackOptions{DynamicInput: "x", Timeout: 5 * time.Millisecond, MaxValidNum: 16,
		Algorithm: poprt.FirstFit, NoDataAcrossRows: true, CompileBatchSize: 2}
	r := must(poprt.NewPackRunner(e, pack, one))
	defer r.Close()
	done := make(chan *poprt.Call, 12)
	x, y := make([][]float32, 12), make([][]float32, 12)
	for n := range x {
		x[n] = iota8(float32(n))[:1+n%4]
		y[n] = make([]float32, len(x[n]))
		r.Go(in(x[n]), out(y[n]), done)
	}
	for range x {
		ok(t, (<-done).Error)
	}
	for n := range x {
		twicePlusOne(t, x[n], y[n])
	}
	fails(t, r.Execute(in(make([]float32, 5)), out(make([]float32, 5))), poprt.InvalidArgument, "longer than 4")
	pack.Timeout = 0
	_, err := poprt.NewPackRunner(e, pack, one)
	fails(t, err, poprt.InvalidArgument, "timeout")
	pack.Timeout, pack.DynamicInput = time.Second, "nope"
	if _, err = poprt.NewPackRunner(e, pack, one); err == nil {
		t.Fatal("there is no input 'nope'")
	}
}

func TestScenario48LightRunner(t *testing.T) {
	freeDevices(t)
	r := must(poprt.NewLightRunner(weights(t), one))
	defer r.Close()
	equal(t, fmt.Sprint(r.Inputs()), "[x f32 [2,4]]")
	equal(t, len(r.ModelInputs()), 3)
	for i, a := range r.ModelInputs() {
		equal(t, r.ModelInputHasData(i), a.Name != "x")
	}
	x, y := iota8(0), make([]float32, 8)
	ok(t, r.Execute(in(x), out(y)))
	equal(t, y, []float32{1, 3, 7, 13, 5, 11, 19, 29})
	ok(t, r.SetInput("w", poprt.Elements([]float32{5, 5, 5, 5})))
	ok(t, r.UpdateWeights())
	ok(t, r.Execute(in(x), out(y)))
	equal(t, y, []float32{1, 6, 11, 16, 21, 26, 31, 36})
	fails(t, r.SetInput("nope", poprt.Elements(x)), poprt.NotFound, "'nope'")
	fails(t, r.SetInput("w", poprt.Elements(x)), poprt.InvalidArgument, "16")
	fails(t, r.SetInput("x", poprt.Elements(x)), poprt.FailedPrecondition, "'x'")
	ok(t, r.Stop())
	fails(t, r.Execute(in(x), out(y)), poprt.Cancelled)
	m := must(poprt.NewDeviceManager(0))
	var all []*poprt.Device
	for i := 0; i < m.DeviceCount(); i++ {
		all = append(all, must(m.Device()))
	}
	fails(t, r.Reload(), poprt.Unavailable)
	for _, d := range all {
		ok(t, d.Close())
	}
	ok(t, r.Reload())
	y[7] = 0
	ok(t, r.Execute(in(x), out(y)))
	equal(t, y[7], float32(36))
}

func TestScenario49HostConcatRunner(t *testing.T) {
	e := affine(t)
	join := poprt.HostConcat{Tensor: "x", Inputs: []string{"a", "b"}, Shape: []int64{2, 4}, Bytes: 32, Sizes: []int64{12, 20}}
	r := must(poprt.NewHostConcatRunner(e, []poprt.HostConcat{join}, one))
	defer r.Close()
	x, y := iota8(0), make([]float32, 8)
	ok(t, r.Execute([]poprt.Tensor{poprt.Named("a", x[:3]), poprt.Named("b", x[3:])}, out(y)))
	twicePlusOne(t, x, y)
	_, err := poprt.NewHostConcatRunner(e, nil, one)
	fails(t, err, poprt.NotFound, "HostConcatRunnerConfig")
	join.Tensor = "z"
	_, err = poprt.NewHostConcatRunner(e, []poprt.HostConcat{join}, one)
	fails(t, err, poprt.NotFound, "'z'")
	join.Sizes = []int64{32}
	_, err = poprt.NewHostConcatRunner(e, []poprt.HostConcat{join}, one)
	fails(t, err, poprt.InvalidArgument, "2 inputs")
}

// A runner of one-row requests whose batch waits for further rows for ever.
func neverFull(t testing.TB) *poprt.Runner {
	return must(poprt.NewRunner(affine(t), &poprt.RunnerOptions{Threads: 1, QueueDepth: 1, Dynamic: true, PadTimeout: -1}))
}

func inFlight(t testing.TB, r *poprt.Runner) int {
	var statistics struct {
		InFlight int `json:"in_flight"`
	}
	ok(t, json.Unmarshal([]byte(must(r.Statistics())), &statistics))
	return statistics.InFlight
}

func TestWaitingCostsNoThreads(t *testing.T) {
	r := neverFull(t)
	defer r.Close()
	const many = 2000
	ctx, stop := context.WithCancel(context.Background())
	var group sync.WaitGroup
	for i := 0; i < many; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			x, y := make([]float32, 4), make([]float32, 4)
			if err := must(r.Bind(in(x), out(y))).ExecuteContext(ctx); err != context.Canceled {
				t.Error(err)
			}
		}()
	}
	for inFlight(t, r) < many {
		time.Sleep(time.Millisecond)
	}
	stop()
	group.Wait()
	equal(t, inFlight(t, r), 0)
	if n := pprof.Lookup("threadcreate").Count(); n > 60 {
		t.Errorf("%d goroutines that wait have %d threads", many, n)
	}
}

func TestSubmittingNeverWaits(t *testing.T) {
	r := neverFull(t)
	defer r.Close()
	x, y := make([]float32, 4), make([]float32, 4)
	first := must(r.Bind(in(x), out(y))).Go(nil)
	var late []*poprt.Call
	for i := 0; i < 100; i++ {
		late = append(late, must(r.Bind(in(x), out(make([]float32, 4)))).GoWithin(5*time.Millisecond, nil))
	}
	for _, c := range late {
		fails(t, (<-c.Done).Error, poprt.DeadlineExceeded, "its time was over")
	}
	equal(t, first.Cancel(), true)
	fails(t, (<-first.Done).Error, poprt.Cancelled, "cancelled")
}
