package scenario

import (
	"context"
	"errors"
	"testing"
	"time"

	poprt "poprt.example.org/bindings/go"
)

func numbers8(first int) poprt.Tensor { return poprt.Elements(iota8(float32(first))) }

func TestScenario130QueuesAfterAWrongOption(t *testing.T) {
	s := session(t, affine(t))
	queues := must(s.NewQueueManager(&poprt.QueueOptions{Buffers: 4}))
	_, err := s.NewQueueManager(&poprt.QueueOptions{Buffers: -1})
	fails(t, err, poprt.InvalidArgument)
	in, out := must(queues.InputQueue("x")), must(queues.OutputQueue("y"))
	done := make(chan *poprt.Queued, 2)
	y := make([]float32, 8)
	in.Enqueue(numbers8(3), done)
	out.Enqueue(poprt.Elements(y), done)
	ok(t, s.RunMainPrograms())
	ok(t, (<-done).Error)
	ok(t, (<-done).Error)
	twicePlusOne(t, iota8(3), y)
}

func TestScenario42Queues(t *testing.T) {
	s := session(t, affine(t))
	queues := must(s.NewQueueManager(&poprt.QueueOptions{Buffers: 3}))
	ok(t, s.VerifyConnected())
	in, out := must(queues.InputQueue("x")), must(queues.OutputQueue("y"))
	equal(t, must(queues.InputQueue("x")), in)
	equal(t, in.Anchor().String(), "x f32 [2,4]")
	equal(t, in.Capacity(), 4)
	_, err := queues.InputQueue("y")
	fails(t, err, poprt.NotFound, "'y'", "'x'")
	_, err = queues.OutputQueue("x")
	fails(t, err, poprt.NotFound, "'x'", "'y'")
	const runs = 100 // more than the queues hold, so producers wait
	engine := make(chan error, 1)
	go func() {
		for i := 0; i < runs; i++ {
			if err := s.RunMainPrograms(); err != nil {
				engine <- err
				return
			}
		}
		engine <- nil
	}()
	copied := poprt.BytesCopied()
	done := make(chan *poprt.Queued, 2*runs)
	y := make([][]float32, runs)
	for i := range y {
		y[i] = make([]float32, 8)
		in.Enqueue(numbers8(i), done)
		out.Enqueue(poprt.Elements(y[i]), done)
	}
	for i := 0; i < 2*runs; i++ {
		ok(t, (<-done).Error)
	}
	ok(t, <-engine)
	for i := range y {
		twicePlusOne(t, iota8(float32(i)), y[i])
	}
	equal(t, in.ReadAvailable(), 0)
	equal(t, poprt.BytesCopied(), copied)
	// An element may be a part of a transfer, or several transfers.
	both := make([]float32, 16)
	filled := out.Enqueue(poprt.Elements(both), nil)
	x := iota8(5)
	in.Enqueue(poprt.Elements(x[:3]), nil)
	in.Enqueue(poprt.Elements(x[3:]), nil)
	in.Enqueue(numbers8(6), nil)
	equal(t, in.ReadAvailable(), 3)
	ok(t, s.RunMainPrograms())
	equal(t, len(filled.Done), 0)
	ok(t, s.RunMainPrograms())
	ok(t, (<-filled.Done).Error)
	twicePlusOne(t, x, both[:8])
	twicePlusOne(t, iota8(6), both[8:])
	// Wrong elements are refused.
	fails(t, (<-in.Enqueue(poprt.Elements(make([]float64, 4)), nil).Done).Error, poprt.InvalidArgument, "x", "f32")
	fails(t, (<-in.Enqueue(poprt.Elements([]float32{}), nil).Done).Error, poprt.InvalidArgument, "x", "memory")
	panics(t, "poprt: the done channel is unbuffered", func() { in.Enqueue(numbers8(0), make(chan *poprt.Queued)) })
}

func TestScenario43PaddingAfterATimeout(t *testing.T) {
	s := session(t, affine(t))
	var called []*poprt.Queue
	queues := must(s.NewQueueManager(&poprt.QueueOptions{Timeout: time.Millisecond, OnTimeout: func(q *poprt.Queue) {
		called = append(called, q)
		q.Enqueue(poprt.Elements(make([]float32, 4)), nil)
	}}))
	in := must(queues.InputQueue("x"))
	y := make([]float32, 8)
	filled := must(queues.OutputQueue("y")).Enqueue(poprt.Elements(y), nil)
	in.Enqueue(poprt.Elements([]float32{1, 2, 3, 4}), nil)
	ok(t, s.RunMainPrograms())
	ok(t, (<-filled.Done).Error)
	equal(t, called, []*poprt.Queue{in})
	equal(t, y, []float32{3, 5, 7, 9, 1, 1, 1, 1})
	mine := errors.New("of the test")
	queues = must(s.NewQueueManager(&poprt.QueueOptions{Timeout: time.Millisecond, OnTimeout: func(*poprt.Queue) {
		panic(mine)
	}}))
	must(queues.OutputQueue("y")).Enqueue(poprt.Elements(y), nil)
	panics(t, mine, func() { s.RunMainPrograms() })
	fails(t, s.RunMainPrograms(), poprt.Cancelled, "stopped")
}

