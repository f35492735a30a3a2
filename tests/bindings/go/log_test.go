package scenario

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	poprt "poprt.example.org/bindings/go"
)

// warn makes the compiler warn: the cache folder is a file.
func warn(t testing.TB, noFolder string) {
	t.Helper()
	ok(t, os.WriteFile(noFolder, nil, 0o600))
	must(poprt.Compile(model("affine.onnx"), &poprt.CompileOptions{InputShapes: map[string][]int64{"x": {2, 4}}, Cache: true,
		CachePath: noFolder})).Close()
}

func warnElsewhere(t testing.TB, noFolder string) {
	t.Helper()
	var done sync.WaitGroup
	done.Add(1)
	go func() {
		defer done.Done()
		warn(t, noFolder)
	}()
	done.Wait()
}

func TestScenario54LogMessages(t *testing.T) {
	noFolder := filepath.Join(t.TempDir(), "cache")
	var messages []string
	take := func(level poprt.LogLevel, message string) {
		ok(t, poprt.SetLogLevel("WARNING")) // a receiver may call the library
		equal(t, level.String(), "WARNING")
		messages = append(messages, message)
	}
	stop := poprt.OnLog(take)
	warn(t, noFolder)
	warnElsewhere(t, noFolder)
	stop()
	stop()
	if len(messages) != 2 || messages[0] != messages[1] || !strings.Contains(messages[0], noFolder) {
		t.Fatal(messages)
	}
	ok(t, poprt.SetLogLevel("OFF"))
	stop = poprt.OnLog(take)
	warn(t, noFolder)
	stop()
	ok(t, poprt.SetLogLevel("WARNING"))
	equal(t, len(messages), 2)
}

func TestScenario54Panics(t *testing.T) {
	noFolder := filepath.Join(t.TempDir(), "cache")
	r, w, err := os.Pipe()
	ok(t, err)
	before := os.Stderr
	os.Stderr = w
	received := 0
	stop := poprt.OnLog(func(poprt.LogLevel, string) { received++ })
	stopPanics := poprt.OnLog(func(poprt.LogLevel, string) { panic("of the test") })
	warn(t, noFolder)
	warnElsewhere(t, noFolder)
	stopPanics()
	warn(t, noFolder) // one receiver is left
	stop()
	os.Stderr = before
	ok(t, w.Close())
	written := must(io.ReadAll(r))
	equal(t, bytes.Count(written, []byte("panicked: of the test")), 2)
	equal(t, received, 3)
}

func TestScenario55InputLengths(t *testing.T) {
	options := &poprt.CompileOptions{BatchSize: 2}
	_, err := poprt.Compile(model("sequence.onnx"), options)
	fails(t, err, poprt.InvalidArgument, "'s' is a sequence")
	options.InputLengths = map[string]int64{"s": 2}
	r := runner(t, must(poprt.Compile(model("sequence.onnx"), options)))
	equal(t, r.Inputs()[0].String()+" "+r.Inputs()[1].String(), "s[0] f32 [2,3] s[1] f32 [2,3]")
	y := make([]float32, 12)
	ok(t, r.Execute([]poprt.Tensor{poprt.Named("s[0]", []float32{0, 1, 2, 3, 4, 5}),
		poprt.Named("s[1]", []float32{6, 7, 8, 9, 10, 11})}, out(y)))
	for i := range y {
		equal(t, y[i], float32(i))
	}
	options.InputLengths["s"] = -1
	_, err = poprt.Compile(model("sequence.onnx"), options)
	fails(t, err, poprt.InvalidArgument, "'s'", "-1")
}

