package poprt

import (
	"errors"
	"io"
	"runtime"
	"sync"

	"poprt.example.org/bindings/go/internal/native"
)

// PopEFWriter writes a PopEF file blob by blob. Begin describes the bytes that are written next. Beginning the next
// blob finishes the last one, and Finish finishes the file. Without Finish, an existing file keeps or regains its
// contents. If a blob cannot be finished (wrong size, full disk), the writer has failed, and other calls return
// FailedPrecondition.
type PopEFWriter struct {
	mutex sync.Mutex // only one thread at a time may use the library's writer
	h     *handle[*rawPopEFWriter]
}

// rawPopEFWriter contains the writers of the file and of the active blob, which are released together.
type rawPopEFWriter struct {
	file native.RawPopefWriter
	blob native.RawPopefBlobWriter // nil: none was begun
	sink *native.Sink              // nil: it writes to a file
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

// CreatePopEF writes a new file, which replaces an existing one when it is finished. Errors: NotFound (the folder
// does not exist), PermissionDenied (the file cannot be created), ResourceExhausted (the disk is full).
func CreatePopEF(path string) (*PopEFWriter, error) { return newPopEFWriter(path, truncatePopEF) }

// AppendPopEF appends blobs to a file, or creates a new one. Errors: those of CreatePopEF, Unavailable (another writer
// appends to the file), DataLoss (the file is not PopEF).
func AppendPopEF(path string) (*PopEFWriter, error) { return newPopEFWriter(path, appendPopEF) }

func newPopEFWriter(path string, mode int) (_ *PopEFWriter, refused error) {
	defer refuse(&refused)
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

// NewPopEFWriter writes to a stream from front to back. Each blob is kept in memory until it is finished. Begin,
// WriteMetadata and Finish return an error of the stream, and the writer has failed; they propagate a panic.
func NewPopEFWriter(stream io.Writer) (*PopEFWriter, error) {
	sink := &native.Sink{Func: func(data []byte) error {
		n, err := stream.Write(data)
		if err == nil && n < len(data) {
			err = io.ErrShortWrite
		}
		return err
	}}
	function, userData, forget := sink.Pointers()
	var failure uintptr
	raw := native.RawPopefWriterCreate_stream(function, userData, &failure)
	if err := check(failure); err != nil {
		forget()
		return nil, err
	}
	return &PopEFWriter{h: newHandle(&rawPopEFWriter{file: raw, sink: sink}, func(w *rawPopEFWriter) {
		w.begun(nil)
		native.DeleteRawPopefWriter(w.file)
		forget()
	})}, nil
}

// use calls what with the raw writer, for one goroutine at a time.
func (w *PopEFWriter) use(what func(*rawPopEFWriter) error) (refused error) {
	defer refuse(&refused)
	w.mutex.Lock()
	defer w.mutex.Unlock()
	raw, err := w.h.acquire()
	if err != nil {
		return err
	}
	defer w.h.release()
	err = what(raw)
	if raw.sink == nil {
		return err
	}
	if p := raw.sink.Panic; p != nil {
		raw.sink.Panic = nil
		panic(p)
	}
	if raw.sink.Err != nil && errors.Is(err, Cancelled) {
		return raw.sink.Err
	}
	return err
}

// WriteMetadata writes the metadata of an executable. Errors: InvalidArgument (an invalid value), and those of Begin.
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

// Begin begins a blob, which may be the description of a blob that was read; its Bytes are ignored. Only executables
// can be compressed. Errors: FailedPrecondition (no name, or a duplicate name of an executable; a writer that is
// finished or has failed), InvalidArgument (a type that PopEF lacks; the last blob is incomplete), ResourceExhausted.
func (w *PopEFWriter) Begin(blob Blob) error {
	return w.use(func(raw *rawPopEFWriter) error {
		info := blob.info()
		defer native.DeleteRawPopefBlobInfo(info)
		var failure uintptr
		next := raw.file.Begin(info, &failure)
		if err := check(failure); err != nil {
			return err
		}
		raw.begun(next)
		return nil
	})
}

// info returns an object that the caller must delete.
func (b Blob) info() native.RawPopefBlobInfo {
	info := native.NewRawPopefBlobInfo(int(b.Type), b.Name, b.Executable)
	info.Set_compressed(b.Compressed)
	if b.Type == TensorBlob || b.Type == FeedBlob {
		info.Set_tensor(int(b.DType), b.Shape, int64(len(b.Shape)))
		info.Set_tensor_count(b.Tensors)
	}
	return info
}

// BeginFeeds begins several feeds that are written alternately, as a data loader produces them; [PopEFWriter.Feed]
// writes to them. All belong to the executable of the first one. Errors: those of Begin.
func (w *PopEFWriter) BeginFeeds(feeds ...Blob) error {
	return w.use(func(raw *rawPopEFWriter) error {
		group := native.NewRawPopefFeeds()
		defer native.DeleteRawPopefFeeds(group)
		for _, feed := range feeds {
			feed.Type = FeedBlob
			info := feed.info()
			group.Add(info)
			native.DeleteRawPopefBlobInfo(info)
		}
		var failure uintptr
		next := raw.file.Begin_feeds(group, &failure)
		if err := check(failure); err != nil {
			return err
		}
		raw.begun(next)
		return nil
	})
}

// Feed returns a writer that appends to one of the feeds that BeginFeeds has begun. Its errors: those of
// [PopEFWriter.Write], InvalidArgument (no such feed).
func (w *PopEFWriter) Feed(index int) io.Writer { return feedWriter{w, index} }

type feedWriter struct {
	writer *PopEFWriter
	index  int
}

func (f feedWriter) Write(data []byte) (int, error) { return f.writer.write(f.index, data) }

// Write is [io.Writer]: it appends to the blob that was begun last. Errors: InvalidArgument (more than the blob takes),
// FailedPrecondition (no blob was begun, or it is finished), ResourceExhausted.
func (w *PopEFWriter) Write(data []byte) (int, error) { return w.write(0, data) }

func (w *PopEFWriter) write(feed int, data []byte) (int, error) {
	err := w.use(func(raw *rawPopEFWriter) error {
		if raw.blob == nil {
			return &Error{Code: FailedPrecondition, Message: "no blob of the PopEF file was begun"}
		}
		address, keep := address(data)
		defer runtime.KeepAlive(keep)
		return check(raw.blob.Write(int64(feed), address, int64(len(data))))
	})
	if err != nil {
		return 0, err
	}
	return len(data), nil
}

// Finish finishes the last blob and the file, and makes the file visible. A second call has no effect. Errors:
// InvalidArgument (the last blob is incomplete), FailedPrecondition (the writer has failed before), ResourceExhausted.
func (w *PopEFWriter) Finish() error {
	return w.use(func(raw *rawPopEFWriter) error { return check(raw.file.Close()) })
}

// Close is optional; an unfinished file is not written.
func (w *PopEFWriter) Close() error { return w.h.Close() }
