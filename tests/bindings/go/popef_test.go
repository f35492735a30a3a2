package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	poprt "poprt.example.org/bindings/go"
)

func TestScenario64Plugins(t *testing.T) {
	fails(t, poprt.LoadPlugin("missing.so"), poprt.NotFound, "missing.so")
	fails(t, poprt.LoadPlugin(model("affine.onnx")), poprt.FailedPrecondition, "no shared library")
	if list := must(poprt.ListPlugins()); !strings.HasPrefix(list, "[") {
		t.Fatal(list)
	}
}

func TestScenario74OptionsByName(t *testing.T) {
	options := &poprt.CompileOptions{Options: map[string]string{"input_shape": "x=2,4", "num_io_tiles": "32"}}
	e := must(poprt.Compile(model("affine.onnx"), options))
	defer e.Close()
	compiled := must(e.PopEFModel())
	equal(t, compiled.UserInputs[0].Shape, []int64{2, 4})
	equal(t, compiled.Metadata.EngineOptions[1], poprt.PopEFOption{Name: "num_io_tiles", Value: "32"})
	if !strings.Contains(must(poprt.ListOptions()), "num_io_tiles") {
		t.Fatal("num_io_tiles is not in the list")
	}
	if counts := must(poprt.IOStatistics(model("affine.onnx"))); !strings.Contains(counts, "inputs: 1") {
		t.Fatal(counts)
	}
	for _, wrong := range []struct {
		name    string
		code    poprt.Code
		message string
	}{{"nonsense", poprt.InvalidArgument, "'nonsense'"}, {"compiler_options", poprt.Unimplemented, "virtual_graph_mode"}} {
		_, err := poprt.Compile(model("affine.onnx"), &poprt.CompileOptions{Options: map[string]string{wrong.name: "virtual_graph_mode=executionPhases"}})
		fails(t, err, wrong.code, wrong.message)
	}
}

func TestScenario51ReadAPopEFFile(t *testing.T) {
	e := affine(t)
	path := filepath.Join(t.TempDir(), "affine.popef")
	ok(t, e.Save(path))
	p := must(poprt.OpenPopEF(path))
	programs := must(p.Blobs(poprt.ExecutableBlob))
	if len(programs) != 1 || programs[0].Name != e.Name() || programs[0].Compressed {
		t.Fatal(programs)
	}
	anchors := must(p.Anchors())
	found := map[string]poprt.PopEFAnchor{}
	for _, a := range anchors {
		found[a.Name] = a
	}
	x, y := found["x"], found["y"]
	if x.Direction != poprt.HostToDevice || y.Direction != poprt.DeviceToHost || x.DType != poprt.F32 ||
		x.Executable != e.Name() || x.Handle == "" || len(x.Programs) == 0 {
		t.Fatal(anchors)
	}
	equal(t, x.Shape, []int64{2, 4})

	model := must(p.Model(""))
	equal(t, model.UserInputs, []poprt.PopEFAnchor{x})
	equal(t, model.UserOutputs, []poprt.PopEFAnchor{y})
	equal(t, model.Metadata, must(p.Metadata())[0])
	equal(t, len(must(p.Models())), 1)
	_, err := p.Model("nope")
	fails(t, err, poprt.FailedPrecondition, "nope")
	equal(t, must(p.Warnings()), "")

	file := must(os.ReadFile(path))
	data := must(programs[0].Data())
	if int64(len(data)) != programs[0].Bytes || !bytes.Contains(file, data) {
		t.Fatal("the payload is not in the file")
	}
	mapping := must(programs[0].Map())
	equal(t, mapping.Bytes(), data)
	maps := must(os.ReadFile("/proc/self/maps"))
	if address := uintptr(unsafe.Pointer(&mapping.Bytes()[0])); !mapped(string(maps), path, address) {
		t.Fatalf("%#x is not in the map of the file:\n%s", address, maps)
	}
	part := make([]byte, 10)
	if n, err := programs[0].ReadAt(part, 5); n != 10 || err != nil || !bytes.Equal(part, data[5:15]) {
		t.Fatal(n, err)
	}
	if n, err := programs[0].ReadAt(part, programs[0].Bytes-4); n != 4 || err != io.EOF {
		t.Fatal(n, err)
	}
	if all := must(io.ReadAll(io.NewSectionReader(programs[0], 0, programs[0].Bytes))); !bytes.Equal(all, data) {
		t.Fatal("the section reader gives other bytes")
	}
	_, err = programs[0].ReadAt(part, -1)
	fails(t, err, poprt.InvalidArgument, "-1")

	_, err = poprt.OpenPopEF("missing.popef")
	fails(t, err, poprt.NotFound, "missing.popef")
	_, err = poprt.OpenPopEF(filepath.Join("..", "data", "affine.onnx"))
	fails(t, err, poprt.InvalidArgument, "affine.onnx")
	_, err = poprt.Blob{Name: "new"}.Map()
	fails(t, err, poprt.InvalidArgument, "new")
	ok(t, p.Close())
	ok(t, p.Close())
	equal(t, mapping.Bytes(), data)
	ok(t, mapping.Close())
	ok(t, mapping.Close())
	if mapping.Bytes() != nil {
		t.Fatal("a closed mapping has bytes")
	}
	for _, err := range []error{
		func() error { _, err := p.Anchors(); return err }(),
		func() error { _, err := p.Model(""); return err }(),
		func() error { _, err := programs[0].Data(); return err }(),
		func() error { _, err := programs[0].Map(); return err }(),
	} {
		if !errors.Is(err, poprt.ErrClosed) {
			t.Fatal(err)
		}
	}
	equal(t, must(must(model.Blobs(poprt.ExecutableBlob))[0].Data()), data)
	ok(t, model.Close())
	if _, err := model.Blobs(poprt.ExecutableBlob); !errors.Is(err, poprt.ErrClosed) {
		t.Fatal(err)
	}
}

