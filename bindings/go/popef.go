package poprt

import (
	"fmt"
	"io"
	"runtime"

	"poprt.example.org/bindings/go/internal/native"
)

// BlobType is the kind of a [Blob] of a PopEF file.
type BlobType int

const (
	ExecutableBlob BlobType = 1
	TensorBlob     BlobType = 3 // the value of one anchor
	FeedBlob       BlobType = 4 // a sequence of values of one anchor
	OpaqueBlob     BlobType = 5 // bytes without a defined format
)

// PopEF is the contents of one or several PopEF files. Payloads are read on request. Any number of goroutines may use
// one.
type PopEF struct {
	h      *handle[native.RawPopefReader]
	source *native.Source // nil: files
}

// OpenPopEF finds the blobs of files. Do not change a file while it is in use; replacing it by rename is safe. Errors:
// NotFound, PermissionDenied, DataLoss, FailedPrecondition (a newer version, or a duplicate executable).
func OpenPopEF(paths ...string) (_ *PopEF, refused error) {
	defer refuse(&refused)
	var err uintptr
	raw := native.NewRawPopefReader(&err)
	if err := check(err); err != nil {
		return nil, err
	}
	p := &PopEF{newHandle(raw, native.DeleteRawPopefReader), nil}
	for _, path := range paths {
		if err := check(raw.Parse_file(path)); err != nil {
			p.Close()
			return nil, err
		}
	}
	return p, nil
}

