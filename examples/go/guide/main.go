// Guide has the chapters of docs/languages/go.md. It runs in a folder with digits.onnx and language_model/.
package main

import (
	"errors"
	"fmt"
	"log"
	"sync"
	"time"

	poprt "poprt.example.org/bindings/go"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// [load]
func load() *poprt.Runner {
	runner, err := poprt.LoadRunner("digits.onnx", nil, nil) // each shape is compiled when it first arrives
	check(err)
	fmt.Println("load:", runner.Inputs()[0].Name)
	fmt.Println("load:", runner.Outputs()[0].Name)

	// Ahead of time; poprt.Open maps the file and compiles nothing.
	check(poprt.CompileToPopEF("digits.onnx", "digits.popef", &poprt.CompileOptions{BatchSize: 8}))
	return runner
}

// [run]
func run(runner *poprt.Runner) {
	image := make([]float32, 64)
	outputs, err := runner.Run(poprt.Shaped("image", image, 1, 1, 8, 8)) // allocates the results
	check(err)
	shape := outputs["scores"].Shape
	fmt.Println("run:", shape[0], shape[1])
	scores, err := poprt.Values[float32](outputs["scores"])
	check(err)

	// Execute writes into slices of the caller.
	check(runner.Execute([]poprt.Tensor{poprt.Named("image", image)}, []poprt.Tensor{poprt.Named("scores", scores)}))
}

// [async]
func async(runner *poprt.Runner) {
	in := []poprt.Tensor{poprt.Named("image", make([]float32, 64))}
	out := []poprt.Tensor{poprt.Named("scores", make([]float32, 10))}
	call := <-runner.Go(in, out, make(chan *poprt.Call, 1)).Done // as net/rpc; ExecuteContext takes a context
	check(call.Error)
	fmt.Println("async: 1")
}

// [batch]
func batch() {
	executable, err := poprt.Open("digits.popef") // compiled for 8 rows
	check(err)
	runner, err := poprt.NewRunner(executable, &poprt.RunnerOptions{
		UseBatchingDim:            true,
		IsBatchSizeTimeoutEnabled: true,
		BatchSizeTimeout:          time.Millisecond, // requests that arrive within 1 ms share a run
	})
	check(err)
	defer runner.Close()
	// Three runs of 8 rows, the last one padded.
	outputs, err := runner.Run(poprt.Shaped("image", make([]float32, 20*64), 20, 1, 8, 8))
	check(err)
	shape := outputs["scores"].Shape
	fmt.Println("batch:", shape[0], shape[1])
}

// [shapes]
func shapes(runner *poprt.Runner) {
	check(runner.WarmUp("image=2,1,8,8/4,1,8,8")) // compiles before the first request

	sets := []map[string][]int64{{"image": {1, 1, 8, 8}}, {"image": {4, 1, 8, 8}}}
	executable, err := poprt.Compile("digits.onnx", &poprt.CompileOptions{ShapeSets: sets}) // both in one executable
	check(err)
	several, err := poprt.NewRunner(executable, nil)
	check(err)
	defer several.Close()
	// A request is padded to the next shape.
	outputs, err := several.Run(poprt.Shaped("image", make([]float32, 3*64), 3, 1, 8, 8))
	check(err)
	shape := outputs["scores"].Shape
	fmt.Println("shapes:", shape[0], shape[1])
}

// [state]
func state() {
	// The caches of two sequences are on the device.
	generator, err := poprt.NewGenerator("language_model", &poprt.GeneratorOptions{Slots: 2})
	check(err)
	defer generator.Close()
	text, err := generator.NewSequence(6, 42, 26)
	check(err)
	defer text.Close()
	check(text.SetOption("max_new_tokens", 8))
	check(text.SetOption("ignore_stop", 1))
	check(text.Start())
	fmt.Print("state:")
	for {
		token, err := text.Next(-1)
		check(err)
		if token < 0 {
			break // the text has ended
		}
		fmt.Print(" ", token)
	}
	fmt.Println()
}

// [serve]
func serve(runner *poprt.Runner) {
	var clients sync.WaitGroup
	answers := make(chan int, 40)
	for c := 0; c < 4; c++ {
		clients.Add(1)
		go func() { // any number of goroutines may share a runner
			defer clients.Done()
			image, scores := make([]float32, 64), make([]float32, 10)
			for i := 0; i < 10; i++ {
				check(runner.Execute([]poprt.Tensor{poprt.Named("image", image)}, []poprt.Tensor{poprt.Named("scores", scores)}))
				answers <- i
			}
		}()
	}
	clients.Wait()
	fmt.Println("serve:", len(answers))
	counters, err := runner.Counters()
	check(err)
	fmt.Println(counters.LatencyP99, "at the 99th percentile")
}

// [errors]
func failures() {
	_, err := poprt.LoadRunner("missing.onnx", nil, nil)
	if errors.Is(err, poprt.NotFound) { // also fs.ErrNotExist; the codes are those of gRPC
		fmt.Println("errors:", err)
	}
}

// [end]

func main() {
	log.SetFlags(0)
	runner := load()
	defer runner.Close()
	run(runner)
	async(runner)
	batch()
	shapes(runner)
	state()
	serve(runner)
	failures()
}
