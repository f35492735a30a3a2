package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime/pprof"
	"strings"
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

func TestScenario61FusedModels(t *testing.T) {
	parts := []*poprt.Executable{affine(t), compile(t, "weights.onnx", nil)}
	fused := must(poprt.FuseExecutables(parts))
	r := must(poprt.NewRunner(fused, one))
	defer r.Close()
	equal(t, fmt.Sprint(r.Inputs()), "[graph0/x f32 [2,4] graph1/x f32 [2,4]]")
	x := iota8(0)
	for round := 0; round < 3; round++ {
		outputs := must(r.Run(poprt.Shaped("graph0/x", x, 2, 4)))
		equal(t, len(outputs), 1)
		equal(t, fmt.Sprint(must(poprt.Values[float32](outputs["graph0/y"]))), "[1 3 5 7 9 11 13 15]")
		outputs = must(r.Run(poprt.Shaped("graph1/x", x, 2, 4)))
		equal(t, fmt.Sprint(must(poprt.Values[float32](outputs["graph1/y"]))), "[1 3 7 13 5 11 19 29]")
	}
	_, err := r.Run(poprt.Named("graph0/x", x), poprt.Named("graph1/x", x))
	fails(t, err, poprt.InvalidArgument, "different graphs")
	_, err = poprt.FuseExecutables([]*poprt.Executable{fused})
	fails(t, err, poprt.InvalidArgument, "several variants")
	_, err = poprt.FuseExecutables(nil)
	fails(t, err, poprt.InvalidArgument, "no models")
	file := filepath.Join(t.TempDir(), "fused.onnx")
	ok(t, poprt.FuseModels([]string{model("weights.onnx"), model("weights.onnx")}, file))
	both := must(poprt.Compile(file, nil))
	equal(t, fmt.Sprint(both.Inputs()), "[graph0/x f32 [2,4] graph1/x f32 [2,4] index u32 [1]]")
}

func TestScenario62ShapeBuckets(t *testing.T) {
	options := &poprt.CompileOptions{Options: map[string]string{"input_shape": "x=1,4/4,4"}}
	r := must(poprt.NewRunner(must(poprt.Compile(model("affine.onnx"), options)), one))
	defer r.Close()
	for rows := 1; rows <= 4; rows++ {
		x := make([]float32, 4*rows)
		for i := range x {
			x[i] = float32(i)
		}
		y := must(r.Run(poprt.Shaped("x", x, int64(rows), 4)))["y"]
		equal(t, fmt.Sprint(y.Shape), fmt.Sprint([]int64{int64(rows), 4}))
		for i, v := range must(poprt.Values[float32](y)) {
			equal(t, v, 2*x[i]+1)
		}
	}
	_, err := r.Run(poprt.Shaped("x", make([]float32, 20), 5, 4))
	fails(t, err, poprt.InvalidArgument, "is 5", "1 to 4")
	_, err = r.Run(poprt.Shaped("x", make([]float32, 20), 4, 5))
	fails(t, err, poprt.InvalidArgument, "'x'", "[4,5]")
	buckets := must(r.Statistics())
	equal(t, strings.Contains(strings.Join(strings.Fields(fmt.Sprint(buckets)), ""), `"requests":3,"padded":2`), true)
	options.MaxPadding = 0.4
	more := must(poprt.NewRunner(must(poprt.Compile(model("affine.onnx"), options)), one))
	defer more.Close()
	y := must(more.Run(poprt.Shaped("x", make([]float32, 8), 2, 4)))["y"]
	equal(t, must(poprt.Values[float32](y))[7], float32(1))
	buckets = must(more.Statistics())
	equal(t, strings.Contains(strings.Join(strings.Fields(fmt.Sprint(buckets)), ""), `"requests":1,"padded":0`), true)
}

func TestScenario63SeveralIPUs(t *testing.T) {
	several := &poprt.CompileOptions{Options: map[string]string{
		"compiler_options": "num_ipus=2\nvirtual_graph_mode=auto\nenable_pipelining=True\nbatches_per_step=2"}}
	x := make([]float32, 512*512)
	for i := range x {
		x[i] = float32(i%7) / 7
	}
	alone := must(poprt.NewRunner(must(poprt.Compile(model("slow.onnx"), nil)), one))
	defer alone.Close()
	r := must(poprt.NewRunner(must(poprt.Compile(model("slow.onnx"), several)), one))
	defer r.Close()
	expected := must(poprt.Values[float32](must(alone.Run(poprt.Shaped("x", x, 512, 512)))["y"]))
	for round := 0; round < 3; round++ {
		y := must(poprt.Values[float32](must(r.Run(poprt.Shaped("x", x, 512, 512)))["y"]))
		for i, v := range expected {
			if y[i] != v {
				t.Fatal(i, y[i], v)
			}
		}
	}
	_, err := poprt.Compile(model("slow.onnx"), &poprt.CompileOptions{Options: map[string]string{"compiler_options": "num_ipus=2"}})
	fails(t, err, poprt.InvalidArgument, "virtual_graph_mode")
}

func TestScenario65PackedSequences(t *testing.T) {
	options := &poprt.CompileOptions{Options: map[string]string{"pack_args": "max_valid_num=4\nsegment_max_size=8"}}
	e := must(poprt.Compile(model("sums.onnx"), options))
	equal(t, fmt.Sprint(e.Inputs()), "[x f32 [2,8] unpack_info s32 [4,1]]")
	r := must(poprt.NewPackRunner(e, poprt.PackOptions{Timeout: 5 * time.Millisecond}, one))
	defer r.Close()
	equal(t, fmt.Sprint(r.Inputs(), r.Outputs()), "[x f32 [1,8]] [y f32 [1,8]]")
	lengths := []int{1, 3, 5, 2, 8, 4}
	done := make(chan *poprt.Call, len(lengths))
	y := make([][]float32, len(lengths))
	for i, n := range lengths {
		x := make([]float32, n)
		for j := range x {
			x[j] = float32(j + 1)
		}
		y[i] = make([]float32, 8)
		r.Go(in(x), out(y[i]), done)
	}
	for range lengths {
		ok(t, (<-done).Error)
	}
	for i, n := range lengths {
		for j := 0; j < n; j++ {
			equal(t, y[i][j], float32(j+1+n*(n+1)/2))
		}
	}
	fails(t, r.Execute(in(make([]float32, 9)), out(make([]float32, 9))), poprt.InvalidArgument, "longer than 8")
	options.Options["pack_args"] = "max_valid_num=4"
	_, err := poprt.Compile(model("sums.onnx"), options)
	fails(t, err, poprt.InvalidArgument, "segment_max_size")
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

// neverFull makes a runner whose batch has more than one row and waits for further rows without limit.
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
