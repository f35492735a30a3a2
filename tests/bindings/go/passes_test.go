package scenario

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	poprt "poprt.example.org/bindings/go"
)

func onePass(name, parameter, value string) []poprt.PassCall {
	return []poprt.PassCall{{Name: name, Arguments: map[string]string{parameter: value}}}
}

func TestScenario66Passes(t *testing.T) {
	affine := must(os.ReadFile(model("affine.onnx")))
	both := append(onePass("const_batch_size", "const_batch_size", "3"), onePass("add_checkpoints", "names", "twice")...)
	ok(t, poprt.CheckPasses(both))
	made := must(poprt.ApplyPasses(affine, both, poprt.PassOptions{}))
	r := runner(t, must(poprt.CompileBytes(made, "", nil)))
	if names := r.Inputs()[0].String() + " " + r.Outputs()[0].String() + " " + r.Outputs()[1].String(); names !=
		"x f32 [3,4] y f32 [3,4] twice f32 [3,4]" {
		t.Fatal(names)
	}
	x, y, twice := make([]float32, 12), make([]float32, 12), make([]float32, 12)
	for i := range x {
		x[i] = float32(i)
	}
	ok(t, r.Execute(in(x), []poprt.Tensor{poprt.Named("y", y), poprt.Named("twice", twice)}))
	twicePlusOne(t, x, y)
	for i := range x {
		if twice[i] != 2*x[i] {
			t.Fatalf("twice[%d] is %v, expected %v", i, twice[i], 2*x[i])
		}
	}
	for _, harmless := range [][]poprt.PassCall{{{Name: "sort_graph"}}, nil} {
		same := must(poprt.ApplyPasses(affine, harmless, poprt.PassOptions{}))
		e := must(poprt.CompileBytes(same, "", &poprt.CompileOptions{InputShapes: map[string][]int64{"x": {2, 4}}}))
		if e.Inputs()[0].String() != "x f32 [2,4]" {
			t.Fatal(e.Inputs())
		}
	}
	apply := func(onnx []byte, calls []poprt.PassCall) error {
		_, err := poprt.ApplyPasses(onnx, calls, poprt.PassOptions{})
		return err
	}
	nonsense := []poprt.PassCall{{Name: "nonsense"}}
	fails(t, poprt.CheckPasses(nonsense), poprt.NotFound, "nonsense")
	fails(t, apply(affine, nonsense), poprt.NotFound, "nonsense")
	fails(t, poprt.CheckPasses(onePass("const_batch_size", "rows", "3")), poprt.InvalidArgument, "rows", "const_batch_size")
	fails(t, apply(affine, onePass("const_batch_size", "const_batch_size", "many")), poprt.InvalidArgument, "many")
	fails(t, poprt.CheckPasses([]poprt.PassCall{{Name: "remove_outputs"}}), poprt.InvalidArgument, "outputs")
	if err := apply([]byte{1, 2, 3}, []poprt.PassCall{{Name: "sort_graph"}}); !errors.Is(err, poprt.InvalidArgument) &&
		!errors.Is(err, poprt.DataLoss) {
		t.Fatal(err)
	}
	const last = "replace_groupnorm_with_fast_norm"
	if sorted := must(poprt.SortPasses(last)); strings.Join(sorted, " ") != "layer_norm_pattern "+last {
		t.Fatal(sorted)
	}
	if list := must(poprt.ListPassesJSON()); !strings.HasPrefix(list, "[") || !strings.Contains(list, `"const_batch_size"`) {
		t.Fatal(list)
	}
}

func TestScenario68ReplicasWithCaches(t *testing.T) {
	folder := t.TempDir()
	ok(t, os.Chmod(folder, 0o700))
	cache := must(poprt.Compile(model("cache.onnx"), nil))
	r := must(poprt.NewRunner(cache, &poprt.RunnerOptions{ReplicationFactor: 2, SharedDevices: folder}))
	manager := must(poprt.NewDeviceManagerWith(poprt.DeviceManagerOptions{DeviceCount: 2, Shared: folder}))
	_, err := manager.Device()
	fails(t, err, poprt.Unavailable, "busy")
	step, x, y := make([]int32, 1), make([]float32, 1), make([]float32, 3)
	b := must(r.Bind([]poprt.Tensor{poprt.Named("step", step), poprt.Named("x", x)}, []poprt.Tensor{poprt.Named("y", y)}))
	for at := 0; at < 4; at++ {
		for replica := 0; replica < 2; replica++ {
			step[0], x[0] = int32(at), float32(10*replica+at+1)
			b.Replica(replica)
			if at%2 == 0 {
				ok(t, b.Execute())
			} else {
				ok(t, (<-b.Go(nil).Done).Error)
			}
			for i := range y {
				if expected := x[0] - float32(i); i > at && y[i] != 0 || i <= at && y[i] != expected {
					t.Fatalf("step %d of replica %d: %v", at, replica, y)
				}
			}
		}
	}
	fails(t, b.Replica(2).Execute(), poprt.NotFound, "no replica 2")
	fails(t, b.Replica(-1).Execute(), poprt.NotFound, "no replica")
	ok(t, r.Close())
}

