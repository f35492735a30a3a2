package scenario

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	poprt "poprt.example.org/bindings/go"
)

func counting(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i)
	}
	return x
}

func loaded(t *testing.T, path string, compile *poprt.CompileOptions, options *poprt.RunnerOptions) *poprt.Runner {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	r, err := poprt.LoadRunner(path, compile, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func affineRunner(t *testing.T, options *poprt.RunnerOptions) *poprt.Runner {
	return loaded(t, model("affine.onnx"), &poprt.CompileOptions{InputShapes: map[string][]int64{"x": {2, 4}}, Shapes: "fixed"}, options)
}

func checkRows(t *testing.T, r *poprt.Runner, rows int) {
	t.Helper()
	x := counting(4 * rows)
	outputs, err := r.Run(poprt.Shaped("x", x, int64(rows), 4))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, fmt.Sprint(outputs["y"].Shape), fmt.Sprintf("[%d 4]", rows))
	twicePlusOne(t, x, must(poprt.Values[float32](outputs["y"])))
	y := make([]float32, 4*rows)
	ok(t, r.Execute(in(x), out(y)))
	twicePlusOne(t, x, y)
}

func TestScenario80AnyShape(t *testing.T) {
	r := loaded(t, model("affine.onnx"), nil, nil)
	for _, rows := range []int{3, 1, 3} {
		checkRows(t, r, rows)
	}
	_, err := r.Run(poprt.Shaped("x", counting(15), 3, 5))
	fails(t, err, poprt.InvalidArgument, "x", "[3,5]")
}

func TestScenario129AnInputIsMissing(t *testing.T) {
	for _, options := range []*poprt.CompileOptions{nil, {InputShapes: map[string][]int64{"x": {2, 4}}, Shapes: "fixed"}} {
		_, err := loaded(t, model("affine.onnx"), options, nil).Run()
		fails(t, err, poprt.InvalidArgument, "input 'x' is missing")
	}
}

func TestScenario81BatchCompiledAhead(t *testing.T) {
	r := loaded(t, model("affine.onnx"), &poprt.CompileOptions{BatchSize: 2}, nil)
	equal(t, fmt.Sprint(r.Inputs()[0].Shape), "[2 4]")
	for _, rows := range []int{2, 5, 1} {
		checkRows(t, r, rows)
	}
}

func TestScenario82WarmUp(t *testing.T) {
	r := loaded(t, model("affine.onnx"), nil, nil)
	ok(t, r.WarmUpShapes(map[string][]int64{"x": {2, 4}}, map[string][]int64{"x": {6, 4}}))
	ok(t, r.WarmUp("x=8,4/9,4"))
	if statistics := must(r.Statistics()); !strings.Contains(statistics, `"compiled": 4`) {
		t.Error(statistics)
	}
	fails(t, r.WarmUpShapes(map[string][]int64{"z": {2, 4}}), poprt.NotFound, "z")
	fails(t, affineRunner(t, &poprt.RunnerOptions{UseBatchingDim: true}).WarmUp("x=2,4"), poprt.Unimplemented, "fixed")
}

func TestScenario112OpenDimensions(t *testing.T) {
	open := must(loaded(t, model("affine.onnx"), &poprt.CompileOptions{BatchSize: 2}, nil).OpenDimensions())
	fixed := must(affineRunner(t, nil).OpenDimensions())
	if !strings.Contains(open, `"on_demand": true`) || !strings.Contains(open, `"N"`) {
		t.Error(open)
	}
	if !strings.Contains(fixed, `"on_demand": false`) || strings.Contains(fixed, `"N"`) {
		t.Error(fixed)
	}
}

func TestScenario83ShapeSets(t *testing.T) {
	options := &poprt.CompileOptions{ShapeSets: []map[string][]int64{{"x": {1, 4}}, {"x": {4, 4}}}}
	r := must(poprt.NewRunner(must(poprt.Compile(model("affine.onnx"), options)), nil))
	defer r.Close()
	for _, rows := range []int{3, 1, 4} {
		checkRows(t, r, rows)
	}
	fails(t, r.Execute(in(counting(20)), out(make([]float32, 20))), poprt.InvalidArgument, "5")
}

func TestScenario84ShapesAreRemoved(t *testing.T) {
	r := loaded(t, model("affine.onnx"), nil, &poprt.RunnerOptions{MaxShapes: 1})
	for _, rows := range []int{1, 2, 3, 4} {
		checkRows(t, r, rows)
	}
	if statistics := must(r.Statistics()); !strings.Contains(statistics, `"removed": 3`) {
		t.Error(statistics)
	}
}

func TestScenario123MemoryOfShapes(t *testing.T) {
	r := loaded(t, model("affine.onnx"), nil, &poprt.RunnerOptions{MaxShapeMemory: 4096})
	checkRows(t, r, 3)
	fails(t, r.Execute(in(counting(4000)), out(make([]float32, 4000))), poprt.InvalidArgument, "32000 bytes", "4096")
	checkRows(t, r, 3)
}

func TestScenario100APopefFileAtAnyShape(t *testing.T) {
	path := filepath.Join(t.TempDir(), "affine.popef")
	load := func(source bool, precision poprt.Precision) (*poprt.Executable, error) {
		options := &poprt.CompileOptions{InputShapes: map[string][]int64{"x": {2, 4}}, EmbedSource: source}
		ok(t, must(poprt.Compile(model("affine.onnx"), options)).Save(path))
		t.Setenv("XDG_CACHE_HOME", t.TempDir())
		return poprt.Load(path, &poprt.CompileOptions{Shapes: "on_demand", Precision: precision})
	}
	e, err := load(true, 0)
	if err != nil {
		t.Fatal(err)
	}
	r := must(poprt.NewRunner(e, nil))
	t.Cleanup(func() { r.Close() })
	for _, rows := range []int{3, 2, 1, 3} {
		checkRows(t, r, rows)
	}
	_, err = load(true, poprt.FP16)
	fails(t, err, poprt.InvalidArgument, "precision")
	_, err = load(false, 0)
	fails(t, err, poprt.FailedPrecondition, "EmbedSource")
}

func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("expected '%s', got %v", part, err)
		}
	}
}