func TestScenario52WriteAPopEFFile(t *testing.T) {
	random := rand.New(rand.NewSource(7))
	code := make([]byte, 10000)
	for i := range code {
		code[i] = byte(random.Intn(4))
	}
	weights, images := make([]byte, 12), make([]byte, 48)
	random.Read(weights)
	random.Read(images)
	metadata := poprt.PopEFMetadata{
		Executable: "model", SeedHandle: "h2d_seed", ReplicationFactor: 2, NumIPUs: 4, IPUVersion: 21, IsPOD: true,
		NumProcesses: 3, IsTraining: true, DeviceIterations: 1 << 40,
		EngineOptions: []poprt.PopEFOption{{Name: "b", Value: "1"}, {Name: "a", Value: ""}},
		DeviceOptions: []poprt.PopEFOption{{Name: "tiles", Value: "16"}},
		LoadPrograms:  []int64{0, 2}, MainPrograms: []int64{5}, SavePrograms: []int64{7, 3},
		ProgramNames: map[int64]string{0: "WeightsFromHost", 5: "størrelse"},
		Anchors: []poprt.PopEFAnchor{
			{Executable: "model", Name: "x", Handle: "h2d_x", Direction: poprt.HostToDevice, DType: poprt.F32,
				Shape: []int64{2, 2}, Programs: []int64{5}, IsPerReplica: true},
			{Executable: "model", Name: "w", DType: poprt.F16, Shape: []int64{2, 3}, Programs: []int64{}},
			{Executable: "model", Name: "fed", Handle: "h2d_fed", Direction: poprt.HostToDevice, DType: poprt.F32,
				Shape: []int64{2, 2}, Programs: []int64{5}},
			{Executable: "model", Name: "y", Handle: "d2h_y", Direction: poprt.DeviceToHost, DType: poprt.F8143,
				Shape: []int64{}, Programs: []int64{5}},
		},
	}
	path := filepath.Join(t.TempDir(), "størrelse.popef")
	for _, compressed := range []bool{false, true} {
		w := must(poprt.CreatePopEF(path))
		_, err := w.Write(code)
		fails(t, err, poprt.FailedPrecondition, "begun")
		ok(t, w.WriteMetadata(metadata))
		write := func(blob poprt.Blob, parts ...[]byte) {
			t.Helper()
			ok(t, w.Begin(blob))
			for _, part := range parts {
				equal(t, must(w.Write(part)), len(part))
			}
		}
		write(poprt.Blob{Type: poprt.ExecutableBlob, Name: "model", Compressed: compressed}, code[:1], code[1:])
		write(poprt.Blob{Type: poprt.OpaqueBlob, Name: "notes", Executable: "model"}, []byte("free text"))
		write(poprt.Blob{Type: poprt.TensorBlob, Name: "w", DType: poprt.F16, Shape: []int64{2, 3}}, weights)
		write(poprt.Blob{Type: poprt.FeedBlob, Name: "fed", DType: poprt.F32, Shape: []int64{2, 2}, Tensors: 3}, images[:16],
			images[16:], nil)
		ok(t, w.Finish())
		ok(t, w.Finish())
		fails(t, w.WriteMetadata(metadata), poprt.FailedPrecondition)
		ok(t, w.Close())
		if err := w.Finish(); !errors.Is(err, poprt.ErrClosed) {
			t.Fatal(err)
		}

		p := must(poprt.OpenPopEF(path))
		equal(t, must(p.Metadata()), []poprt.PopEFMetadata{metadata})
		for kind, want := range map[poprt.BlobType][]byte{poprt.ExecutableBlob: code, poprt.OpaqueBlob: []byte("free text"),
			poprt.TensorBlob: weights, poprt.FeedBlob: images} {
			b := must(p.Blobs(kind))[0]
			equal(t, must(b.Data()), want)
			equal(t, b.Compressed, compressed && kind == poprt.ExecutableBlob)
		}
		fed := must(p.Blobs(poprt.FeedBlob))[0]
		equal(t, fed.Tensors, int64(3))
		equal(t, fed.Shape, []int64{2, 2})
		equal(t, must(p.Blobs(poprt.OpaqueBlob))[0].Executable, "model")
		npy := filepath.Join(t.TempDir(), "exported.npy")
		ok(t, poprt.ExportTensor(path, "w", "", npy))
		equal(t, must(os.ReadFile(npy))[len(must(os.ReadFile(npy)))-12:], weights)
		ok(t, poprt.ExportFeed(path, "fed", "", npy))
		equal(t, must(os.ReadFile(npy))[len(must(os.ReadFile(npy)))-48:], images)
		fails(t, poprt.ExportTensor(path, "fed", "", npy), poprt.NotFound, "fed")
		fails(t, poprt.ExportFeed(path, "w", "", npy), poprt.NotFound, "w")
		models := must(p.Models())
		equal(t, models[0].UserInputs, metadata.Anchors[:1])
		equal(t, models[0].UserOutputs, metadata.Anchors[3:])
		ok(t, p.Close())
	}

	before := must(os.ReadFile(path))
	w := must(poprt.CreatePopEF(path))
	ok(t, w.Begin(poprt.Blob{Type: poprt.OpaqueBlob, Name: "lost"}))
	ok(t, w.Close())
	w = must(poprt.CreatePopEF(path))
	ok(t, w.Begin(poprt.Blob{Type: poprt.TensorBlob, Name: "w", DType: poprt.F16, Shape: []int64{2, 3}}))
	must(w.Write(weights[:11]))
	fails(t, w.Finish(), poprt.InvalidArgument, "12", "11")
	fails(t, w.Finish(), poprt.FailedPrecondition)
	metadata.MainPrograms = []int64{-1}
	fails(t, w.WriteMetadata(metadata), poprt.InvalidArgument, "-1")
	ok(t, w.Close())
	equal(t, must(os.ReadFile(path)), before)

	w = must(poprt.AppendPopEF(path))
	ok(t, w.Begin(poprt.Blob{Type: poprt.TensorBlob, Name: "w", Executable: "model", DType: poprt.F16, Shape: []int64{2, 3}}))
	must(w.Write(images[:12]))
	ok(t, w.Finish())
	m := must(must(poprt.OpenPopEF(path)).Model("model"))
	equal(t, must(must(m.Blobs(poprt.TensorBlob))[0].Data()), images[:12])
}

