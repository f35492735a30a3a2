// Binding_bench MODEL ROUNDS RUNS: nanoseconds of one execute, the fastest round, and bytes copied.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	poprt "poprt.example.org/bindings/go"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	rounds, runs := must(strconv.Atoi(os.Args[2])), must(strconv.Atoi(os.Args[3]))
	runner := must(poprt.NewRunner(must(poprt.Open(os.Args[1])), &poprt.RunnerOptions{Threads: 1}))
	x, y := []float32{3, 0, 0, 0, 0, 0, 0, 0}, make([]float32, 8)
	bound := must(runner.Bind([]poprt.Tensor{poprt.At(0, x)}, []poprt.Tensor{poprt.At(0, y)}))
	best := time.Hour.Seconds()
	for round := 0; round < rounds; round++ {
		start := time.Now()
		for i := 0; i < runs; i++ {
			if err := bound.Execute(); err != nil {
				panic(err)
			}
		}
		if took := time.Since(start).Seconds() / float64(runs); took < best {
			best = took
		}
	}
	if y[0] != 7 {
		panic(y[0])
	}
	fmt.Println(best*1e9, poprt.BytesCopied())
}