func TestRunMakesOutputsForAnyNumberOfRows(t *testing.T) {
	for _, c := range []struct {
		options *poprt.RunnerOptions
		rows    int64
	}{{nil, 2}, {nil, 6}, {&poprt.RunnerOptions{Dynamic: true, PadTimeout: 1000}, 3}} {
		r := affineRunner(t, c.options)
		x := counting(int(4 * c.rows))
		for _, in := range []poprt.Tensor{poprt.Named("x", x), poprt.Shaped("x", x, c.rows, 4), poprt.At(0, x)} {
			outputs, err := r.Run(in)
			if err != nil {
				t.Fatal(err)
			}
			y, err := poprt.Values[float32](outputs["y"])
			if err != nil || !reflect.DeepEqual(outputs["y"].Shape, []int64{c.rows, 4}) {
				t.Fatal(outputs["y"], err)
			}
			for i := range y {
				if y[i] != 2*x[i]+1 {
					t.Fatalf("y[%d] = %g", i, y[i])
				}
			}
		}
	}
}

func TestRunChecksShapesAndTypes(t *testing.T) {
	r := affineRunner(t, nil)
	_, err := r.Run(poprt.Shaped("x", counting(8), 4, 2))
	wantError(t, err, "input 'x': expected f32[2,4], given f32[4,2]")
	_, err = r.Run(poprt.Named("x", make([]float64, 8)))
	wantError(t, err, "input 'x'", "f32", "f64")
	_, err = r.Run(poprt.Named("z", counting(8)))
	wantError(t, err, "'z'", "inputs are: 'x'")
	outputs, err := r.Run(poprt.Named("x", counting(8)))
	if err != nil {
		t.Fatal(err)
	}
	_, err = poprt.Values[int32](outputs["y"])
	wantError(t, err, "output 'y' holds elements of f32, requested s32")
}

