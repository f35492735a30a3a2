// Package scenario runs the list in tests/bindings/README.md against the Go module.
package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	poprt "poprt.example.org/bindings/go"
	"poprt.example.org/tests/bindings/go/resident"
)

func TestMain(m *testing.M) {
	if os.Getenv("POPRT_EXIT_IN_FLIGHT") != "" {
		exitInFlight()
		return
	}
	os.Exit(m.Run())
}

func model(name string) string { return filepath.Join("..", "data", name) }

// must panics on an error, so that the stack shows the line.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fails checks the code and that the message has all parts.
func fails(t testing.TB, err error, code poprt.Code, parts ...string) {
	t.Helper()
	if !errors.Is(err, code) {
		t.Fatalf("expected %v, got %v", code, err)
	}
	var e *poprt.Error
	if !errors.As(err, &e) {
		t.Fatalf("expected a *poprt.Error, got %T", err)
	}
	for _, part := range parts {
		if !strings.Contains(e.Message, part) {
			t.Fatalf("expected %q in %q", part, e.Message)
		}
	}
}

func compile(t testing.TB, name string, shapes map[string][]int64) *poprt.Executable {
	t.Helper()
	return must(poprt.Compile(model(name), &poprt.CompileOptions{InputShapes: shapes}))
}

func affine(t testing.TB) *poprt.Executable {
	return compile(t, "affine.onnx", map[string][]int64{"x": {2, 4}})
}

func runner(t testing.TB, e *poprt.Executable) *poprt.Runner {
	t.Helper()
	r := must(poprt.NewRunner(e, &poprt.RunnerOptions{Threads: 1}))
	t.Cleanup(func() { r.Close() })
	return r
}

func iota8(first float32) []float32 {
	x := make([]float32, 8)
	for i := range x {
		x[i] = first + float32(i)
	}
	return x
}

func twicePlusOne(t testing.TB, x, y []float32) {
	t.Helper()
	for i := range x {
		if y[i] != 2*x[i]+1 {
			t.Fatalf("y[%d] is %v, expected %v", i, y[i], 2*x[i]+1)
		}
	}
}

func in(x []float32) []poprt.Tensor  { return []poprt.Tensor{poprt.Named("x", x)} }
func out(y []float32) []poprt.Tensor { return []poprt.Tensor{poprt.Named("y", y)} }

func TestScenario01Compile(t *testing.T) {
	last, steps, passes := 0.0, 0, 0
	options := &poprt.CompileOptions{InputShapes: map[string][]int64{"x": {2, 4}}, Progress: func(done float64, what string) {
		if done < last || what == "" {
			t.Errorf("progress fell from %v to %v, %q", last, done, what)
		}
		last = done
		steps++
	}, AfterPass: func(report poprt.PassReport) {
		if report.Pass == "" || report.NodesBefore == 0 {
			t.Errorf("odd report %v", report)
		}
		passes++
	}}
	first := must(poprt.Compile(model("affine.onnx"), options))
	if last != 1 || steps == 0 || passes == 0 {
		t.Fatalf("progress ended at %v after %d steps and %d passes", last, steps, passes)
	}
	path := filepath.Join(t.TempDir(), "affine.popef")
	ok(t, first.Save(path))
	options.Progress, options.AfterPass = nil, nil
	onnx := must(os.ReadFile(model("affine.onnx")))
	bytes := must(first.Bytes())
	for _, e := range []*poprt.Executable{
		first,
		must(poprt.Open(path)),
		must(poprt.OpenFiles([]string{path}, poprt.OpenOptions{})),
		must(poprt.OpenBytes(bytes)),
		must(poprt.CompileBytes(onnx, "", options)),
	} {
		if len(e.Inputs()) != 1 || len(e.Outputs()) != 1 {
			t.Fatalf("%d inputs, %d outputs", len(e.Inputs()), len(e.Outputs()))
		}
		i, o := e.Inputs()[0], e.Outputs()[0]
		if i.String() != "x f32 [2,4]" || o.String() != "y f32 [2,4]" || i.Bytes != 32 || o.Bytes != 32 {
			t.Fatalf("%v, %v", i, o)
		}
		if e.ArenaBytes() < 0 || e.WeightsBytes() < 0 || e.Name() == "" {
			t.Fatal("sizes or name are missing")
		}
		ok(t, e.Close())
	}
}