// mapped reports whether the address is in a part of the process that is mapped from the file.
func mapped(maps, file string, address uintptr) bool {
	for _, line := range strings.Split(maps, "\n") {
		var from, until uintptr
		if n, _ := fmt.Sscanf(line, "%x-%x", &from, &until); n == 2 && strings.HasSuffix(line, file) && from <= address &&
			address < until {
			return true
		}
	}
	return false
}

// failing is a stream that takes some bytes and then fails.
type failing struct {
	takes int
	with  func() (int, error)
}

func (f *failing) Write(data []byte) (int, error) {
	if f.takes -= len(data); f.takes < 0 {
		return f.with()
	}
	return len(data), nil
}

func TestScenario53FeedsSideBySideAndStreams(t *testing.T) {
	image := poprt.Blob{Name: "image", Executable: "model", DType: poprt.F32, Shape: []int64{2, 2}, Tensors: 3}
	label := poprt.Blob{Name: "label", DType: poprt.U8, Shape: []int64{}, Tensors: 3}
	images := make([]byte, 48)
	rand.New(rand.NewSource(7)).Read(images)
	write := func(w *poprt.PopEFWriter) {
		ok(t, w.WriteMetadata(poprt.PopEFMetadata{Executable: "model"}))
		ok(t, w.BeginFeeds(image, label))
		for i := 0; i < 2; i++ {
			must(w.Feed(0).Write(images[16*i : 16*i+16]))
			must(w.Feed(1).Write([]byte{byte(i)}))
		}
		must(w.Feed(0).Write(images[32:]))
		must(w.Feed(1).Write([]byte{2}))
		ok(t, w.Finish())
		ok(t, w.Close())
	}
	path := filepath.Join(t.TempDir(), "feeds.popef")
	write(must(poprt.CreatePopEF(path)))
	var stream bytes.Buffer
	write(must(poprt.NewPopEFWriter(&stream)))
	equal(t, stream.Bytes(), must(os.ReadFile(path)))
	feeds := must(must(poprt.OpenPopEF(path)).Blobs(poprt.FeedBlob))
	equal(t, len(feeds), 2)
	equal(t, feeds[0].Executable+feeds[1].Executable, "modelmodel")
	equal(t, must(feeds[0].Data()), images)
	equal(t, must(feeds[1].Data()), []byte{0, 1, 2})

	for _, none := range []int{2, -1} {
		w := must(poprt.NewPopEFWriter(&stream))
		ok(t, w.BeginFeeds(image, label))
		_, err := w.Feed(none).Write(images[:1])
		fails(t, err, poprt.InvalidArgument)
		ok(t, w.Close())
	}
	w := must(poprt.NewPopEFWriter(&stream))
	ok(t, w.BeginFeeds(image, label))
	must(w.Feed(0).Write(images))
	fails(t, w.Finish(), poprt.InvalidArgument)
	ok(t, w.Close())

	full := errors.New("full")
	for _, f := range []struct {
		takes int
		with  func() (int, error)
		want  error
	}{
		{0, func() (int, error) { return 0, full }, full},
		{100, func() (int, error) { return 0, full }, full},
		{0, func() (int, error) { return 1, nil }, io.ErrShortWrite},
	} {
		w := must(poprt.NewPopEFWriter(&failing{f.takes, f.with}))
		err := w.Begin(poprt.Blob{Type: poprt.OpaqueBlob, Name: "notes"})
		if err == nil {
			must(w.Write(make([]byte, 10000)))
			err = w.Finish()
		}
		if err != f.want {
			t.Fatal(err)
		}
		if err := w.Finish(); err != f.want {
			t.Fatal(err)
		}
		ok(t, w.Close())
	}
	w = must(poprt.NewPopEFWriter(&failing{0, func() (int, error) { panic("over") }}))
	func() {
		defer func() { equal(t, recover(), any("over")) }()
		ok(t, w.WriteMetadata(poprt.PopEFMetadata{Executable: "model"}))
		t.Fatal(w.Finish())
	}()
	fails(t, w.Finish(), poprt.Cancelled)
}

