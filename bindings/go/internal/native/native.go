// Package native is the raw layer over the C library: SWIG's wrappers, and conversions of their errors and texts to Go
// values. It is private to the module; see package poprt.
package native

import (
	"runtime/cgo"
	"strings"
	"sync"
	"unsafe"
)

/*
#include <stddef.h>
#include <stdint.h>

extern void poprtGoProgress(double done, char* what, uintptr_t handle);
static void poprt_go_progress(double done, const char* what, void* user_data) {
  poprtGoProgress(done, (char*)what, (uintptr_t)user_data);
}
static uintptr_t poprt_go_progress_address(void) { return (uintptr_t)poprt_go_progress; }

extern void poprtGoPass(char* pass, int64_t rewrites, double milliseconds, int64_t before, int64_t after, uintptr_t handle);
static void poprt_go_pass(const char* pass, int64_t rewrites, double milliseconds, int64_t before, int64_t after,
                          void* user_data) {
  poprtGoPass((char*)pass, rewrites, milliseconds, before, after, (uintptr_t)user_data);
}
static uintptr_t poprt_go_pass_address(void) { return (uintptr_t)poprt_go_pass; }

extern int32_t poprtGoWrite(void* data, size_t size, uintptr_t handle);
static int32_t poprt_go_write(const void* data, size_t size, void* user_data) {
  return poprtGoWrite((void*)data, size, (uintptr_t)user_data);
}
static uintptr_t poprt_go_write_address(void) { return (uintptr_t)poprt_go_write; }

extern int32_t poprtGoRead(uint64_t offset, void* data, size_t size, uintptr_t handle);
extern void poprtGoRelease(uintptr_t handle);
static int32_t poprt_go_read(uint64_t offset, void* data, size_t size, void* user_data) {
  return poprtGoRead(offset, data, size, (uintptr_t)user_data);
}
static void poprt_go_release(void* user_data) { poprtGoRelease((uintptr_t)user_data); }
static uintptr_t poprt_go_read_address(void) { return (uintptr_t)poprt_go_read; }
static uintptr_t poprt_go_release_address(void) { return (uintptr_t)poprt_go_release; }
*/
import "C"

// BadText is the panic of a function that gets a text with a zero character, at which C would end it.
type BadText struct {
	Argument string // its name
}

// OutOfMemory is the panic of a function whose wrapper cannot allocate memory.
const OutOfMemory = "poprt: out of memory"

// text refuses a text that C would end early.
func text(argument, value string) string {
	if strings.IndexByte(value, 0) >= 0 {
		panic(BadText{argument})
	}
	return value
}

// TakeError returns code, PopEF class and message of an error, and frees it. Code 0 for no error.
func TakeError(err uintptr) (code, popef int32, message string) {
	if err == 0 {
		return 0, 0, ""
	}
	e := int64(err)
	code, popef, message = int32(Raw_error_code(e)), int32(Raw_error_popef_class(e)), Raw_error_message(e)
	Raw_error_free(e)
	return code, popef, message
}

// TakeText returns a text of the library, and frees it.
func TakeText(text uintptr) string {
	if text == 0 {
		return ""
	}
	t := int64(text)
	s := Raw_text_data(t)
	Raw_text_free(t)
	return s
}

// CopyBytes copies memory that the blob (RawBlob, RawPassResult) owns.
func CopyBytes(blob interface {
	Address() int64
	Bytes() int64
}) []byte {
	out := make([]byte, blob.Bytes())
	if len(out) > 0 {
		Raw_copy(int64(uintptr(unsafe.Pointer(&out[0]))), blob.Address(), blob.Bytes())
	}
	return out
}

// View is memory of the library as a slice, without a copy. Its owner must outlive it.
func View(address, bytes int64) []byte {
	if bytes == 0 {
		return []byte{}
	}
	at := uintptr(address)
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&at)), bytes)
}

// Sink receives the bytes of a PopEF writer without a file. Errors and panics of Func are kept because they must not
// pass through C.
type Sink struct {
	Func  func(data []byte) error
	Err   error
	Panic any
}