func TestScenario44FlushAndDisconnect(t *testing.T) {
	s := session(t, affine(t))
	queues := must(s.NewQueueManager(nil))
	in := must(queues.InputQueue("x"))
	equal(t, in.Capacity(), 16)
	waits := in.Enqueue(numbers8(0), nil)
	ok(t, queues.FlushAll())
	err := (<-waits.Done).Error
	fails(t, err, poprt.Cancelled)
	if !errors.Is(err, context.Canceled) {
		t.Fatal("expected context.Canceled")
	}
	in.Enqueue(numbers8(1), nil)
	must(queues.OutputQueue("y")).Enqueue(numbers8(0), nil)
	ok(t, s.RunMainPrograms())
	late := in.Enqueue(numbers8(2), nil)
	ok(t, queues.DisconnectAll())
	fails(t, (<-late.Done).Error, poprt.Cancelled)
	fails(t, (<-in.Enqueue(numbers8(3), nil).Done).Error, poprt.Cancelled, "disconnected")
	fails(t, s.RunMainPrograms(), poprt.Cancelled)
	// Other queues replace them, also while a run waits for the first ones.
	second := must(s.NewQueueManager(nil))
	equal(t, (<-in.Enqueue(numbers8(3), nil).Done).Error, poprt.ErrClosed)
	equal(t, queues.FlushAll(), poprt.ErrClosed)
	equal(t, in.Capacity(), 0)
	begun, over := make(chan struct{}), make(chan error, 1)
	go func() {
		close(begun)
		over <- s.RunMainPrograms()
	}()
	<-begun
	third := must(s.NewQueueManager(nil))
	equal(t, second.DisconnectAll(), poprt.ErrClosed)
	select {
	case err = <-over:
	case <-time.After(100 * time.Millisecond): // the run had not begun
		ok(t, third.DisconnectAll())
		err = <-over
	}
	fails(t, err, poprt.Cancelled)
}

func TestScenario45QueuesAndAClosedSession(t *testing.T) {
	freeDevices(t)
	s := session(t, affine(t))
	queues := must(s.NewQueueManager(&poprt.QueueOptions{Buffers: 1}))
	in := must(queues.InputQueue("x"))
	first := in.Enqueue(numbers8(0), nil)
	// The queue is full, so this producer waits until the session is closed.
	begun, refused := make(chan struct{}), make(chan error)
	go func() {
		close(begun)
		refused <- (<-in.Enqueue(numbers8(1), nil).Done).Error
	}()
	<-begun
	ok(t, s.Close())
	fails(t, (<-first.Done).Error, poprt.Cancelled)
	if err := <-refused; !errors.Is(err, poprt.Cancelled) && err != poprt.ErrClosed {
		t.Fatal(err)
	}
	equal(t, (<-in.Enqueue(numbers8(2), nil).Done).Error, poprt.ErrClosed)
	equal(t, queues.DisconnectAll(), poprt.ErrClosed)
	equal(t, in.ReadAvailable(), 0)
	freeDevices(t)
}

// Wrong options change nothing, and after a predicate that panics, the session has no queues of the former manager.
func TestQueuesAfterAFailedCreation(t *testing.T) {
	s := session(t, affine(t))
	queues := must(s.NewQueueManager(&poprt.QueueOptions{Timeout: time.Millisecond,
		OnTimeout: func(q *poprt.Queue) { q.Enqueue(numbers8(3), nil) }}))
	x, y := must(queues.InputQueue("x")), make([]float32, 8)
	for _, wrong := range []poprt.QueueOptions{{Buffers: 1 << 21}, {Buffers: -1}, {Timeout: -1}} {
		wrong.OnTimeout = func(*poprt.Queue) { t.Error("the callback of queues that do not exist") }
		_, err := s.NewQueueManager(&wrong)
		fails(t, err, poprt.InvalidArgument)
	}
	filled := must(queues.OutputQueue("y")).Enqueue(poprt.Elements(y), nil)
	ok(t, s.RunMainPrograms()) // the first queues have their callback
	ok(t, (<-filled.Done).Error)
	twicePlusOne(t, iota8(3), y)
	func() {
		defer func() { equal(t, recover(), any("no")) }()
		s.NewQueueManager(&poprt.QueueOptions{UserAnchors: func(string, bool, []uint32) bool { panic("no") }})
	}()
	equal(t, x.Enqueue(numbers8(0), nil).Error, error(poprt.ErrClosed))
	others := must(s.NewQueueManager(nil))
	must(others.InputQueue("x")).Enqueue(numbers8(0), nil)
	must(others.OutputQueue("y")).Enqueue(poprt.Elements(y), nil)
	ok(t, s.RunMainPrograms())
	twicePlusOne(t, iota8(0), y)
}

// Goroutines that ask for a queue at the same time get the same one.
func TestQueuesAreTheSameForAllGoroutines(t *testing.T) {
	s := session(t, affine(t))
	for round := 0; round < 50; round++ {
		queues := must(s.NewQueueManager(nil))
		begin, found := make(chan struct{}), make(chan *poprt.Queue, 4)
		for i := 0; i < 4; i++ {
			go func() {
				<-begin
				found <- must(queues.InputQueue("x"))
			}()
		}
		close(begin)
		for i := 0; i < 4; i++ {
			if q := <-found; q != must(queues.InputQueue("x")) {
				t.Fatal("another queue")
			}
		}
	}
}
