package poprt

import (
	"fmt"
	"io"
	"runtime"

	"poprt.org/bindings/go/internal/native"
)

// BlobType says what a [Blob] of a PopEF file holds.
type BlobType int

const (
	ExecutableBlob BlobType = 1
	TensorBlob     BlobType = 3 // the value of one anchor
	FeedBlob       BlobType = 4 // a sequence of values of one anchor
	OpaqueBlob     BlobType = 5 // bytes of whoever wrote them
)

const metadataBlob = 2

// PopEF is what one or several PopEF files hold. Payloads stay in the files until they are read. Any number of
// goroutines may use one.
type PopEF struct {
	h *handle[native.RawPopefReader]
}

// OpenPopEF finds the blobs of files. Do not change a file while it is in use; replacing it by rename is fine.
// Errors: NotFound, PermissionDenied, DataLoss, FailedPrecondition (a newer version's; an executable is there twice).
func OpenPopEF(paths ...string) (*PopEF, error) {
	var err uintptr
	raw := native.NewRawPopefReader(&err)
	if err := check(err); err != nil {
		return nil, err
	}
	p := &PopEF{newHandle(raw, native.DeleteRawPopefReader)}
	for _, path := range paths {
		if err := check(raw.Parse_file(path)); err != nil {
			p.Close()
			return nil, err
		}
	}
	return p, nil
}

// Close is optional. Blobs cannot be read afterwards.
func (p *PopEF) Close() error { return p.h.Close() }

// Blob of a PopEF file.
type Blob struct {
	Type       BlobType
	Name       string // of tensors and feeds: the anchor's
	Executable string // the one it belongs to; "": every one with such an anchor
	DType      DType  // of tensors and feeds
	Shape      []int64
	Tensors    int64 // how many lie back to back in a feed
	Bytes      int64 // of the payload, decompressed
	Compressed bool

	owner *handle[native.RawPopefReader]
	raw   native.RawPopefBlob
}

// Blobs of a type, in the order of the files.
func (p *PopEF) Blobs(kind BlobType) ([]Blob, error) {
	raw, err := p.h.acquire()
	if err != nil {
		return nil, err
	}
	defer p.h.release()
	if kind == metadataBlob {
		return nil, invalid("metadata is read by Anchors")
	}
	list := make([]Blob, raw.Count(int(kind)))
	for i := range list {
		b := raw.Blob(int(kind), int64(i))
		shape := make([]int64, b.Rank())
		for d := range shape {
			shape[d] = b.Dimension(int64(d))
		}
		list[i] = Blob{kind, b.Name(), b.Executable(), DType(b.Dtype()), shape, b.Tensor_count(), b.Bytes(), b.Compressed(),
			p.h, b}
	}
	return list, nil
}

// ReadAt is [io.ReaderAt] over the payload: [io.NewSectionReader] makes a reader of it.
func (b Blob) ReadAt(data []byte, offset int64) (int, error) {
	if offset < 0 {
		return 0, invalid(fmt.Sprintf("offset is %d", offset))
	}
	if _, err := b.owner.acquire(); err != nil {
		return 0, err
	}
	defer b.owner.release()
	n := int64(len(data))
	if left := b.Bytes - offset; n > left {
		n = left
	}
	if n > 0 {
		address, keep := address(data)
		err := check(b.raw.Read(offset, address, n))
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

// Data reads the whole payload.
func (b Blob) Data() ([]byte, error) {
	data := make([]byte, b.Bytes)
	_, err := b.ReadAt(data, 0)
	return data, err
}

// Direction of a [PopEFAnchor].
type Direction int

const (
	NoStream     Direction = iota // has data but no stream
	HostToDevice                  // an input
	DeviceToHost                  // an output
)

// PopEFAnchor is a host-visible tensor of a model as its file describes it.
type PopEFAnchor struct {
	Executable   string // the model
	Name         string
	Handle       string // of its stream; "": no callback can be connected
	Direction    Direction
	DType        DType
	Shape        []int64 // of one transfer
	Programs     []int64 // those that use the stream
	IsPerReplica bool    // the first dimension is the replication factor
}

// Anchors of all models, in the order of the files.
func (p *PopEF) Anchors() ([]PopEFAnchor, error) {
	raw, err := p.h.acquire()
	if err != nil {
		return nil, err
	}
	defer p.h.release()
	var list []PopEFAnchor
	for i := int64(0); i < raw.Count(metadataBlob); i++ {
		metadata := raw.Metadata(i)
		for k := int64(0); k < metadata.Anchor_count(); k++ {
			var failure uintptr
			a := metadata.Anchor(k, &failure)
			if err := check(failure); err != nil {
				return nil, err
			}
			anchor := PopEFAnchor{metadata.Executable(), a.Name(), a.Handle(), Direction(a.Anchor_type()), DType(a.Dtype()),
				make([]int64, a.Rank()), make([]int64, a.Program_count()), a.Is_per_replica()}
			for d := range anchor.Shape {
				anchor.Shape[d] = a.Dimension(int64(d))
			}
			for d := range anchor.Programs {
				anchor.Programs[d] = a.Program(int64(d))
			}
			native.DeleteRawPopefAnchor(a)
			list = append(list, anchor)
		}
	}
	return list, nil
}
