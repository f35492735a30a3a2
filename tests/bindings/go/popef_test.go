package scenario

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	poprt "poprt.org/bindings/go"
)

func TestScenario51ReadAPopEFFile(t *testing.T) {
	e := compile(t, "affine.onnx", map[string][]int64{"x": {2, 4}})
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
		!reflect.DeepEqual(x.Shape, []int64{2, 4}) || x.Executable != e.Name() || x.Handle == "" || len(x.Programs) == 0 {
		t.Fatal(anchors)
	}

	file := must(os.ReadFile(path))
	data := must(programs[0].Data())
	if int64(len(data)) != programs[0].Bytes || !bytes.Contains(file, data) {
		t.Fatal("the payload is not in the file")
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
	_, err := programs[0].ReadAt(part, -1)
	fails(t, err, poprt.InvalidArgument, "-1")

	_, err = poprt.OpenPopEF("missing.popef")
	fails(t, err, poprt.NotFound, "missing.popef")
	_, err = poprt.OpenPopEF(model("affine.onnx"))
	fails(t, err, poprt.DataLoss, "affine.onnx")
	ok(t, p.Close())
	ok(t, p.Close())
	if _, err := p.Anchors(); !errors.Is(err, poprt.ErrClosed) {
		t.Fatal(err)
	}
	if _, err := programs[0].Data(); !errors.Is(err, poprt.ErrClosed) {
		t.Fatal(err)
	}
}