func TestScenario02Run(t *testing.T) {
	r := runner(t, affine(t))
	x, y := iota8(0), make([]float32, 8)
	ok(t, r.Execute(in(x), out(y)))
	twicePlusOne(t, x, y)
	ok(t, r.Execute([]poprt.Tensor{poprt.At(0, x)}, []poprt.Tensor{poprt.At(0, y)}))
	twicePlusOne(t, x, y)
	b := must(r.Bind(in(x), out(y)))
	for k := 0; k < 3; k++ {
		x[0] = float32(k)
		ok(t, b.Execute())
		twicePlusOne(t, x, y)
	}
}

func TestScenario03RunSeveralTypes(t *testing.T) {
	r := runner(t, compile(t, "lookup.onnx", nil))
	rows, next := make([]float32, 8), make([]int64, 4)
	ok(t, r.Execute(
		[]poprt.Tensor{poprt.Named("table", []float32{0, 1, 2, 3, 4, 5}), poprt.Named("ids", []int64{2, 0, 1, 2})},
		[]poprt.Tensor{poprt.Named("next", next), poprt.Named("rows", rows)}))
	for i, expected := range []float32{4, 5, 0, 1, 2, 3, 4, 5} {
		if rows[i] != expected {
			t.Fatalf("rows are %v", rows)
		}
	}
	for i, expected := range []int64{3, 1, 2, 3} {
		if next[i] != expected {
			t.Fatalf("next is %v", next)
		}
	}
}

func TestScenario72NumbersOutsideTheirRange(t *testing.T) {
	named := func(name, option, value string) *poprt.Executable {
		return must(poprt.Compile(model(name), &poprt.CompileOptions{Options: map[string]string{option: value}}))
	}
	look := func(r *poprt.Runner, last int64) ([]float32, error) {
		rows, next := make([]float32, 8), make([]int64, 4)
		err := r.Execute(
			[]poprt.Tensor{poprt.Named("table", []float32{0, 1, 2, 3, 4, 5}), poprt.Named("ids", []int64{2, 0, 1, last})},
			[]poprt.Tensor{poprt.Named("rows", rows), poprt.Named("next", next)})
		return rows, err
	}
	checked := runner(t, compile(t, "lookup.onnx", nil))
	_, err := look(checked, 3)
	fails(t, err, poprt.OutOfRange, "index 3")
	equal(t, must(look(checked, 2)), []float32{4, 5, 0, 1, 2, 3, 4, 5})
	equal(t, must(look(runner(t, named("lookup.onnx", "out_of_range", "zero")), 3)), []float32{4, 5, 0, 1, 2, 3, 0, 0})
	y := make([]float32, 1)
	err = runner(t, compile(t, "endless.onnx", nil)).Execute(
		[]poprt.Tensor{poprt.Named("x", []float32{1})}, []poprt.Tensor{poprt.Named("y", y)})
	fails(t, err, poprt.InvalidArgument, "turns")
	bounded := runner(t, named("range.onnx", "max_size", "n=4"))
	count := func(n int64) ([]int64, error) {
		numbers, shape := make([]int64, 4), make([]int64, 1)
		err := bounded.Execute([]poprt.Tensor{poprt.Named("n", []int64{n})},
			[]poprt.Tensor{poprt.Named("y", numbers), poprt.Named("y:shape", shape)})
		return numbers[:shape[0]], err
	}
	equal(t, must(count(3)), []int64{0, 1, 2})
	_, err = count(5)
	fails(t, err, poprt.OutOfRange, "max_size")
}

// affineWith returns options for affine.onnx, one of which is by name.
func affineWith(option, value string) *poprt.CompileOptions {
	options := &poprt.CompileOptions{InputShapes: map[string][]int64{"x": {2, 4}}}
	if option != "" {
		options.Options = map[string]string{option: value}
	}
	return options
}

func startsWith(t *testing.T, text, start string) {
	t.Helper()
	if !strings.HasPrefix(text, start) {
		t.Fatalf("expected %q at the start of %q", start, text)
	}
}

