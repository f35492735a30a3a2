package poprt

import (
	"runtime"
	"sync"
	"time"
	"unsafe"

	"poprt.example.org/bindings/go/internal/native"
)

// QueueOptions are the options of [Session.NewQueueManager]; the zero value, or nil, is the default.
type QueueOptions struct {
	Buffers int // elements that fit into a queue, rounded up to a power of two; 0: 16
	// OnTimeout is called repeatedly on the running goroutine when a run has waited for an input for Timeout; with a
	// Timeout of 0, it is never called. It may enqueue to the queue, for example padding. If it panics, the session is
	// stopped and the run panics.
	Timeout     time.Duration
	OnTimeout   func(queue *Queue)
	UserAnchors AnchorPredicate // selects the anchors with a queue; nil: those that the caller must serve
}

// QueueManager contains the queues of a session, one for each anchor that QueueOptions.UserAnchors selects. The queues
// are closed when the session is closed or creates another QueueManager; methods that return an error then return
// ErrClosed.
type QueueManager struct {
	session *Session
	h       *handle[native.RawQueueManager]
	mutex   sync.Mutex
	queues  map[string]*Queue
	closed  bool
}

// NewQueueManager creates a queue for each anchor that QueueOptions.UserAnchors selects. Earlier queues are closed:
// their waiting elements are cancelled, and so is a run that waits for them. If an option is wrong, earlier queues stay
// open. Errors: InvalidArgument (an option).
func (s *Session) NewQueueManager(options *QueueOptions) (_ *QueueManager, refused error) {
	defer refuse(&refused)
	if options == nil {
		options = &QueueOptions{}
	}
	o := native.NewRawQueueOptions()
	defer native.DeleteRawQueueOptions(o)
	o.Set_buffers(int64(options.Buffers))
	predicate := native.Predicate{Func: options.UserAnchors}
	if options.UserAnchors != nil {
		data, release := predicate.UserData()
		defer release()
		o.Set_predicate(native.AcceptsFn, data)
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	m := &QueueManager{session: s, queues: map[string]*Queue{}}
	var raw native.RawQueueManager
	former, timeout := s.queues, s.targets.Timeout()
	err := s.call(func(session native.RawSession) uintptr {
		var function, data int64
		if options.OnTimeout != nil {
			function = native.TimeoutFn
			data = s.targets.SetTimeout(func(name string) {
				if !s.guard(func() error {
					queue, err := m.InputQueue(name)
					if err == nil {
						options.OnTimeout(queue)
					}
					return err
				}) {
					s.Stop() // otherwise the run would wait without end
				}
			})
		}
		o.Set_timeout(int64(options.Timeout), function, data)
		if former != nil {
			former.setClosed(true)
		}
		var failure uintptr
		raw = session.Create_queue_manager(o, &failure)
		return failure
	})
	if err != nil {
		if former != nil && valueOf(former.h, native.RawQueueManager.Is_open) {
			former.setClosed(false)
			s.call(func(native.RawSession) uintptr { // SetTimeout needs a call
				s.targets.SetTimeout(timeout)
				return 0
			})
		}
		return nil, err
	}
	m.h = newHandle(raw, native.DeleteRawQueueManager)
	s.queues = m
	if predicate.Panic != nil {
		panic(predicate.Panic)
	}
	return m, nil
}

func (m *QueueManager) setClosed(closed bool) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.closed = closed
}

func (m *QueueManager) isClosed() bool {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.closed
}

// call calls the library while the session is kept alive.
func (m *QueueManager) call(what func(native.RawQueueManager) uintptr) (refused error) {
	defer refuse(&refused)
	return m.keep(func() error {
		raw, err := m.h.acquire()
		if err != nil {
			return err
		}
		defer m.h.release()
		return check(what(raw))
	})
}

func (m *QueueManager) keep(what func() error) error {
	if m.isClosed() {
		return ErrClosed
	}
	if _, err := m.session.h.acquire(); err != nil {
		return err
	}
	defer runtime.KeepAlive(m)
	defer m.session.h.release()
	return what()
}

// InputQueue returns the queue of an input, always the same one. Errors: NotFound.
func (m *QueueManager) InputQueue(name string) (*Queue, error) {
	return m.queue("in "+name, name, true)
}

// OutputQueue returns the queue of an output, always the same one. Errors: NotFound.
func (m *QueueManager) OutputQueue(name string) (*Queue, error) {
	return m.queue("out "+name, name, false)
}