func TestShapesAreCheckedWhereverATensorIsGiven(t *testing.T) {
	r := affineRunner(t, nil)
	x, y := counting(8), make([]float32, 8)
	right, wrong := poprt.Shaped("x", x, 2, 4), poprt.Shaped("x", x, 4, 2)
	one := func(t poprt.Tensor) []poprt.Tensor { return []poprt.Tensor{t} }
	for name, run := range map[string]func(in, out poprt.Tensor) error{
		"Execute":        func(in, out poprt.Tensor) error { return r.Execute(one(in), one(out)) },
		"ExecuteContext": func(in, out poprt.Tensor) error { return r.ExecuteContext(context.Background(), one(in), one(out)) },
		"Go":             func(in, out poprt.Tensor) error { return (<-r.Go(one(in), one(out), nil).Done).Error },
		"Bind": func(in, out poprt.Tensor) error {
			b, err := r.Bind(one(in), one(out))
			if err == nil {
				err = b.Execute()
			}
			return err
		},
	} {
		wantError(t, run(wrong, poprt.Shaped("y", y, 2, 4)), "input 'x': expected f32[2,4], given f32[4,2]")
		wantError(t, run(right, poprt.Shaped("y", y, 8)), "output 'y': expected f32[2,4], given f32[8]")
		wantError(t, run(poprt.Shaped("x", []float32{}, 2, 4), poprt.Named("y", y)), "the slice has none")
		wantError(t, run(poprt.Shaped("x", x[:4], 2, 4), poprt.Named("y", y)), "32 bytes, given 16 bytes")
		for i := range y {
			y[i] = 0
		}
		if err := run(right, poprt.Shaped("y", y, 1, 2, 4)); err != nil || y[7] != 15 {
			t.Fatal(name, y, err)
		}
	}
	_, err := r.Run(poprt.Shaped("x", []float32{}, 2, 4))
	wantError(t, err, "the slice has none")

	frozen := func(in poprt.Tensor) error {
		f, err := poprt.NewRunner(affine(t), &poprt.RunnerOptions{Threads: 1, FrozenInputs: one(in)})
		if err == nil {
			defer f.Close()
			err = f.Execute(nil, one(poprt.Named("y", y)))
		}
		return err
	}
	wantError(t, frozen(wrong), "frozen input 'x': expected f32[2,4], given f32[4,2]")
	wantError(t, frozen(poprt.Named("x", make([]int32, 8))), "frozen input 'x': expected elements of f32, given s32")
	wantError(t, frozen(poprt.Named("z", x)), "there is no input 'z'; inputs are: 'x'")
	for _, in := range []poprt.Tensor{right, poprt.Named("x", x), poprt.At(0, x)} {
		if err := frozen(in); err != nil || y[7] != 15 {
			t.Fatal(y, err)
		}
	}
}