func TestScenario90Estimate(t *testing.T) {
	e := must(poprt.EstimateModel(model("affine.onnx"), affineWith("", "")))
	if e.Cycles() <= 0 || e.Throughput() <= 0 || e.Samples() != 2 || !e.Fits() || e.AvailableBytes() != 638976 {
		t.Fatal(must(e.JSON()))
	}
	if math.Abs(e.Milliseconds()-float64(e.Cycles())/1.5e6) > 1e-9 {
		t.Fatal(e.Milliseconds())
	}
	startsWith(t, must(e.Target()), "c600")
	startsWith(t, must(e.JSON()), `{"cycles":`)
	startsWith(t, must(e.Report()), "Target: c600 (ipu21)")
	startsWith(t, must(e.SVG()), "<svg")
	startsWith(t, must(e.CycleQuality()), "unchecked")
	startsWith(t, must(e.MemoryQuality()), "checked")
	first := must(poprt.EstimateModel(model("affine.onnx"), affineWith("estimate_target", "mk1")))
	if first.AvailableBytes() != 262144 || math.Abs(first.Milliseconds()-float64(first.Cycles())/1.6e6) > 1e-9 {
		t.Fatal(must(first.JSON()))
	}
	_, err := poprt.EstimateModel(model("missing.onnx"), nil)
	fails(t, err, poprt.NotFound, "missing.onnx")
	_, err = poprt.EstimateModel(model("affine.onnx"), affineWith("estimate_target", "ipu9"))
	fails(t, err, poprt.InvalidArgument, "ipu9")
}

func TestScenario114NumbersOfAnEstimate(t *testing.T) {
	e := must(poprt.EstimateModel(model("affine.onnx"), affineWith("", "")))
	var found struct {
		Cycles, Samples                                                                                     int64
		Milliseconds, Throughput, Utilization, Period_milliseconds, Latency_milliseconds, Host_milliseconds float64
		Quality                                                                                             map[string]struct{ Trust, Error string }
		Memory                                                                                              []struct{ Bytes_with_gaps, Available uint64 }
	}
	ok(t, json.Unmarshal([]byte(must(e.JSON())), &found))
	got := []any{e.Cycles(), e.Samples(), e.Milliseconds(), e.Throughput(), e.Utilization(), e.PeriodMilliseconds(),
		e.LatencyMilliseconds(), e.HostMilliseconds(), uint64(e.TileBytes()), uint64(e.AvailableBytes())}
	want := []any{found.Cycles, found.Samples, found.Milliseconds, found.Throughput, found.Utilization, found.Period_milliseconds,
		found.Latency_milliseconds, found.Host_milliseconds, found.Memory[0].Bytes_with_gaps, found.Memory[0].Available}
	for i, value := range want {
		if got[i] != value {
			t.Errorf("number %d is %v, expected %v", i, got[i], value)
		}
	}
	for name, text := range map[string]string{"cycles": must(e.CycleQuality()), "memory": must(e.MemoryQuality()),
		"host": must(e.HostQuality())} {
		if q := found.Quality[name]; text != q.Trust+": error "+q.Error {
			t.Errorf("%s: %s, expected %v", name, text, q)
		}
	}
}

func TestScenario125AnEstimateOfTheCommand(t *testing.T) {
	for name, target := range map[string]string{"affine.onnx": "mk2", "linear.onnx": "bow"} {
		e := must(poprt.EstimateModel(model(name), affineWith("estimate_target", target)))
		command := exec.Command(filepath.Join(os.Getenv("POPRT_BIN"), "poprt_exec"), "estimate", model(name),
			"--input_shape", "x=2,4", "--target", target, "--verbose", "--json")
		if want := strings.Fields(string(must(command.Output()))); strings.Join(want, "") != strings.Join(strings.Fields(must(e.JSON())), "") {
			t.Errorf("%s: %s, expected %v", name, must(e.JSON()), want)
		}
	}
}

func TestScenario126NamesOfOptionsInErrors(t *testing.T) {
	_, err := poprt.Compile(model("affine.onnx"), &poprt.CompileOptions{BatchSize: -1})
	fails(t, err, poprt.InvalidArgument, "BatchSize is -1")
	_, err = poprt.NewRunner(affine(t), &poprt.RunnerOptions{QueueDepth: -1})
	fails(t, err, poprt.InvalidArgument, "QueueDepth is -1")
	_, err = poprt.LoadRunner(model("affine.onnx"), nil, &poprt.RunnerOptions{UseBatchingDim: true})
	fails(t, err, poprt.FailedPrecondition, "give InputShapes or BatchSize")
	_, err = poprt.Compile(model("affine.onnx"), &poprt.CompileOptions{Options: map[string]string{"calibration_with_data": "1"}})
	fails(t, err, poprt.InvalidArgument, "`calibration_with_data` needs `data_preprocess`")
}