// OpenPopEFAt finds the blobs of PopEF data in the first size bytes of source, which must not change. Headers are read
// now, and payloads on request. Errors: those of source, DataLoss, FailedPrecondition (as [OpenPopEF]). Since 1.0.
func OpenPopEFAt(source io.ReaderAt, size int64) (*PopEF, error) {
	var err uintptr
	raw := native.NewRawPopefReader(&err)
	if err := check(err); err != nil {
		return nil, err
	}
	p := &PopEF{newHandle(raw, native.DeleteRawPopefReader), &native.Source{Func: func(data []byte, offset int64) error {
		n, err := source.ReadAt(data, offset)
		if n == len(data) {
			return nil
		}
		return err
	}}}
	read, release, userData := p.source.Pointers()
	if err := sourceError(p.source, check(raw.Parse_source(size, read, release, userData))); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// sourceError returns the error of a source. The library only knows that there was one.
func sourceError(source *native.Source, err error) error {
	if source == nil || err == nil {
		return err
	}
	failure, panicked := source.Take()
	if panicked != nil {
		panic(panicked)
	}
	if failure != nil {
		return failure
	}
	return err
}

// Close is optional. The blobs of p cannot be read afterwards; those of its models can.
func (p *PopEF) Close() error { return p.h.Close() }

// Blob is a blob of a PopEF file, or the description of a blob for [PopEFWriter.Begin].
type Blob struct {
	Type       BlobType
	Name       string // for tensors and feeds: the anchor's
	Executable string // the executable to which it belongs; "": all with such an anchor
	DType      DType  // for tensors and feeds
	Shape      []int64
	Tensors    int64 // number of consecutive tensors in a feed
	Bytes      int64 // of the payload, decompressed
	Compressed bool

	owner  keeper
	raw    native.RawPopefBlob
	source *native.Source
}

// keeper is the handle of the owner of borrowed objects: a reader or a model.
type keeper interface {
	hold() error
	release()
}

// Blobs returns the blobs of a type, in the order of the files.
func (p *PopEF) Blobs(kind BlobType) ([]Blob, error) { return blobs(p.h, p.source, kind) }

// blobs returns the blobs of a raw reader or model.
func blobs[T interface {
	Count(int) int64
	Blob(int, int64) native.RawPopefBlob
}](h *handle[T], source *native.Source, kind BlobType) ([]Blob, error) {
	raw, err := h.acquire()
	if err != nil {
		return nil, err
	}
	defer h.release()
	if kind == metadataBlob {
		return nil, invalid("metadata is read by Metadata")
	}
	list := make([]Blob, raw.Count(int(kind)))
	for i := range list {
		b := raw.Blob(int(kind), int64(i))
		shape := make([]int64, b.Rank())
		for d := range shape {
			shape[d] = b.Dimension(int64(d))
		}
		list[i] = Blob{kind, b.Name(), b.Executable(), DType(b.Dtype()), shape, b.Tensor_count(), b.Bytes(), b.Compressed(),
			h, b, source}
	}
	return list, nil
}

// ReadAt is [io.ReaderAt] over the payload; [io.NewSectionReader] makes an [io.Reader] of a blob. Errors: ErrClosed,
// InvalidArgument (a negative offset, a blob of no file), and those of [Blob.Map].
func (b Blob) ReadAt(data []byte, offset int64) (int, error) {
	if offset < 0 {
		return 0, invalid(fmt.Sprintf("offset is %d", offset))
	}
	if b.owner == nil {
		return 0, invalid(fmt.Sprintf("blob '%s' is of no file", b.Name))
	}
	if err := b.owner.hold(); err != nil {
		return 0, err
	}
	defer b.owner.release()
	n := int64(len(data))
	if left := b.Bytes - offset; n > left {
		n = left
	}
	if n > 0 {
		address, keep := address(data)
		err := sourceError(b.source, check(b.raw.Read(offset, address, n)))
		runtime.KeepAlive(keep)
		if err != nil {
			return 0, err
		}
	} else {
		n = 0
	}
	if n < int64(len(data)) {
		return int(n), io.EOF
	}
	return int(n), nil
}

// Mapping is a payload in memory; see [Blob.Map]. It outlives its reader or model.
type Mapping struct {
	h     *handle[native.RawPopefPayload]
	bytes []byte
}

// Map returns the payload in the map of the file, without a copy. Only a compressed executable and the blobs of
// [OpenPopEFAt] are copied. Errors: those of the source, DataLoss (a compressed executable is damaged),
// ResourceExhausted.
func (b Blob) Map() (*Mapping, error) {
	if b.owner == nil {
		return nil, invalid(fmt.Sprintf("blob '%s' is of no file", b.Name))
	}
	if err := b.owner.hold(); err != nil {
		return nil, err
	}
	defer b.owner.release()
	var failure uintptr
	raw := b.raw.Map_payload(&failure)
	if err := sourceError(b.source, check(failure)); err != nil {
		return nil, err
	}
	return &Mapping{newHandle(raw, native.DeleteRawPopefPayload), native.View(raw.Address(), raw.Bytes())}, nil
}

// Bytes are read-only: writing to them may end the program. They are invalid after m is closed or no longer reachable,
// so close m, or call [runtime.KeepAlive], after their last use. Nil if m is closed.
func (m *Mapping) Bytes() []byte {
	if m.h.hold() != nil {
		return nil
	}
	defer m.h.release()
	return m.bytes
}

// Close is optional; see [Mapping.Bytes].
func (m *Mapping) Close() error { return m.h.Close() }

// Data reads the whole payload. Errors: as [Blob.ReadAt].
func (b Blob) Data() ([]byte, error) {
	data := make([]byte, b.Bytes)
	_, err := b.ReadAt(data, 0)
	return data, err
}

// Model returns an executable with all blobs that belong to it; "": the only one. p may be closed afterwards. Errors:
// FailedPrecondition (no such executable, several and no name, no metadata for it or more than one), DataLoss (data
// that does not fit its anchor).
func (p *PopEF) Model(executable string) (_ *PopEFModel, refused error) {
	defer refuse(&refused)
	raw, err := p.h.acquire()
	if err != nil {
		return nil, err
	}
	defer p.h.release()
	var failure uintptr
	model := native.RawPopefModelCreate(raw, executable, &failure)
	if err := check(failure); err != nil {
		return nil, err
	}
	return newPopEFModel(model, p.source)
}

// Models returns the models of all executables, in the order of the files. Errors: those of Model.
func (p *PopEF) Models() (_ []*PopEFModel, refused error) {
	defer refuse(&refused)
	raw, err := p.h.acquire()
	if err != nil {
		return nil, err
	}
	defer p.h.release()
	var failure uintptr
	all := native.NewRawPopefModels(raw, &failure)
	if err := check(failure); err != nil {
		return nil, err
	}
	defer native.DeleteRawPopefModels(all)
	models := make([]*PopEFModel, all.Count())
	for i := range models {
		if models[i], err = newPopEFModel(all.Take(int64(i)), p.source); err != nil {
			return nil, err
		}
	}
	return models, nil
}

// Warnings returns warnings about unusual data that is not an error, one line each.
func (p *PopEF) Warnings() (string, error) {
	raw, err := p.h.acquire()
	if err != nil {
		return "", err
	}
	defer p.h.release()
	var failure uintptr
	text := raw.Warnings(&failure)
	return native.TakeText(text), check(failure)
}

// PopEFModel is one executable of PopEF files with all blobs that belong to it. If there are several tensor blobs for
// one anchor, one that is linked to the executable takes precedence, and a later one over an earlier one.
type PopEFModel struct {
	Metadata    PopEFMetadata
	UserInputs  []PopEFAnchor // of the main programs, without data: the caller must serve them
	UserOutputs []PopEFAnchor // of the main programs

	h      *handle[native.RawPopefModel]
	source *native.Source // nil: files
}

func newPopEFModel(raw native.RawPopefModel, source *native.Source) (*PopEFModel, error) {
	m := &PopEFModel{h: newHandle(raw, native.DeleteRawPopefModel), source: source}
	defer runtime.KeepAlive(m)
	var err error
	if m.Metadata, err = readMetadata(raw.Metadata()); err != nil {
		return nil, err
	}
	user := func(direction Direction) []PopEFAnchor {
		list := make([]PopEFAnchor, raw.User_anchor_count(int(direction)))
		for i := range list {
			list[i] = m.Metadata.Anchors[raw.User_anchor(int(direction), int64(i))]
		}
		return list
	}
	m.UserInputs, m.UserOutputs = user(HostToDevice), user(DeviceToHost)
	return m, nil
}

// Blobs returns the blobs of a type: one executable, at most one tensor or feed for each anchor, opaque blobs.
func (m *PopEFModel) Blobs(kind BlobType) ([]Blob, error) { return blobs(m.h, m.source, kind) }

// Close is optional. The blobs of m cannot be read afterwards.
func (m *PopEFModel) Close() error { return m.h.Close() }