func TestScenario56OpaqueBlobs(t *testing.T) {
	options := &poprt.CompileOptions{InputShapes: map[string][]int64{"x": {2, 4}},
		OpaqueBlobs: map[string][]byte{"notes": {97, 0, 98}}}
	compiled := must(poprt.Compile(model("affine.onnx"), options))
	made := must(compiled.PopEFModel())
	path := filepath.Join(t.TempDir(), "notes.popef")
	ok(t, compiled.Save(path))
	ok(t, compiled.Close())
	_, err := compiled.PopEFModel()
	equal(t, err, poprt.ErrClosed)
	checkNotes(t, made)
	checkNotes(t, must(must(poprt.OpenPopEF(path)).Model("")))
	opened := must(poprt.OpenModel(made, poprt.OpenOptions{}))
	ok(t, made.Close())
	_, err = poprt.OpenModel(made, poprt.OpenOptions{})
	equal(t, err, poprt.ErrClosed)
	equal(t, opened.Inputs()[0].String(), "x f32 [2,4]")
	s := session(t, opened)
	defer s.Close()
	checkNotes(t, must(s.PopEFModel()))
	options.OpaqueBlobs[""] = nil
	_, err = poprt.Compile(model("affine.onnx"), options)
	fails(t, err, poprt.InvalidArgument, "name")
	options.OpaqueBlobs, options.EmbedSource = nil, true
	made = must(must(poprt.Compile(model("affine.onnx"), options)).PopEFModel())
	blobs := must(made.Blobs(poprt.OpaqueBlob))
	equal(t, len(blobs), 2)
	equal(t, blobs[1].Name, "poprt.source")
	equal(t, must(blobs[1].Data()), must(os.ReadFile(model("affine.onnx"))))
}

func checkNotes(t testing.TB, m *poprt.PopEFModel) {
	t.Helper()
	blobs := must(m.Blobs(poprt.OpaqueBlob))
	equal(t, len(blobs), 2)
	equal(t, blobs[1].Name, "poprt.rows")
	equal(t, blobs[0].Name+" "+blobs[0].Executable, "notes affine")
	equal(t, must(blobs[0].Data()), []byte{97, 0, 98})
}

func TestScenario57TelemetryOfARunner(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("POPRT_TELEMETRY_DIR", folder)
	for _, on := range []bool{false, true} {
		r := must(poprt.NewRunner(affine(t), &poprt.RunnerOptions{Threads: 1, Telemetry: on}))
		ok(t, r.Execute(in(iota8(0)), out(make([]float32, 8))))
		json := strings.ReplaceAll(must(poprt.ReadTelemetry(folder)), " ", "")
		equal(t, strings.Contains(json, `"completed":1`), on)
		ok(t, r.Close())
	}
}

func TestScenario58ProfileOfASession(t *testing.T) {
	s := must(poprt.NewSession(affine(t), &poprt.SessionOptions{Threads: 1, Profile: true}))
	defer s.Close()
	ok(t, s.SetInputHandler("x", &numbers{}))
	ok(t, s.SetOutputHandler("y", poprt.OutputFunc(nothing)))
	for i := 0; i < 3; i++ {
		ok(t, s.RunMainPrograms())
	}
	json := strings.ReplaceAll(must(s.Profile()), " ", "")
	if !strings.Contains(json, `"runs":3`) || !strings.Contains(json, `"kernel"`) {
		t.Fatal(json)
	}
	ok(t, s.UnloadFromDevice())
	_, err := s.Profile()
	fails(t, err, poprt.FailedPrecondition, "device")
	without := session(t, affine(t))
	defer without.Close()
	_, err = without.Profile()
	fails(t, err, poprt.FailedPrecondition, "profiling")
}

// broken has bytes that cannot be read.
type broken struct{}

var errBroken = errors.New("of the test")

func (broken) ReadAt([]byte, int64) (int, error) { return 0, errBroken }

