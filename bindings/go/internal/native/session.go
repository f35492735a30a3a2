package native

import (
	"runtime/cgo"
	"sync"
	"unsafe"
)

/*
#include <stddef.h>
#include <stdint.h>

extern int32_t poprtGoTransfer(void* data, size_t bytes, uintptr_t target, int32_t prefetch);
extern void poprtGoEvent(uintptr_t target, int32_t which);
extern int32_t poprtGoAccepts(char* name, int32_t is_output, uint32_t* programs, size_t count, uintptr_t handle);
extern void poprtGoTimeout(char* queue, uintptr_t target);
extern void poprtGoDone(int32_t code, char* message, uintptr_t handle);

static int32_t poprt_go_fetch(void* data, size_t bytes, void* target) {
  return poprtGoTransfer(data, bytes, (uintptr_t)target, 0);
}
static int32_t poprt_go_prefetch(void* data, size_t bytes, void* target) {
  return poprtGoTransfer(data, bytes, (uintptr_t)target, 1);
}
static void poprt_go_complete(void* target) { poprtGoEvent((uintptr_t)target, 0); }
static void poprt_go_invalidate(void* target) { poprtGoEvent((uintptr_t)target, 1); }
static void poprt_go_interrupt(void* target) { poprtGoEvent((uintptr_t)target, 2); }
static int32_t poprt_go_accepts(const char* name, int32_t is_output, const uint32_t* programs, size_t count,
                                void* handle) {
  return poprtGoAccepts((char*)name, is_output, (uint32_t*)programs, count, (uintptr_t)handle);
}
static void poprt_go_timeout(const char* queue, void* target) { poprtGoTimeout((char*)queue, (uintptr_t)target); }
static void poprt_go_done(int32_t code, const char* message, void* handle) {
  poprtGoDone(code, (char*)message, (uintptr_t)handle);
}

static uintptr_t poprt_go_session_fn(int which) {
  switch (which) {
    case 0: return (uintptr_t)poprt_go_fetch;
    case 1: return (uintptr_t)poprt_go_prefetch;
    case 2: return (uintptr_t)poprt_go_complete;
    case 3: return (uintptr_t)poprt_go_invalidate;
    case 4: return (uintptr_t)poprt_go_interrupt;
    case 5: return (uintptr_t)poprt_go_accepts;
    case 6: return (uintptr_t)poprt_go_timeout;
    default: return (uintptr_t)poprt_go_done;
  }
}
*/
import "C"

// The callbacks of sessions and queues.
var (
	FetchFn      = int64(C.poprt_go_session_fn(0))
	PrefetchFn   = int64(C.poprt_go_session_fn(1))
	CompleteFn   = int64(C.poprt_go_session_fn(2))
	InvalidateFn = int64(C.poprt_go_session_fn(3))
	InterruptFn  = int64(C.poprt_go_session_fn(4))
	AcceptsFn    = int64(C.poprt_go_session_fn(5))
	TimeoutFn    = int64(C.poprt_go_session_fn(6))
	DoneFn       = int64(C.poprt_go_session_fn(7))
)

// Event is a notification of a stream.
type Event int

const (
	Complete Event = iota
	Invalidate
	Interrupt
)

// Stream handles one anchor. Its methods must not panic.
type Stream interface {
	Transfer(data []byte, prefetch bool) bool
	Event(which Event)
}

// Targets are the targets of callbacks of one session. C refers to them by number, and finds them only during a call of
// the session's owner, so they do not keep an unreferenced owner alive.
type Targets struct {
	mutex   sync.Mutex
	streams map[uint16]Stream
	last    uint16
	timeout func(queue string)
	number  uintptr
	calls   int
}

var targets struct {
	mutex sync.RWMutex
	last  uintptr
	found map[uintptr]*Targets
}

// Enter makes the targets available until Leave.
func (t *Targets) Enter() {
	targets.mutex.Lock()
	defer targets.mutex.Unlock()
	if t.number == 0 {
		targets.last++
		t.number = targets.last
	}
	if targets.found == nil {
		targets.found = map[uintptr]*Targets{}
	}
	targets.found[t.number] = t
	t.calls++
}

