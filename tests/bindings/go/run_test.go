package scenario

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

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
	return loaded(t, model("affine.onnx"), &poprt.CompileOptions{InputShapes: map[string][]int64{"x": {2, 4}}}, options)
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
	wantError(t, err, "output 'y' holds elements of f32, asked for s32")
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
	_, err = poprt.Load(model("affine.onnx"), nil)
	wantError(t, err, "give InputShapes x=... or BatchSize with BatchAxis")
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