func (m *QueueManager) queue(key, name string, input bool) (*Queue, error) {
	m.mutex.Lock()
	found := m.queues[key]
	m.mutex.Unlock()
	if found != nil {
		if err := m.keep(func() error { return nil }); err != nil {
			return nil, err
		}
		return found, nil
	}
	q := &Queue{manager: m, input: input}
	err := m.call(func(raw native.RawQueueManager) (failure uintptr) {
		var made native.RawQueue
		if input {
			made = raw.Input_queue(name, &failure)
		} else {
			made = raw.Output_queue(name, &failure)
		}
		if failure == 0 {
			q.h = newHandle(made, native.DeleteRawQueue)
			q.anchor = anchors(1, func(int64) native.RawAnchor { return made.Anchor() })[0]
		}
		return failure
	})
	if err != nil {
		return nil, err
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.queues[key] == nil { // another goroutine may have been first
		m.queues[key] = q
	}
	return m.queues[key], nil
}

// FlushAll cancels every waiting element, except for memory that the device is using; the queues stay in use.
func (m *QueueManager) FlushAll() error {
	return m.call(func(raw native.RawQueueManager) uintptr {
		raw.Flush_all()
		return 0
	})
}

// DisconnectAll does the same as FlushAll, but permanently: nothing can be enqueued afterwards, and runs find no data.
func (m *QueueManager) DisconnectAll() error {
	return m.call(func(raw native.RawQueueManager) uintptr {
		raw.Disconnect_all()
		return 0
	})
}

// Queue contains slices that a session reads or writes for one anchor. Goroutines that enqueue wait for each other.
type Queue struct {
	manager *QueueManager
	h       *handle[native.RawQueue]
	anchor  Anchor
	input   bool
	// Locked by the goroutine that enqueues, which holds a thread while the queue is full. Others wait here without one.
	producer sync.Mutex
}

// Anchor returns the anchor of the queue.
func (q *Queue) Anchor() Anchor { return q.anchor }

// Capacity is the number of elements that fit; 0 if the queue is closed.
func (q *Queue) Capacity() int { return q.number(native.RawQueue.Capacity) }

// ReadAvailable is the number of waiting elements; 0 if the queue is closed.
func (q *Queue) ReadAvailable() int { return q.number(native.RawQueue.Read_available) }

func (q *Queue) number(get func(native.RawQueue) int64) int {
	var n int64
	q.call(func(raw native.RawQueue) uintptr {
		n = get(raw)
		return 0
	})
	return int(n)
}

func (q *Queue) call(what func(native.RawQueue) uintptr) error {
	return q.manager.keep(func() error {
		raw, err := q.h.acquire()
		if err != nil {
			return err
		}
		defer q.h.release()
		return check(what(raw))
	})
}

// Queued is an element of a queue. Error is set when the element arrives on Done: nil if its memory was consumed or
// filled, Cancelled if the element was discarded, or another error of [Queue.Enqueue].
type Queued struct {
	Error error
	Done  chan *Queued
	keep  unsafe.Pointer
	pins  pins
}

// Enqueue appends a slice of any size: a part of a transfer, one, or several. [Elements] makes a tensor of it. The last
// dimensions of the shape of [Shaped] must be those of the anchor after the first: [1 4] and [6 4] for [2 4]. The slice
// is used in place and kept alive. Enqueue waits while the queue is full. The element arrives on done when its memory
// is free again, also if it could not be enqueued: InvalidArgument (another type or shape, an empty slice), Cancelled
// (disconnected, or full while the session was stopped), ErrClosed. The goroutine that runs programs, flushes or closes
// sends the element, and waits while done is full, so done needs capacity for all elements that are not received yet. A
// nil done is replaced by a new channel.
func (q *Queue) Enqueue(memory Tensor, done chan *Queued) *Queued {
	if done == nil {
		done = make(chan *Queued, 1)
	} else if cap(done) == 0 {
		panic("poprt: the done channel is unbuffered")
	}
	e := &Queued{Done: done, keep: memory.address}
	finish := func(err error) {
		e.Error = err
		e.Done <- e
	}
	if !memory.dtype.holds(q.anchor.DType) {
		finish(invalid("queue '" + q.anchor.Name + "': expected elements of " + q.anchor.DType.String() + ", given " +
			memory.dtype.String()))
		return e
	}
	if !memory.endsAs(q.anchor.Shape) {
		finish(invalid("queue '" + q.anchor.Name + "': expected " + q.anchor.DType.String() + shapeText(q.anchor.Shape) +
			", parts of it or several, given shape " + shapeText(memory.shape)))
		return e
	}
	if memory.address != nil {
		e.pins.pin([]unsafe.Pointer{memory.address})
	}
	data, release := native.NewDone(func(code int32, message string) {
		runtime.KeepAlive(e.keep)
		if code == 0 {
			finish(nil)
		} else {
			finish(&Error{Code: Code(code), Message: message})
		}
	})
	at := int64(uintptr(memory.address))
	q.producer.Lock()
	err := q.call(func(raw native.RawQueue) uintptr {
		if q.input {
			return raw.Enqueue_input(at, memory.bytes, native.DoneFn, data)
		}
		return raw.Enqueue_output(at, memory.bytes, native.DoneFn, data)
	})
	q.producer.Unlock()
	if err != nil {
		release()
		finish(err)
	}
	return e
}