func TestScenario128ZeroCharacters(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a\x00b")
	refused := func(err error, argument string) {
		t.Helper()
		fails(t, err, poprt.InvalidArgument, "argument '"+argument+"' contains the character \\0")
	}
	_, err := poprt.Open(path)
	refused(err, "path")
	_, err = poprt.Compile(path, nil)
	refused(err, "onnx_path")
	_, err = poprt.Compile(model("affine.onnx"), affineWith("num\x00", "1"))
	refused(err, "name")
	_, err = poprt.Compile(model("affine.onnx"), affineWith("num_io_tiles", "3\x002"))
	refused(err, "value")
	_, err = poprt.NewRunner(affine(t), &poprt.RunnerOptions{Numerics: "fast\x00"})
	refused(err, "numerics")
	_, err = poprt.OpenFiles([]string{path}, poprt.OpenOptions{})
	refused(err, "path")
	_, err = poprt.DumpPopEF(path, poprt.All)
	refused(err, "path")
	_, err = poprt.NewGenerator(path, nil)
	refused(err, "path")
	_, err = poprt.CreatePopEF(path)
	refused(err, "path")
	refused(affine(t).Save(path), "path")
	refused(poprt.LoadPlugin(path), "path")
	refused(poprt.SetLogLevel("INFO\x00"), "level")
	_, err = runner(t, affine(t)).Run(poprt.Shaped("x\x00", iota8(0), 2, 4))
	fails(t, err, poprt.NotFound, "x")
	s := must(poprt.NewSession(affine(t), nil))
	defer s.Close()
	refused(s.SetInputHandler("x\x00", poprt.InputFunc(func([]byte) error { return nil })), "name")
	_, err = must(s.NewQueueManager(nil)).InputQueue("x\x00")
	refused(err, "name")
	equal(t, len(must(os.ReadDir(folder))), 0)
}

func TestScenario91AnEstimateInTheExecutable(t *testing.T) {
	options := affineWith("estimate", "True")
	start := fmt.Sprintf(`{"cycles":%d,`, must(poprt.EstimateModel(model("affine.onnx"), options)).Cycles())
	made := must(poprt.Compile(model("affine.onnx"), options))
	startsWith(t, must(made.Estimate()), start)
	path := filepath.Join(t.TempDir(), "estimate.popef")
	ok(t, made.Save(path))
	startsWith(t, must(must(poprt.Open(path)).Estimate()), start)
	_, err := affine(t).Estimate()
	fails(t, err, poprt.NotFound, "estimate")
}

func TestScenario92AClosedEstimate(t *testing.T) {
	e := must(poprt.EstimateModel(model("affine.onnx"), affineWith("", "")))
	ok(t, e.Close())
	ok(t, e.Close())
	if _, err := e.JSON(); !errors.Is(err, poprt.ErrClosed) {
		t.Fatalf("expected ErrClosed, got %v", err)
	}
	if e.Cycles() != 0 {
		t.Fatal("a closed estimate has cycles")
	}
}

func TestScenario70PositionsByName(t *testing.T) {
	r := runner(t, compile(t, "lookup.onnx", nil))
	for i, name := range []string{"table", "ids"} {
		if index, err := r.InputIndex(name); index != i || err != nil {
			t.Fatalf("input %s is at %d, %v", name, index, err)
		}
	}
	for i, name := range []string{"rows", "next"} {
		if index, err := r.OutputIndex(name); index != i || err != nil {
			t.Fatalf("output %s is at %d, %v", name, index, err)
		}
	}
	_, err := r.InputIndex("nope")
	fails(t, err, poprt.NotFound, "nope", "table")
}

func TestScenario71BatchingRefusal(t *testing.T) {
	executable := compile(t, "softmax.onnx", map[string][]int64{"x": {2, 4}})
	if why, err := executable.BatchingRefusal(0); why != "" || err != nil {
		t.Fatalf("dimension 0 is refused: %q, %v", why, err)
	}
	if why, err := executable.BatchingRefusal(1); !strings.Contains(why, "Softmax") || err != nil {
		t.Fatalf("dimension 1 is not refused: %q, %v", why, err)
	}
	_, err := executable.BatchingRefusal(2)
	fails(t, err, poprt.InvalidArgument, "[2,4]")
}

