// Serving serves several clients at once. Each keeps some requests in flight and processes the answers in order of
// arrival.
//
//	serving MODEL.onnx
package main

import (
	"fmt"
	"log"
	"os"
	"sync"

	poprt "poprt.example.org/bindings/go"
)

const clients, requests, inFlight, pixels, classes = 4, 50, 3, 64, 10

// job is the memory of one request: image number k, and its scores.
type job struct {
	image, scores []float32
	call          *poprt.Call
}

func newJob(k int) *job {
	j := &job{image: make([]float32, pixels), scores: make([]float32, classes)}
	for i := range j.image {
		j.image[i] = float32((i*(k+3))%17) / 16
	}
	return j
}

func (j *job) tensors() ([]poprt.Tensor, []poprt.Tensor) {
	return []poprt.Tensor{poprt.Named("image", j.image)}, []poprt.Tensor{poprt.Named("scores", j.scores)}
}

// client returns the number of correct answers.
func client(runner *poprt.Runner, number int, expected [][]float32) (right int, err error) {
	done := make(chan *poprt.Call, inFlight)
	jobs := map[*poprt.Call]int{}
	memory := map[*poprt.Call]*job{}
	submit := func(k int) {
		j := newJob(k)
		in, out := j.tensors()
		// runner.Go never waits: requests beyond the runner's queue (RunnerOptions.QueueDepth, by default at least 64)
		// wait in a list without limit. The caller must limit them, as here: after the first ones, each waits for an answer.
		call := runner.Go(in, out, done)
		jobs[call], memory[call] = k, j
	}
	next := 0
	for ; next < inFlight; next++ {
		submit(number*requests + next)
	}
	for answered := 0; answered < requests; answered++ {
		call := <-done
		if call.Error != nil {
			return right, call.Error
		}
		same := true
		for i, s := range memory[call].scores {
			same = same && s == expected[jobs[call]][i]
		}
		if same {
			right++
		}
		delete(memory, call)
		if next < requests {
			submit(number*requests + next)
			next++
		}
	}
	return right, nil
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: serving MODEL.onnx")
	}
	executable, err := poprt.Compile(os.Args[1], &poprt.CompileOptions{BatchSize: 1})
	if err != nil {
		log.Fatal(err)
	}
	runner, err := poprt.NewRunner(executable, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer runner.Close()

	expected := make([][]float32, clients*requests)
	for k := range expected {
		j := newJob(k)
		if err := runner.Execute(j.tensors()); err != nil {
			log.Fatal(err)
		}
		expected[k] = j.scores
	}
	var wait sync.WaitGroup
	right := make([]int, clients)
	for c := 0; c < clients; c++ {
		wait.Add(1)
		go func(c int) {
			defer wait.Done()
			n, err := client(runner, c, expected)
			if err != nil {
				log.Fatal(err)
			}
			right[c] = n
		}(c)
	}
	wait.Wait()
	total := 0
	for _, n := range right {
		total += n
	}
	fmt.Printf("%d requests from %d clients, %d right\n", clients*requests, clients, total)
}
