package poprt

import (
	"runtime"
	"sync"

	"poprt.org/bindings/go/internal/native"
)

// PopEFWriter writes a PopEF file blob by blob: Begin says what the bytes that are written next are. Beginning the next
// blob finishes the last one, and Finish the file: without it a file stays, or becomes again, what it was. When a blob
// cannot be finished (wrong size, full disk) the writer has failed, and everything else is FailedPrecondition.
type PopEFWriter struct {
	mutex sync.Mutex // the library's belongs to one thread at a time
	h     *handle[*rawPopEFWriter]
}

// rawPopEFWriter has the active blob: both are released together.
type rawPopEFWriter struct {
	file native.RawPopefWriter
	blob native.RawPopefBlobWriter // nil: none was begun
}

func (w *rawPopEFWriter) begun(next native.RawPopefBlobWriter) {
	if w.blob != nil {
		native.DeleteRawPopefBlobWriter(w.blob)
	}
	w.blob = next
}

// The numbers of poprt/popef_writer.h.
const (
	truncatePopEF = 0
	appendPopEF   = 1
)

// CreatePopEF writes a new file, which takes the place of one that exists when it is finished. Errors: NotFound (the
// folder), PermissionDenied, ResourceExhausted (disk full).
func CreatePopEF(path string) (*PopEFWriter, error) { return newPopEFWriter(path, truncatePopEF) }

// AppendPopEF adds blobs to a file, or makes a new one. Errors: those of CreatePopEF, Unavailable (another writer is
// adding), DataLoss (not a PopEF file).
func AppendPopEF(path string) (*PopEFWriter, error) { return newPopEFWriter(path, appendPopEF) }

func newPopEFWriter(path string, mode int) (*PopEFWriter, error) {
	var failure uintptr
	raw := native.RawPopefWriterCreate_file(path, mode, &failure)
	if err := check(failure); err != nil {
		return nil, err
	}
	return &PopEFWriter{h: newHandle(&rawPopEFWriter{file: raw}, func(w *rawPopEFWriter) {
		w.begun(nil)
		native.DeleteRawPopefWriter(w.file)
	})}, nil
}

// use calls with the raw writer, one goroutine at a time.
func (w *PopEFWriter) use(what func(*rawPopEFWriter) error) error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	raw, err := w.h.acquire()
	if err != nil {
		return err
	}
	defer w.h.release()
	return what(raw)
}

// WriteMetadata writes what is known of an executable. Errors: InvalidArgument (a value that it cannot have), and those
// of Begin.
func (w *PopEFWriter) WriteMetadata(m PopEFMetadata) error {
	return w.use(func(raw *rawPopEFWriter) error {
		var failure uintptr
		metadata := native.NewRawPopefMetadata(&failure)
		if err := check(failure); err != nil {
			return err
		}
		defer native.DeleteRawPopefMetadata(metadata)
		if err := m.fill(metadata); err != nil {
			return err
		}
		return check(raw.file.Add_metadata(metadata))
	})
}

// Begin begins a blob, which may be one that was read; its Bytes are not looked at. Only executables can be compressed.
// Errors: FailedPrecondition (no name, or an executable's for the second time; a writer that is finished or has failed),
// InvalidArgument (a type that PopEF does not have; the last blob lacks bytes), ResourceExhausted.
func (w *PopEFWriter) Begin(blob Blob) error {
	return w.use(func(raw *rawPopEFWriter) error {
		info := native.NewRawPopefBlobInfo(int(blob.Type), blob.Name, blob.Executable)
		defer native.DeleteRawPopefBlobInfo(info)
		info.Set_compressed(blob.Compressed)
		if blob.Type == TensorBlob || blob.Type == FeedBlob {
			info.Set_tensor(int(blob.DType), blob.Shape, int64(len(blob.Shape)))
			info.Set_tensor_count(blob.Tensors)
		}
		var failure uintptr
		next := raw.file.Begin(info, &failure)
		if err := check(failure); err != nil {
			return err
		}
		raw.begun(next)
		return nil
	})
}

// Write is [io.Writer]: it appends to the blob that was begun last. Errors: InvalidArgument (more than the blob takes),
// FailedPrecondition (no blob was begun, or it is finished), ResourceExhausted.
func (w *PopEFWriter) Write(data []byte) (int, error) {
	err := w.use(func(raw *rawPopEFWriter) error {
		if raw.blob == nil {
			return &Error{FailedPrecondition, "no blob of the PopEF file was begun"}
		}
		address, keep := address(data)
		defer runtime.KeepAlive(keep)
		return check(raw.blob.Write(0, address, int64(len(data))))
	})
	if err != nil {
		return 0, err
	}
	return len(data), nil
}

// Finish finishes the last blob and the file, which is there from now on. It does nothing the second time. Errors:
// InvalidArgument (the last blob lacks bytes), FailedPrecondition (it has failed before), ResourceExhausted.
func (w *PopEFWriter) Finish() error {
	return w.use(func(raw *rawPopEFWriter) error { return check(raw.file.Close()) })
}

// Close is optional; what was not finished is not written.
func (w *PopEFWriter) Close() error { return w.h.Close() }