func TestScenario04HalfPrecision(t *testing.T) {
	r := runner(t, compile(t, "half.onnx", map[string][]int64{"x": {2, 4}}))
	x, y := make([]poprt.Float16, 8), make([]poprt.Float16, 8)
	for i := range x {
		x[i] = poprt.ToFloat16(float32(i))
	}
	ok(t, r.Execute([]poprt.Tensor{poprt.Named("x", x)}, []poprt.Tensor{poprt.Named("y", y)}))
	for i := range y {
		if y[i].Float32() != float32(2*i+1) {
			t.Fatalf("y[%d] is %v", i, y[i].Float32())
		}
	}
	for p := 0; p < 1<<16; p++ {
		h := poprt.Float16(p)
		f := h.Float32()
		back := poprt.ToFloat16(f)
		if f != f {
			if b := back.Float32(); b == b {
				t.Fatalf("NaN %04x became %v", p, b)
			}
		} else if back != h {
			t.Fatalf("%04x became %04x over %v", p, back, f)
		}
	}
	if poprt.ToFloat16(1+1.0/2048) != 0x3c00 || !math.IsInf(float64(poprt.ToFloat16(65520).Float32()), 1) ||
		poprt.ToFloat16(65519).Float32() != 65504 {
		t.Fatal("wrong rounding")
	}
}

func TestScenario05Asynchronous(t *testing.T) {
	r := runner(t, affine(t))
	const n = 100
	done := make(chan *poprt.Call, n)
	x, y := make([][]float32, n), make([][]float32, n)
	for i := range x {
		x[i], y[i] = iota8(float32(i)), make([]float32, 8)
		r.Go(in(x[i]), out(y[i]), done)
	}
	for i := 0; i < n; i++ {
		ok(t, (<-done).Error)
	}
	for i := range x {
		twicePlusOne(t, x[i], y[i])
	}
}

func TestScenario132ARunnerIsClosedWhileABatchWaits(t *testing.T) {
	patient := func() *poprt.Runner { // whose incomplete batches wait without limit
		e := compile(t, "affine.onnx", map[string][]int64{"x": {4, 4}})
		return must(poprt.NewRunner(e, &poprt.RunnerOptions{Threads: 1, UseBatchingDim: true, Timeout: -1}))
	}
	r := patient()
	x, y, z := iota8(0)[:4], make([]float32, 4), make([]float32, 4)
	done, blocked := make(chan *poprt.Call, 1), make(chan error, 1)
	r.Go(in(x), out(y), done)
	go func() { blocked <- r.Execute(in(x), out(z)) }()
	for must(r.Counters()).Submitted < 2 {
		time.Sleep(time.Millisecond)
	}
	equal(t, len(done)+len(blocked), 0)
	ok(t, r.Close())
	ok(t, (<-done).Error)
	ok(t, <-blocked)
	twicePlusOne(t, x, y)
	twicePlusOne(t, x, z)
	drained := patient()
	defer drained.Close()
	ok(t, drained.Drain())
	ok(t, drained.Execute(in(x), out(y)))
}

func TestScenario06Unicode(t *testing.T) {
	e := compile(t, "unicode.onnx", map[string][]int64{"størrelse": {2, 4}})
	path := filepath.Join(t.TempDir(), "størrelse 🚀.popef")
	ok(t, e.Save(path))
	e = must(poprt.Open(path))
	if e.Inputs()[0].Name != "størrelse" || e.Outputs()[0].Name != "ut_🚀" {
		t.Fatalf("%v %v", e.Inputs(), e.Outputs())
	}
	r := runner(t, e)
	x, y := iota8(0), make([]float32, 8)
	ok(t, r.Execute([]poprt.Tensor{poprt.Named("størrelse", x)}, []poprt.Tensor{poprt.Named("ut_🚀", y)}))
	twicePlusOne(t, x, y)
	_, err := poprt.Open(path + "🚀 missing")
	fails(t, err, poprt.NotFound, "størrelse 🚀.popef🚀 missing")
}

func TestScenario07WrongName(t *testing.T) {
	r := runner(t, affine(t))
	x := iota8(0)
	fails(t, r.Execute([]poprt.Tensor{poprt.Named("nope", x)}, out(x)), poprt.NotFound, "'nope'", "'x'")
	fails(t, r.Execute([]poprt.Tensor{poprt.At(7, x)}, out(x)), poprt.NotFound, "7", "'x'")
}

func TestScenario08WrongSize(t *testing.T) {
	r := runner(t, affine(t))
	y := make([]float32, 8)
	fails(t, r.Execute(in(make([]float32, 7)), out(y)), poprt.InvalidArgument, "'x'", "32", "28")
	fails(t, r.Execute(in(make([]float32, 9)), out(y)), poprt.InvalidArgument, "'x'", "32", "36")
}