// Leave pairs with Enter.
func (t *Targets) Leave() {
	targets.mutex.Lock()
	defer targets.mutex.Unlock()
	if t.calls--; t.calls == 0 {
		delete(targets.found, t.number)
	}
}

// Add adds a stream and returns its user data. It is called between Enter and Leave.
func (t *Targets) Add(stream Stream) int64 {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.streams == nil {
		t.streams = map[uint16]Stream{}
	}
	for t.last++; t.streams[t.last] != nil || t.last == 0; t.last++ {
	}
	t.streams[t.last] = stream
	return int64(t.number)<<16 | int64(t.last)
}

// Remove removes a stream to which C no longer refers.
func (t *Targets) Remove(userData int64) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	delete(t.streams, uint16(userData))
}

// SetTimeout sets the timeout callback of queues of the session and returns the user data of TimeoutFn. It is called
// between Enter and Leave. The callback must not panic.
func (t *Targets) SetTimeout(timeout func(queue string)) int64 {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.timeout = timeout
	return int64(t.number) << 16
}

// Timeout returns the timeout callback of queues of the session, or nil.
func (t *Targets) Timeout() func(queue string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.timeout
}

func find(target C.uintptr_t) *Targets {
	targets.mutex.RLock()
	defer targets.mutex.RUnlock()
	return targets.found[uintptr(target)>>16]
}

func stream(target C.uintptr_t) Stream {
	t := find(target)
	if t == nil {
		return nil
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.streams[uint16(target)]
}

//export poprtGoTransfer
func poprtGoTransfer(data unsafe.Pointer, bytes C.size_t, target C.uintptr_t, prefetch C.int32_t) C.int32_t {
	s := stream(target)
	if s != nil && s.Transfer(unsafe.Slice((*byte)(data), int(bytes)), prefetch != 0) {
		return 0
	}
	return 1
}

//export poprtGoEvent
func poprtGoEvent(target C.uintptr_t, which C.int32_t) {
	if s := stream(target); s != nil {
		s.Event(Event(which))
	}
}

//export poprtGoTimeout
func poprtGoTimeout(queue *C.char, target C.uintptr_t) {
	t := find(target)
	if t == nil {
		return
	}
	t.mutex.Lock()
	timeout := t.timeout
	t.mutex.Unlock()
	if timeout != nil {
		timeout(C.GoString(queue))
	}
}

// Predicate is called while a session or its queues are created. A panic of Func is kept in Panic because it must not
// pass through C.
type Predicate struct {
	Func  func(name string, output bool, programs []uint32) bool
	Panic any
}

// UserData returns the user data of AcceptsFn; release must be called after the creation.
func (p *Predicate) UserData() (userData int64, release func()) {
	h := cgo.NewHandle(p)
	return int64(h), h.Delete
}

//export poprtGoAccepts
func poprtGoAccepts(name *C.char, output C.int32_t, programs *C.uint32_t, count C.size_t, handle C.uintptr_t) C.int32_t {
	p := cgo.Handle(handle).Value().(*Predicate)
	if p.Panic != nil {
		return 0
	}
	defer func() {
		if r := recover(); r != nil {
			p.Panic = r
		}
	}()
	list := append([]uint32(nil), unsafe.Slice((*uint32)(unsafe.Pointer(programs)), int(count))...)
	if p.Func(C.GoString(name), output != 0, list) {
		return 1
	}
	return 0
}

// NewDone returns the user data of DoneFn, which calls done once and frees the user data. release frees it instead if C
// will not call DoneFn.
func NewDone(done func(code int32, message string)) (userData int64, release func()) {
	h := cgo.NewHandle(done)
	return int64(h), h.Delete
}

//export poprtGoDone
func poprtGoDone(code C.int32_t, message *C.char, handle C.uintptr_t) {
	h := cgo.Handle(handle)
	done := h.Value().(func(int32, string))
	h.Delete()
	done(int32(code), C.GoString(message))
}