func TestShapesOfWeightsAreChecked(t *testing.T) {
	e := must(poprt.Compile(model("weights.onnx"), &poprt.CompileOptions{InputShapes: map[string][]int64{"x": {2, 4}}, VariableWeights: true}))
	light := must(poprt.NewLightRunner(e, &poprt.RunnerOptions{Threads: 1}))
	defer light.Close()
	session := must(poprt.NewSession(e, &poprt.SessionOptions{Threads: 1}))
	defer session.Close()
	w := counting(4)
	for _, set := range []func(string, poprt.Tensor) error{light.SetInput, session.UpdateWeights, session.ReadWeights} {
		wantError(t, set("w", poprt.Shaped("", w, 2, 2)), "input 'w': expected f32[4], given f32[2,2]")
		wantError(t, set("w", poprt.Elements(make([]int32, 4))), "input 'w': expected elements of f32, given s32")
		for _, value := range []poprt.Tensor{poprt.Elements(w), poprt.Shaped("", w, 4)} {
			if err := set("w", value); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestShapesInQueuesAreChecked(t *testing.T) {
	session := must(poprt.NewSession(affine(t), &poprt.SessionOptions{Threads: 1}))
	defer session.Close()
	queues := must(session.NewQueueManager(nil))
	x, y := must(queues.InputQueue("x")), must(queues.OutputQueue("y"))
	wantError(t, (<-x.Enqueue(poprt.Shaped("", counting(8), 4, 2), nil).Done).Error,
		"queue 'x': expected f32[2,4], parts of it or several, given shape [4,2]")
	wantError(t, (<-x.Enqueue(poprt.Shaped("", counting(8), 1, 1, 2, 4), nil).Done).Error, "given shape [1,1,2,4]")
	made := make([]float32, 8)
	done := y.Enqueue(poprt.Shaped("", made, 1, 2, 4), nil).Done
	x.Enqueue(poprt.Shaped("", counting(4), 1, 4), nil)
	x.Enqueue(poprt.Shaped("", counting(4), 4), nil)
	if err := session.RunMainPrograms(); err != nil {
		t.Fatal(err)
	}
	if err := (<-done).Error; err != nil || made[7] != 7 {
		t.Fatal(made, err)
	}
}

func threads(t *testing.T) int {
	t.Helper()
	status := string(must(os.ReadFile("/proc/self/status")))
	var count int
	fmt.Sscan(strings.SplitN(strings.SplitN(status, "Threads:", 2)[1], "\n", 2)[0], &count)
	return count
}

// wrongRuns has the errors of runs with wrong inputs.
func wrongRuns(r *poprt.Runner) []string {
	var texts []string
	for _, wrong := range [][]poprt.Tensor{
		{poprt.Shaped("z", make([]float32, 4), 1, 4)},
		{poprt.Shaped("x", make([]float32, 3), 1, 3)},
		{poprt.Shaped("x", make([]int32, 4), 1, 4)},
		{},
	} {
		_, err := r.Run(wrong...)
		texts = append(texts, fmt.Sprint(err))
	}
	return texts
}

// Many goroutines in Run do not need a thread each. The step of the runner never fills, so all of them wait.
func TestRunsThatWaitTakeNoThreads(t *testing.T) {
	r := loaded(t, model("affine.onnx"), &poprt.CompileOptions{InputShapes: map[string][]int64{"x": {1024, 4}}},
		&poprt.RunnerOptions{Threads: 1, UseBatchingDim: true, Timeout: -1, QueueDepth: 2048})
	const waiting = 500
	before := threads(t)
	wrong := wrongRuns(r)
	for _, text := range wrong {
		if text == "<nil>" {
			t.Error(wrong)
		}
	}
	var all sync.WaitGroup
	failures := make(chan error, waiting+1)
	run := func(first float32) {
		defer all.Done()
		outputs, err := r.Run(poprt.Shaped("x", []float32{first, 1, 2, 3}, 1, 4))
		if err == nil {
			if y := must(poprt.Values[float32](outputs["y"])); y[0] != 2*first+1 || y[3] != 7 {
				err = fmt.Errorf("%g: %v", first, y)
			}
		}
		failures <- err
	}
	for i := 0; i < waiting; i++ {
		all.Add(1)
		go run(float32(i))
	}
	for deadline := time.Now().Add(30 * time.Second); must(r.Counters()).InFlight < waiting; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the requests do not arrive")
		}
	}
	if now := threads(t); now > before+waiting/10 { // Go makes some threads while goroutines wait in calls of C
		t.Errorf("%d goroutines in Run made %d threads of %d", waiting, now, before)
	}
	equal(t, wrongRuns(r), wrong) // the errors are those of runs with a thread
	x, y := make([]float32, 4*(1024-waiting)), make([]float32, 4*(1024-waiting))
	if err := r.Execute(in(x), out(y)); err != nil { // fills the batch
		t.Fatal(err)
	}
	all.Wait()
	for i := 0; i < waiting; i++ {
		if err := <-failures; err != nil {
			t.Fatal(err)
		}
	}
}

func TestRunCropsWhatIsPadded(t *testing.T) {
	r := loaded(t, filepath.Join("..", "..", "data", "cli", "nonzero.onnx"), nil, nil)
	in := r.Inputs()[0]
	x := make([]float32, in.Elements())
	x[1], x[len(x)-1] = 1, 1
	outputs, err := r.Run(poprt.Named(in.Name, x))
	if err != nil || len(outputs) != 1 {
		t.Fatal(outputs, err)
	}
	for _, o := range outputs {
		found, err := poprt.Values[int64](o)
		want := []int64{0, in.Shape[0] - 1, 1, in.Shape[1] - 1}
		if err != nil || !reflect.DeepEqual(o.Shape, []int64{2, 2}) || !reflect.DeepEqual(found, want) {
			t.Error(o, found, err)
		}
	}
}

func TestLoadCompilesOnceAndOpens(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	for i := 0; i < 2; i++ {
		e, err := poprt.Load(model("lookup.onnx"), nil)
		if err != nil {
			t.Fatal(err)
		}
		popef := filepath.Join(cache, "lookup.popef")
		if err := e.Save(popef); err != nil {
			t.Fatal(err)
		}
		if _, err := poprt.Load(popef, nil); err != nil {
			t.Error(err)
		}
	}
	if files, err := os.ReadDir(filepath.Join(cache, "poprt")); err != nil || len(files) != 1 {
		t.Error(files, err)
	}
	_, err := poprt.Open(model("lookup.onnx"))
	wantError(t, err, "an ONNX model, not a PopEF file: compile it first")
	_, err = poprt.Load(model("affine.onnx"), &poprt.CompileOptions{Shapes: "fixed"})
	wantError(t, err, "give InputShapes x=... or BatchSize")
}

func TestMetadataOfTheModel(t *testing.T) {
	e, err := poprt.Compile("../../../examples/digits/digits.onnx", &poprt.CompileOptions{BatchSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	if e.Metadata()["producer_name"] == "" {
		t.Error(e.Metadata())
	}
}