func TestScenario09WrongType(t *testing.T) {
	r := runner(t, affine(t))
	y := make([]float32, 8)
	fails(t, r.Execute([]poprt.Tensor{poprt.Named("x", make([]float64, 4))}, out(y)), poprt.InvalidArgument, "'x'", "f32")
	fails(t, r.Execute([]poprt.Tensor{poprt.Named("x", make([]int32, 8))}, out(y)), poprt.InvalidArgument, "'x'", "f32")
	ok(t, r.Execute([]poprt.Tensor{poprt.NamedBytes("x", make([]byte, 32))}, out(y)))
	if y[7] != 1 {
		t.Fatalf("y is %v", y)
	}
}

func TestScenario10MissingTensor(t *testing.T) {
	r := runner(t, affine(t))
	x, y := iota8(0), make([]float32, 8)
	fails(t, r.Execute(nil, out(y)), poprt.InvalidArgument, "'x'")
	fails(t, r.Execute(in(x), nil), poprt.InvalidArgument, "'y'")
	fails(t, r.Execute([]poprt.Tensor{poprt.Named("x", x), poprt.At(0, x)}, out(y)), poprt.InvalidArgument, "'x'")
}

func TestScenario11MissingFile(t *testing.T) {
	_, err := poprt.Open("missing.popef")
	fails(t, err, poprt.NotFound, "missing.popef")
	if !errors.Is(err, fs.ErrNotExist) {
		t.Fatal("expected fs.ErrNotExist")
	}
	_, err = poprt.Compile("missing.onnx", nil)
	fails(t, err, poprt.NotFound, "missing.onnx")
}

func TestScenario12NoPopEF(t *testing.T) {
	_, err := poprt.Open(model("affine.onnx"))
	fails(t, err, poprt.InvalidArgument)
}

func TestScenario13UnsupportedOperator(t *testing.T) {
	_, err := poprt.Compile(model("unknown_op.onnx"), nil)
	fails(t, err, poprt.Unimplemented, "Frobnicate")
}

func TestScenario14FreeInOddOrder(t *testing.T) {
	e := affine(t)
	m := must(poprt.NewDeviceManager(0))
	d := must(m.Device())
	r := must(poprt.NewRunner(e, &poprt.RunnerOptions{Threads: 1, Device: d}))
	x, y := iota8(0), make([]float32, 8)
	c := r.Go(in(x), out(y), nil)
	ok(t, e.Close())
	ok(t, m.Close())
	ok(t, d.Close())
	ok(t, r.Close())
	runtime.GC()
	ok(t, (<-c.Done).Error)
	twicePlusOne(t, x, y)
}

func TestScenario15UseAfterClose(t *testing.T) {
	e := affine(t)
	r := runner(t, e)
	x, y := iota8(0), make([]float32, 8)
	b := must(r.Bind(in(x), out(y)))
	ok(t, r.Close())
	ok(t, r.Close())
	ok(t, e.Close())
	ok(t, e.Close())
	_, errBytes := e.Bytes()
	_, errProfile := r.Profile()
	_, errRunner := poprt.NewRunner(e, nil)
	for _, err := range []error{r.Execute(in(x), out(y)), b.Execute(), (<-b.Go(nil).Done).Error, r.Stop(),
		e.Save("never.popef"), errBytes, errProfile, errRunner} {
		if !errors.Is(err, poprt.ErrClosed) {
			t.Fatalf("expected ErrClosed, got %v", err)
		}
	}
}

func slow(t testing.TB) *poprt.Executable { return compile(t, "slow.onnx", nil) }

func slowMemory() ([]poprt.Tensor, []poprt.Tensor) {
	return in(make([]float32, 512*512)), out(make([]float32, 512*512))
}

// freeDevices waits until all devices are free at the same time.
func freeDevices(t testing.TB) {
	t.Helper()
	m := must(poprt.NewDeviceManager(0))
	for attempt := 0; ; attempt++ {
		var all []*poprt.Device
		var err error
		for len(all) < m.DeviceCount() && err == nil {
			var d *poprt.Device
			if d, err = m.Device(); err == nil {
				all = append(all, d)
			}
		}
		for _, d := range all {
			d.Close()
		}
		if err == nil {
			return
		}
		if attempt == 1000 {
			t.Fatalf("%d of %d devices are free", len(all), m.DeviceCount())
		}
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
	}
}