// Pointers returns the C callback and its user data; release must be called after the writer is freed.
func (s *Sink) Pointers() (function, userData int64, release func()) {
	h := cgo.NewHandle(s)
	return int64(C.poprt_go_write_address()), int64(h), h.Delete
}

//export poprtGoWrite
func poprtGoWrite(data unsafe.Pointer, size C.size_t, handle C.uintptr_t) (stop C.int32_t) {
	s := cgo.Handle(handle).Value().(*Sink)
	stop = 1
	defer func() {
		if r := recover(); r != nil {
			s.Panic = r
		}
	}()
	if s.Err = s.Func(unsafe.Slice((*byte)(data), int(size))); s.Err == nil {
		stop = 0
	}
	return stop
}

// Source is read by a PopEF reader by position until the reader, its models and their payloads are freed. The first
// error or panic of Func is kept until Take because it must not pass through C.
type Source struct {
	Func  func(data []byte, offset int64) error
	mutex sync.Mutex
	err   error
	panic any
}

// Pointers returns the C callbacks and their user data, which the second of them frees.
func (s *Source) Pointers() (read, release, userData int64) {
	return int64(C.poprt_go_read_address()), int64(C.poprt_go_release_address()), int64(cgo.NewHandle(s))
}

// Take returns the first error or panic of Func since the last Take.
func (s *Source) Take() (err error, panicked any) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	err, panicked = s.err, s.panic
	s.err, s.panic = nil, nil
	return err, panicked
}

func (s *Source) read(data []byte, offset int64) (ok bool) {
	defer func() {
		if r := recover(); r != nil {
			s.keep(nil, r)
		}
	}()
	err := s.Func(data, offset)
	if err != nil {
		s.keep(err, nil)
	}
	return err == nil
}

func (s *Source) keep(err error, panicked any) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.err == nil && s.panic == nil {
		s.err, s.panic = err, panicked
	}
}

//export poprtGoRead
func poprtGoRead(offset C.uint64_t, data unsafe.Pointer, size C.size_t, handle C.uintptr_t) C.int32_t {
	if cgo.Handle(handle).Value().(*Source).read(unsafe.Slice((*byte)(data), int(size)), int64(offset)) {
		return 0
	}
	return 1
}

//export poprtGoRelease
func poprtGoRelease(handle C.uintptr_t) { cgo.Handle(handle).Delete() }

// Progress contains the callbacks of the compiler, which may be nil. A panic is kept in Panic because it must not pass
// through C.
type Progress struct {
	Func  func(done float64, what string)
	After func(pass string, rewrites int64, milliseconds float64, before, after int64)
	Panic any
}

// Pointers returns the C callbacks and their user data; release must be called when the compiler is done.
func (p *Progress) Pointers() (progress, afterPass, userData int64, release func()) {
	if p.Func != nil {
		progress = int64(C.poprt_go_progress_address())
	}
	if p.After != nil {
		afterPass = int64(C.poprt_go_pass_address())
	}
	h := cgo.NewHandle(p)
	return progress, afterPass, int64(h), h.Delete
}

func (p *Progress) guard(call func()) {
	if p.Panic != nil {
		return
	}
	defer func() {
		if r := recover(); r != nil {
			p.Panic = r
		}
	}()
	call()
}

//export poprtGoPass
func poprtGoPass(pass *C.char, rewrites C.int64_t, milliseconds C.double, before, after C.int64_t, handle C.uintptr_t) {
	p := cgo.Handle(handle).Value().(*Progress)
	p.guard(func() {
		p.After(C.GoString(pass), int64(rewrites), float64(milliseconds), int64(before), int64(after))
	})
}

//export poprtGoProgress
func poprtGoProgress(done C.double, what *C.char, handle C.uintptr_t) {
	p := cgo.Handle(handle).Value().(*Progress)
	p.guard(func() { p.Func(float64(done), C.GoString(what)) })
}
