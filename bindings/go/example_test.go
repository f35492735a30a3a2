package poprt_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	poprt "poprt.example.org/bindings/go"
)

// The model of the examples: y = 2 x + 1, for any number of rows of 4.
const affine = "../../tests/bindings/data/affine.onnx"

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func newRunner() *poprt.Runner {
	shapes := map[string][]int64{"x": {1, 4}}
	executable := must(poprt.Compile(affine, &poprt.CompileOptions{InputShapes: shapes}))
	return must(poprt.NewRunner(executable, &poprt.RunnerOptions{Threads: 1}))
}

func ExampleCompile() {
	shapes := map[string][]int64{"x": {2, 4}}
	executable, err := poprt.Compile(affine, &poprt.CompileOptions{InputShapes: shapes})
	if err != nil {
		panic(err)
	}
	fmt.Println(executable.Inputs(), executable.Outputs())
	// Output: [x f32 [2,4]] [y f32 [2,4]]
}

func ExampleOpen() {
	_, err := poprt.Open("missing.popef")
	fmt.Println(err)
	fmt.Println(errors.Is(err, poprt.NotFound), errors.Is(err, fs.ErrNotExist))
	// Output:
	// poprt: cannot open 'missing.popef': No such file or directory
	// true true
}

func ExampleRunner_Execute() {
	runner := newRunner()
	defer runner.Close()
	x, y := []float32{1, 2, 3, 4}, make([]float32, 4)
	err := runner.Execute([]poprt.Tensor{poprt.Named("x", x)}, []poprt.Tensor{poprt.Named("y", y)})
	fmt.Println(y, err)
	// Output: [3 5 7 9] <nil>
}

// Memory is checked once, and used for any number of runs.
func ExampleRunner_Bind() {
	runner := newRunner()
	defer runner.Close()
	x, y := make([]float32, 4), make([]float32, 4)
	bound := must(runner.Bind([]poprt.Tensor{poprt.At(0, x)}, []poprt.Tensor{poprt.At(0, y)}))
	for i := 0; i < 3; i++ {
		x[0] = float32(i)
		if err := bound.Execute(); err != nil {
			panic(err)
		}
		fmt.Println(y[0])
	}
	// Output:
	// 1
	// 3
	// 5
}

// Answers arrive on a channel.
func ExampleRunner_Go() {
	runner := newRunner()
	defer runner.Close()
	done := make(chan *poprt.Call, 10)
	results := make([][]float32, 10)
	for i := range results {
		x := []float32{float32(i), 0, 0, 0}
		results[i] = make([]float32, 4)
		runner.Go([]poprt.Tensor{poprt.Named("x", x)}, []poprt.Tensor{poprt.Named("y", results[i])}, done)
	}
	for range results {
		if call := <-done; call.Error != nil {
			panic(call.Error)
		}
	}
	for _, y := range results {
		fmt.Print(y[0], " ")
	}
	// Output: 1 3 5 7 9 11 13 15 17 19
}

func ExampleBinding_ExecuteContext() {
	runner := newRunner()
	defer runner.Close()
	x, y := make([]float32, 4), make([]float32, 4)
	bound := must(runner.Bind([]poprt.Tensor{poprt.Named("x", x)}, []poprt.Tensor{poprt.Named("y", y)}))

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	fmt.Println(bound.ExecuteContext(ctx))
	cancel()
	fmt.Println(bound.ExecuteContext(ctx))
	// Output:
	// <nil>
	// context canceled
}

func ExampleToFloat16() {
	half := poprt.ToFloat16(1.0 / 3)
	fmt.Printf("%#04x %v\n", uint16(half), half.Float32())
	// Output: 0x3555 0.33325195
}

func ExampleSession() {
	shapes := map[string][]int64{"x": {1, 4}}
	executable := must(poprt.Compile(affine, &poprt.CompileOptions{InputShapes: shapes}))
	session := must(poprt.NewSession(executable, &poprt.SessionOptions{Threads: 1}))
	defer session.Close()
	session.SetInputHandler("x", poprt.InputFunc(func(data []byte) error {
		copy(poprt.View[float32](data), []float32{0, 1, 2, 3})
		return nil
	}))
	session.SetOutputHandler("y", poprt.OutputFunc(func(data []byte) error {
		fmt.Println(poprt.View[float32](data))
		return nil
	}))
	fmt.Println(session.RunMainPrograms())
	// Output:
	// [1 3 5 7]
	// <nil>
}

func ExampleQueue_Enqueue() {
	shapes := map[string][]int64{"x": {1, 4}}
	executable := must(poprt.Compile(affine, &poprt.CompileOptions{InputShapes: shapes}))
	session := must(poprt.NewSession(executable, &poprt.SessionOptions{Threads: 1}))
	defer session.Close()
	queues := must(session.NewQueueManager(nil))
	y := make([]float32, 4)
	must(queues.InputQueue("x")).Enqueue(poprt.Elements([]float32{0, 1, 2, 3}), nil)
	filled := must(queues.OutputQueue("y")).Enqueue(poprt.Elements(y), nil)
	go session.RunMainPrograms()
	fmt.Println((<-filled.Done).Error, y)
	// Output: <nil> [1 3 5 7]
}
