package main

import (
	"fmt"

	poprt "poprt.example.org/bindings/go"
)

func main() {
	runner := must(poprt.LoadRunner("digits.onnx", nil, nil))
	floats := poprt.Values[float32]
	for _, batch := range []int64{1, 8} {
		image := make([]float32, batch*64)
		outputs := must(runner.Run(poprt.Shaped("image", image, batch, 1, 8, 8)))
		scores := must(floats(outputs["scores"]))
		fmt.Println(outputs["scores"], scores[:10])
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
