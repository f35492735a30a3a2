// See servers: the server in Go. Each client takes its requests' answers from a channel; requests that wait are
// goroutines.
package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	poprt "poprt.example.org/bindings/go"
)

const clients, inFlight, limit = 4, 4, 100 * time.Microsecond

type counts struct{ ok, late, cancelled, wrong atomic.Int64 }

type server struct {
	runner      *poprt.Runner
	x, expected []float32
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// bind binds separate memory for the result of a request.
func (s *server) bind() (*poprt.Binding, []float32) {
	y := make([]float32, len(s.expected))
	return must(s.runner.Bind([]poprt.Tensor{poprt.At(0, s.x)}, []poprt.Tensor{poprt.At(0, y)})), y
}

func (s *server) client(c *counts, requests, lateEvery, cancelEvery int) {
	type job struct {
		memory *poprt.Binding
		y      []float32
		number int
	}
	done := make(chan *poprt.Call, inFlight)
	jobs := map[*poprt.Binding]*job{}
	submit := func(j *job, i int) {
		within := time.Duration(0)
		if lateEvery > 0 && i%lateEvery == 1 {
			within = limit
		}
		j.number = i
		call := j.memory.GoWithin(within, done)
		if cancelEvery > 0 && i%cancelEvery == 2 {
			call.Cancel()
		}
	}
	next := 0
	for ; next < inFlight && next < requests; next++ {
		j := &job{}
		j.memory, j.y = s.bind()
		jobs[j.memory] = j
		submit(j, next)
	}
	for answered := 0; answered < requests; answered++ {
		call := <-done
		j := jobs[call.Binding]
		switch err := call.Error; {
		case err == nil:
			c.ok.Add(1)
			if j.number%64 == 0 && !equal(j.y, s.expected) {
				c.wrong.Add(1)
			}
		case errors.Is(err, poprt.DeadlineExceeded):
			c.late.Add(1)
		case errors.Is(err, poprt.Cancelled):
			c.cancelled.Add(1)
		default:
			panic(err)
		}
		if next < requests {
			submit(j, next)
			next++
		}
	}
}

func equal(a, b []float32) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func (s *server) serve(requests, lateEvery, cancelEvery int) *counts {
	c := &counts{}
	var all sync.WaitGroup
	for i := 0; i < clients; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			s.client(c, requests, lateEvery, cancelEvery)
		}()
	}
	all.Wait()
	return c
}

func (s *server) wait(count int, firstMs, lastMs float64) {
	over := make([]time.Duration, count) // past the limit; 0 if the request ran
	var ok, early atomic.Int64
	var all sync.WaitGroup
	begin := time.Now()
	for i := 0; i < count; i++ {
		ms := firstMs + (lastMs-firstMs)*float64(i)/float64(count)
		within := time.Duration(ms * 1e6)
		memory, _ := s.bind()
		all.Add(1)
		before := time.Now()
		done := memory.GoWithin(within, nil).Done
		after := time.Now() // the garbage collector may have delayed the call before the request existed
		go func(i int) {
			defer all.Done()
			switch err := (<-done).Error; {
			case err == nil:
				ok.Add(1)
			case errors.Is(err, poprt.DeadlineExceeded):
				over[i] = time.Since(after) - within
				if time.Since(before) < within {
					early.Add(1)
				}
			default:
				panic(err)
			}
		}(i)
	}
	submitted := time.Since(begin)
	all.Wait()
	late, many, worst := 0, 0, time.Duration(0)
	for _, past := range over {
		if past == 0 {
			continue
		}
		late++
		if past > worst {
			worst = past
		}
		if past > 5*time.Millisecond {
			many++
		}
	}
	fmt.Printf("submit_us=%d ok=%d late=%d cancelled=0 worst_us=%d over_5ms=%d early=%d\n", submitted.Microseconds(),
		ok.Load(), late, worst.Microseconds(), many, early.Load())
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func main() {
	runner := must(poprt.NewRunner(must(poprt.Open(os.Args[1])), &poprt.RunnerOptions{Threads: 1}))
	s := &server{runner: runner}
	s.x = make([]float32, runner.Inputs()[0].Bytes/4)
	for i := range s.x {
		s.x[i] = float32(i%17) / 16
	}
	s.expected = make([]float32, runner.Outputs()[0].Bytes/4)
	memory, y := s.bind()
	if err := memory.Execute(); err != nil {
		panic(err)
	}
	s.expected = y
	count := must(strconv.Atoi(os.Args[3]))
	if os.Args[2] == "wait" {
		s.wait(count, must(strconv.ParseFloat(os.Args[4], 64)), must(strconv.ParseFloat(os.Args[5], 64)))
		return
	}
	s.serve(count/4, 0, 0)
	cpu, wall := cpuTime(), time.Now()
	c := s.serve(count, must(strconv.Atoi(os.Args[4])), must(strconv.Atoi(os.Args[5])))
	fmt.Printf("cpu_us=%d wall_us=%d ok=%d late=%d cancelled=%d wrong=%d\n", (cpuTime() - cpu).Microseconds(),
		time.Since(wall).Microseconds(), c.ok.Load(), c.late.Load(), c.cancelled.Load(), c.wrong.Load())
}