func TestScenario69OptionsOfARequest(t *testing.T) {
	r := must(poprt.NewRunner(affine(t), &poprt.RunnerOptions{ReplicationFactor: 2, BatchesPerStep: 4, Timeout: -1}))
	x, y := []float32{0, 1, 2, 3, 4, 5, 6, 7}, make([]float32, 8)
	b := must(r.Bind([]poprt.Tensor{poprt.Named("x", x)}, []poprt.Tensor{poprt.Named("y", y)}))
	submit := func(options poprt.RequestOptions) error { return (<-b.GoWith(options, nil).Done).Error }
	b.Replica(1)
	ok(t, submit(poprt.RequestOptions{AtOnce: true}))
	for i := range y {
		if y[i] != 2*x[i]+1 {
			t.Fatal(y)
		}
	}
	if n := must(r.ReplicaCounters(1)).Completed; n != 1 {
		t.Fatalf("replica 1 has completed %d", n)
	}
	fails(t, submit(poprt.RequestOptions{Timeout: 5 * time.Millisecond}), poprt.DeadlineExceeded)
	fails(t, submit(poprt.RequestOptions{Timeout: -1}), poprt.InvalidArgument, "timeout_ns")
	b.Replica(2)
	fails(t, submit(poprt.RequestOptions{AtOnce: true}), poprt.NotFound, "no replica 2")
}

func TestScenario73DamagedAndTruncatedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weights.popef")
	ok(t, must(poprt.Compile(model("weights.onnx"), nil)).Save(path))
	r := must(poprt.NewRunner(must(poprt.Open(path)), &poprt.RunnerOptions{Load: "copy"}))
	data := must(os.ReadFile(path))
	ok(t, os.Truncate(path, 0))
	x, y := counting(8), make([]float32, 8)
	ok(t, r.Execute([]poprt.Tensor{poprt.Named("x", x)}, []poprt.Tensor{poprt.Named("y", y)}))
	if want := []float32{1, 3, 7, 13, 5, 11, 19, 29}; !reflect.DeepEqual(y, want) {
		t.Fatalf("y is %v", y)
	}
	ok(t, r.Close())
	data[bytes.Index(data, []byte{0, 0, 64, 64, 0, 0, 128, 64})] ^= 1
	ok(t, os.WriteFile(path, data, 0o600))
	damaged := must(poprt.Open(path))
	ok(t, must(poprt.NewRunner(damaged, nil)).Close())
	create := func(options poprt.RunnerOptions) error {
		_, err := poprt.NewRunner(damaged, &options)
		return err
	}
	fails(t, create(poprt.RunnerOptions{Verify: true}), poprt.DataLoss, path, "'weights'", "is damaged")
	_, err := poprt.DumpPopEF(path, poprt.Verify)
	fails(t, err, poprt.DataLoss, "is damaged")
	fails(t, create(poprt.RunnerOptions{Load: "slow"}), poprt.InvalidArgument, "slow")
}

func TestScenario93PrecisionOfARunner(t *testing.T) {
	linear := must(poprt.Compile(model("linear.onnx"), &poprt.CompileOptions{InputShapes: map[string][]int64{"x": {2, 4}}}))
	const exact = float32(1 + 1.0/1024 + 1.0/4096)
	for precision, factor := range map[string]float32{"": exact, "f32": exact, "auto": exact, "f16": 1 + 1.0/1024, "bf16": 1} {
		r := must(poprt.NewRunner(linear, &poprt.RunnerOptions{ExecutionPrecision: precision, Load: "copy"}))
		x, y := []float32{0, 1, 2, 3, 4, 5, 6, 7}, make([]float32, 8)
		ok(t, r.Execute([]poprt.Tensor{poprt.Named("x", x)}, []poprt.Tensor{poprt.Named("y", y)}))
		for i := range y {
			if y[i] != x[i]*factor {
				t.Fatalf("%s: y[%d] is %v", precision, i, y[i])
			}
		}
		ok(t, r.Close())
	}
	_, err := poprt.NewRunner(linear, &poprt.RunnerOptions{ExecutionPrecision: "int8"})
	fails(t, err, poprt.InvalidArgument, "int8")
}

func TestScenario67FaithfulNumerics(t *testing.T) {
	path := filepath.Join(t.TempDir(), "half.popef")
	options := &poprt.CompileOptions{InputShapes: map[string][]int64{"x": {2, 4}}, Options: map[string]string{"numerics": "faithful"}}
	ok(t, must(poprt.Compile(model("half.onnx"), options)).Save(path))
	half := must(poprt.Open(path))
	for _, numerics := range []string{"faithful", "saturating"} {
		r := must(poprt.NewRunner(half, &poprt.RunnerOptions{Numerics: numerics}))
		x, y := make([]poprt.Float16, 8), make([]poprt.Float16, 8)
		for i := range x {
			x[i] = poprt.ToFloat16(float32(i))
		}
		x[7] = poprt.ToFloat16(40000)
		ok(t, r.Execute([]poprt.Tensor{poprt.Named("x", x)}, []poprt.Tensor{poprt.Named("y", y)}))
		for i := range y[:7] {
			if y[i].Float32() != float32(2*i+1) {
				t.Fatalf("y[%d] is %v", i, y[i].Float32())
			}
		}
		if last := y[7].Float32(); numerics == "faithful" && last == last || numerics == "saturating" && last != 65504 {
			t.Fatalf("%s: 80001 became %v", numerics, last)
		}
		ok(t, r.Close())
	}
	create := func(e *poprt.Executable, options poprt.RunnerOptions) error {
		_, err := poprt.NewRunner(e, &options)
		return err
	}
	fails(t, create(affine(t), poprt.RunnerOptions{Numerics: "faithful"}), poprt.FailedPrecondition, "numerics=faithful")
	fails(t, create(half, poprt.RunnerOptions{Numerics: "slow"}), poprt.InvalidArgument, "slow")
	fails(t, create(half, poprt.RunnerOptions{Numerics: "faithful", ReplicationFactor: 2}), poprt.InvalidArgument, "ReplicationFactor")
}
