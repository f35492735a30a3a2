package main

import (
	"fmt"

	poprt "poprt.example.org/bindings/go"
)

func main() {
	model := must(poprt.Compile("digits.onnx", &poprt.CompileOptions{BatchSize: 8}))
	runner := must(poprt.NewRunner(model, nil))
	image, scores := make([]float32, 8*64), make([]float32, 8*10)
	must(0, runner.Execute([]poprt.Tensor{poprt.Named("image", image)}, []poprt.Tensor{poprt.Named("scores", scores)}))
	fmt.Println(model.Outputs()[0], scores[:10])
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