func TestScenario16CloseDuringARun(t *testing.T) {
	r := runner(t, slow(t))
	x, y := slowMemory()
	started, ended := make(chan struct{}), make(chan error)
	go func() {
		var once sync.Once
		for {
			once.Do(func() { close(started) })
			if err := r.Execute(x, y); err != nil {
				ended <- err
				return
			}
		}
	}()
	<-started
	ok(t, r.Close())
	if err := <-ended; !errors.Is(err, poprt.ErrClosed) && !errors.Is(err, poprt.Cancelled) {
		t.Fatal(err)
	}
	freeDevices(t)
}

func TestScenario17TwoThreads(t *testing.T) {
	r := runner(t, affine(t))
	var wait sync.WaitGroup
	for k := 0; k < 2; k++ {
		wait.Add(1)
		go func(k int) {
			defer wait.Done()
			for i := 0; i < 200; i++ {
				x, y := iota8(float32(1000*k+i)), make([]float32, 8)
				if err := r.Execute(in(x), out(y)); err != nil {
					t.Error(err)
				}
				twicePlusOne(t, x, y)
			}
		}(k)
	}
	wait.Wait()
}

// Go has no callback: the goroutine that receives from the channel replaces it.
func TestScenario18Callback(t *testing.T) {
	r := runner(t, affine(t))
	x, y := iota8(0), make([]float32, 8)
	calls := make(chan error)
	done := make(chan *poprt.Call, 1)
	go func() {
		c := <-done
		twicePlusOne(t, x, y)
		again := c.Binding.Go(nil)
		calls <- c.Error
		calls <- (<-again.Done).Error
	}()
	r.Go(in(x), out(y), done)
	ok(t, <-calls)
	ok(t, <-calls)
	twicePlusOne(t, x, y)
}

func TestScenario19PanicInACallback(t *testing.T) {
	func() {
		defer func() {
			if recover() != "boom" {
				t.Error("the panic did not come out of Compile")
			}
		}()
		poprt.Compile(model("affine.onnx"), &poprt.CompileOptions{InputShapes: map[string][]int64{"x": {2, 4}},
			Progress: func(float64, string) { panic("boom") }})
	}()
	r := runner(t, affine(t))
	x, y := iota8(0), make([]float32, 8)
	recovered := make(chan any)
	done := make(chan *poprt.Call, 1)
	go func() {
		defer func() { recovered <- recover() }()
		<-done
		panic("in a goroutine")
	}()
	r.Go(in(x), out(y), done)
	if <-recovered != "in a goroutine" {
		t.Fatal("the panic is lost")
	}
	ok(t, r.Execute(in(x), out(y)))
}

func TestScenario20LargeTensor(t *testing.T) {
	const n = 4 * 4194304
	r := runner(t, compile(t, "affine.onnx", map[string][]int64{"x": {n / 4, 4}}))
	x, y := make([]float32, n), make([]float32, n)
	for i := range x {
		x[i] = float32(i % 1000)
	}
	before := poprt.BytesCopied()
	ok(t, r.Execute(in(x), out(y)))
	twicePlusOne(t, x, y)
	if copied := poprt.BytesCopied() - before; copied != 0 {
		t.Fatalf("%d bytes were copied", copied)
	}
}

func TestScenario21ZeroSizeTensor(t *testing.T) {
	e := compile(t, "affine.onnx", map[string][]int64{"x": {0, 4}})
	if e.Inputs()[0].Bytes != 0 || e.Outputs()[0].Bytes != 0 {
		t.Fatal("anchors are not empty")
	}
	ok(t, runner(t, e).Execute(in(nil), out([]float32{})))
}

func TestScenario22Cancellation(t *testing.T) {
	r := runner(t, slow(t))
	done := make(chan *poprt.Call, 8)
	var calls []*poprt.Call
	for i := 0; i < 8; i++ {
		x, y := slowMemory()
		calls = append(calls, r.Go(x, y, done))
	}
	if !calls[7].Cancel() {
		t.Fatal("the last run has begun")
	}
	if c := <-done; c != calls[7] && c != calls[0] {
		t.Fatal("another run was over first")
	} else {
		done <- c
	}
	ok(t, r.Stop())
	cancelled := 0
	for i := 0; i < 8; i++ {
		c := <-done
		if c.Error != nil {
			fails(t, c.Error, poprt.Cancelled)
			if !errors.Is(c.Error, context.Canceled) {
				t.Fatal("expected context.Canceled")
			}
			cancelled++
		} else if c == calls[7] {
			t.Fatal("the cancelled run was made")
		}
		if c.Cancel() {
			t.Fatal("cancelled a finished request")
		}
	}
	if cancelled < 6 {
		t.Fatalf("%d of 8 were cancelled", cancelled)
	}
	x, y := slowMemory()
	fails(t, r.Execute(x, y), poprt.Cancelled)

	r = runner(t, slow(t))
	blocker := must(r.Bind(x, y)).Go(nil)
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(time.Millisecond, cancel)
	x2, y2 := slowMemory()
	if err := r.ExecuteContext(ctx, x2, y2); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	ok(t, (<-blocker.Done).Error)
}