func TestScenario59PopEFByPosition(t *testing.T) {
	path := filepath.Join(t.TempDir(), "affine.popef")
	ok(t, affine(t).Save(path))
	file := must(os.ReadFile(path))
	code := must(must(must(poprt.OpenPopEF(path)).Blobs(poprt.ExecutableBlob))[0].Data())
	p := must(poprt.OpenPopEFAt(bytes.NewReader(file), int64(len(file))))
	equal(t, must(must(p.Blobs(poprt.ExecutableBlob))[0].Data()), code)
	m := must(p.Model(""))
	ok(t, p.Close())
	equal(t, must(poprt.OpenModel(m, poprt.OpenOptions{})).Inputs()[0].String(), "x f32 [2,4]")
	mapping := must(must(m.Blobs(poprt.ExecutableBlob))[0].Map())
	equal(t, mapping.Bytes(), code)
	ok(t, mapping.Close())
	ok(t, m.Close())
	_, err := poprt.OpenPopEFAt(broken{}, int64(len(file)))
	equal(t, err, errBroken)

	_, err = poprt.OpenPopEFAt(bytes.NewReader(file[:100]), 100)
	kind(t, err, poprt.PopEFFormatError)
	_, err = poprt.OpenPopEF(model("affine.onnx"))
	kind(t, err, poprt.PopEFFormatError)
	_, err = poprt.OpenPopEF(path + ".missing")
	kind(t, err, poprt.PopEFFileError)
	_, err = must(poprt.OpenPopEF(path)).Model("nope")
	kind(t, err, poprt.PopEFLinkError)
	_, err = poprt.Compile(path+".missing", nil)
	kind(t, err, poprt.NotPopEF)
}

func kind(t testing.TB, err error, expected poprt.PopEFError) {
	t.Helper()
	var e *poprt.Error
	if !errors.As(err, &e) || e.PopEF != expected {
		t.Fatalf("expected %v, got %v", expected, err)
	}
}

func TestScenario60FurtherOptionsOfARunner(t *testing.T) {
	manager := must(poprt.NewDeviceManager(0))
	defer manager.Close()
	device := must(manager.SpecificDevice(3))
	defer device.Close()
	small := must(manager.SmallIPUModelDevice(1, 21))
	defer small.Close()
	equal(t, small.TilesPerIPU(), int64(4))
	e, x, y := affine(t), iota8(0), make([]float32, 8)
	some := must(poprt.NewDeviceManagerWith(poprt.DeviceManagerOptions{DeviceCount: 6, Visible: "1,3-4", Shared: "0"}))
	equal(t, some.DeviceIDs(), []int64{1, 3, 4})
	ok(t, some.Close())
	_, err := poprt.NewDeviceManagerWith(poprt.DeviceManagerOptions{Shared: "relative/folder"})
	fails(t, err, poprt.InvalidArgument)
	options := &poprt.RunnerOptions{Threads: 1, FrozenInputs: in(x), ReplicaDevices: map[int64]*poprt.Device{0: device}}
	r := must(poprt.NewRunner(e, options))
	_, err = poprt.NewRunner(e, options)
	fails(t, err, poprt.FailedPrecondition)
	x[0] = 100 // the runner has copied x
	equal(t, r.InputHasData(0), true)
	ok(t, r.Execute(nil, out(y)))
	twicePlusOne(t, iota8(0), y)
	ok(t, r.Close())

	r = must(poprt.NewRunner(e, &poprt.RunnerOptions{Threads: 1, Faults: "recoverable_runtime_error@2", OverlapIO: true,
		BatchesPerStep: 1}))
	defer r.Close()
	equal(t, r.InputHasData(0), false)
	ok(t, r.Execute(in(iota8(1)), out(y)))
	twicePlusOne(t, iota8(1), y)
	fails(t, r.Execute(in(x), out(y)), poprt.Unavailable)
	_, err = poprt.NewRunner(e, &poprt.RunnerOptions{FrozenInputs: in(x[:7])})
	fails(t, err, poprt.InvalidArgument, "x", "28")
	r = must(poprt.NewRunner(e, &poprt.RunnerOptions{Threads: 1, NoValidateIO: true}))
	defer r.Close()
	ok(t, r.Execute(nil, out(y))) // x is zeros
	equal(t, y[7], float32(1))
}