// The files before the one that fails are closed.
func TestEveryCallOfAWriterReturnsItsError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "errors.popef")
	w := must(poprt.CreatePopEF(path))
	fails(t, w.Begin(poprt.Blob{Type: poprt.OpaqueBlob, Executable: "a"}), poprt.FailedPrecondition)
	ok(t, w.Begin(poprt.Blob{Type: poprt.TensorBlob, Name: "w", DType: poprt.F16, Shape: []int64{2}}))
	_, err := w.Write([]byte{1, 2, 3})
	ok(t, err)
	fails(t, w.Begin(poprt.Blob{Type: poprt.OpaqueBlob, Name: "next"}), poprt.InvalidArgument, "4", "3")
	fails(t, w.Begin(poprt.Blob{Type: poprt.OpaqueBlob, Name: "later"}), poprt.FailedPrecondition)
	fails(t, w.WriteMetadata(poprt.PopEFMetadata{}), poprt.FailedPrecondition)
	fails(t, w.Finish(), poprt.FailedPrecondition)
	ok(t, w.Close())
	_, err = os.Stat(path)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
}

func TestAReaderThatCannotBeOpenedKeepsNoFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kept.popef")
	ok(t, affine(t).Save(path))
	isMapped := func() bool { return strings.Contains(string(must(os.ReadFile("/proc/self/maps"))), path) }
	p := must(poprt.OpenPopEF(path))
	equal(t, isMapped(), true)
	ok(t, p.Close())
	_, err := poprt.OpenPopEF(path, path+".none")
	fails(t, err, poprt.NotFound, "kept.popef.none")
	equal(t, isMapped(), false)
}
