// Package poprt compiles ONNX models ahead of time and runs them on emulated IPUs.
//
// Objects with a Close method may be closed at any time and in any order, also while another goroutine uses them. An
// object that is not closed is released when it is no longer reachable. Methods may be called by any number of
// goroutines, except [Binding.Replica], those of [LightRunner], and those of [Sequence] other than Cancel and Close.
//
// The package needs libpoprt and its pkg-config file at build time, and cgo.
package poprt

import (
	"fmt"
	"runtime"
	"sync"

	"poprt.example.org/bindings/go/internal/native"
)

func init() {
	if built := native.Raw_header_version(); !native.Raw_version_fits(built, native.Raw_version()) {
		panic(fmt.Sprintf("poprt: built for version %d.%d of libpoprt, found %s", built/1000000, built/1000%1000,
			native.Raw_version_string()))
	}
}

// Version returns the version of the loaded library.
func Version() string { return native.Raw_version_string() }

// SetLogLevel sets TRACE, DEBUG, INFO, WARNING, ERROR, CRITICAL or OFF, in upper or lower case. Messages go to stderr,
// or to the receivers of [OnLog]. Errors: InvalidArgument (another name).
func SetLogLevel(level string) (err error) {
	defer refuse(&err)
	return check(native.Raw_set_log_level(level))
}

// BytesCopied returns the number of bytes that this package has copied between memory of the program and memory of
// runs. It is 0, because slices are used in place. Outputs that [Runner.Run] copies to new memory are not counted.
func BytesCopied() int64 { return native.Raw_bytes_copied() }

// DumpFormat selects the output of [DumpPopEF].
type DumpFormat int

const (
	Summary     DumpFormat = iota // blobs and user anchors
	Metadata                      // all metadata
	All                           // also the header of every blob
	JSON                          // all of the above as JSON
	UserAnchors                   // anchors that the caller must serve
	Verify                        // whether the checksums of all blobs are right, in one line
)

// DumpPopEF describes a PopEF file. Errors: NotFound, PermissionDenied, DataLoss (a damaged file or, with [Verify], a
// checksum that differs), InvalidArgument (the format).
func DumpPopEF(path string, format DumpFormat) (_ string, refused error) {
	defer refuse(&refused)
	var err uintptr
	text := native.Raw_popef_dump(path, int(format), &err)
	return native.TakeText(text), check(err)
}

// ExportTensor writes the data of a tensor blob to a NumPy .npy file, completely or not at all. executable is the model
// of the data; "": any. If several blobs have the name, the last one is exported. Errors: NotFound (the file or the
// blob), and as [DumpPopEF].
func ExportTensor(path, name, executable, npyPath string) (refused error) {
	defer refuse(&refused)
	return check(native.Raw_popef_export_tensor(path, name, executable, npyPath))
}

// ExportFeed is [ExportTensor] for a feed blob. The first dimension of the array is the number of tensors of the feed.
func ExportFeed(path, name, executable, npyPath string) (refused error) {
	defer refuse(&refused)
	return check(native.Raw_popef_export_feed(path, name, executable, npyPath))
}

// handle is a reference to an object of the library that any number of goroutines use and one closes.
type handle[T any] struct {
	mutex sync.Mutex
	raw   T
	free  func(T)
	// interrupt ends the waiting of running calls when the object is closed, and they return ErrClosed. Nil: running
	// calls are not interrupted.
	interrupt func(T)
	users     int
	closed    bool
}

// newHandle makes a handle that is also released when it is no longer reachable.
func newHandle[T any](raw T, free func(T)) *handle[T] {
	h := &handle[T]{raw: raw, free: free}
	runtime.SetFinalizer(h, func(h *handle[T]) { h.Close() })
	return h
}

// acquire keeps the object until release.
func (h *handle[T]) acquire() (raw T, err error) {
	if h == nil { // an object that was never created
		return raw, ErrClosed
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.closed {
		return raw, ErrClosed
	}
	h.users++
	return h.raw, nil
}

// hold is acquire for callers that do not need the raw object.
func (h *handle[T]) hold() error {
	_, err := h.acquire()
	return err
}

func (h *handle[T]) release() {
	h.mutex.Lock()
	h.users--
	last := h.closed && h.users == 0
	h.mutex.Unlock()
	if last {
		h.free(h.raw)
	}
}

// Close does not wait for a running call, which keeps the object until it returns. A second Close has no effect.
func (h *handle[T]) Close() error {
	if h == nil {
		return nil
	}
	h.mutex.Lock()
	if h.closed {
		h.mutex.Unlock()
		return nil
	}
	h.closed = true
	busy := h.users > 0
	h.users++ // until the calls are interrupted
	h.mutex.Unlock()
	runtime.SetFinalizer(h, nil)
	if busy && h.interrupt != nil {
		h.interrupt(h.raw)
	}
	h.release()
	return nil
}

// interrupted returns whether the object was closed during a call that may have waited.
func (h *handle[T]) interrupted() bool {
	if h.interrupt == nil {
		return false
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.closed
}

// textOf returns a text of an open object, or the error of the library.
func textOf[T any](h *handle[T], what func(T, *uintptr) uintptr) (_ string, refused error) {
	defer refuse(&refused)
	raw, err := h.acquire()
	if err != nil {
		return "", err
	}
	defer h.release()
	var failure uintptr
	text := what(raw, &failure)
	return native.TakeText(text), check(failure)
}

// valueOf returns a value of an object, or 0 or false if it is closed.
func valueOf[T, V any](h *handle[T], what func(T) V) (value V) {
	raw, err := h.acquire()
	if err != nil {
		return value
	}
	defer h.release()
	return what(raw)
}

// resultOf returns a value of an open object, or the error of the library.
func resultOf[T, V any](h *handle[T], what func(T, *uintptr) V) (value V, err error) {
	defer refuse(&err)
	raw, err := h.acquire()
	if err != nil {
		return value, err
	}
	defer h.release()
	var failure uintptr
	value = what(raw, &failure)
	err = check(failure)
	if h.interrupted() {
		err = ErrClosed
	}
	return value, err
}

// callOf calls a function with an open object and returns its error.
func callOf[T any](h *handle[T], what func(T) uintptr) (refused error) {
	defer refuse(&refused)
	raw, err := h.acquire()
	if err != nil {
		return err
	}
	defer h.release()
	return check(what(raw))
}

// callVoidOf calls a function that has no error; it only fails if the object is closed.
func callVoidOf[T any](h *handle[T], what func(T)) error {
	raw, err := h.acquire()
	if err != nil {
		return err
	}
	defer h.release()
	what(raw)
	return nil
}