func TestOptionsOutOfRange(t *testing.T) {
	e := affine(t)
	for _, options := range []poprt.RunnerOptions{{Threads: 1 << 40}, {Threads: -1}, {BatchingDim: -1}} {
		_, err := poprt.NewRunner(e, &options)
		fails(t, err, poprt.InvalidArgument)
	}
	_, err := poprt.NewRunner(e, &poprt.RunnerOptions{BatchingDim: 1})
	fails(t, err, poprt.InvalidArgument, "BatchingDim is 1", "UseBatchingDim")
}

func TestScenario23WaitingWithALimit(t *testing.T) {
	r := runner(t, slow(t))
	x, y := slowMemory()
	b := must(r.Bind(x, y))
	ctx, cancel := context.WithTimeout(context.Background(), time.Nanosecond)
	defer cancel()
	if err := b.ExecuteContext(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	ctx, cancel = context.WithCancel(context.Background())
	defer cancel()
	ok(t, b.ExecuteContext(ctx))
	ok(t, b.ExecuteContext(context.Background()))
}

const mostGrown = 6 << 20

// grows returns whether the memory grows: a leak grows in each cycle, and the memory that Go and malloc keep reaches a limit,
// so a leak has to grow in each of three rounds.
func grows(t testing.TB, cycle func()) bool {
	t.Helper()
	after := func(cycles int) int {
		for i := 0; i < cycles; i++ {
			cycle()
		}
		freeDevices(t)       // objects that wait for their finalizers are no leak
		debug.FreeOSMemory() // memory that earlier tests have left may go at any time
		return must(resident.Bytes())
	}
	before := after(1000)
	for round := 1; round <= 3; round++ {
		now := after(3000)
		t.Logf("resident %d KiB, 3 000 cycles later %d", before>>10, now>>10)
		if now <= before+mostGrown {
			return false
		}
		before = now
	}
	return true
}

func TestLeaksAreFound(t *testing.T) {
	var kept [][]byte
	leak := func() {
		page := make([]byte, 4096)
		page[0] = 1
		kept = append(kept, page)
	}
	if !grows(t, leak) {
		t.Fatal("4 KiB a cycle were not found")
	}
	runtime.KeepAlive(kept)
}

func TestScenario26NoExplicitClose(t *testing.T) {
	t.Setenv("POPRT_DEVICES", "256") // memory is collected after that many runners, not after four
	e := affine(t)
	x, y := iota8(0), make([]float32, 8)
	if grows(t, func() { runForgotten(t, e, x, y) }) {
		t.Fatal("memory grows")
	}
	twicePlusOne(t, x, y)
}

// runForgotten runs once and closes nothing.
func runForgotten(t testing.TB, e *poprt.Executable, x, y []float32) {
	t.Helper()
	// Devices are released by collections only, so a wait for one is short.
	options := &poprt.RunnerOptions{Threads: 1, DeviceWait: 10 * time.Millisecond}
	r, err := poprt.NewRunner(e, options)
	for attempt := 0; errors.Is(err, poprt.Unavailable) && attempt < 1000; attempt++ {
		runtime.GC() // finalizers give devices back
		runtime.Gosched()
		r, err = poprt.NewRunner(e, options)
	}
	ok(t, err)
	ok(t, r.Execute(in(x), out(y)))
}

func exitInFlight() {
	e := must(poprt.Compile(model("slow.onnx"), nil))
	r := must(poprt.NewRunner(e, &poprt.RunnerOptions{Threads: 1}))
	for i := 0; i < 8; i++ {
		x, y := slowMemory()
		r.Go(x, y, nil)
	}
}

func TestScenario27ExitWithRunsInFlight(t *testing.T) {
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), "POPRT_EXIT_IN_FLIGHT=1")
	if output, err := command.CombinedOutput(); err != nil || len(output) != 0 {
		t.Fatalf("%v: %s", err, output)
	}
}

func TestScenario28Version(t *testing.T) {
	if parts := strings.Split(poprt.Version(), "."); len(parts) != 3 {
		t.Fatal(poprt.Version())
	}
}
