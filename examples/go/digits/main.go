// Digits compiles the digits model and classifies handwritten digits with it.
//
//	digits MODEL.onnx IMAGES.idx3-ubyte LABELS.idx1-ubyte
package main

import (
	"encoding/binary"
	"fmt"
	"log"
	"os"
	"time"

	poprt "poprt.example.org/bindings/go"
)

const batch, pixels, classes = 8, 8 * 8, 10

// readIDX returns the bytes of an IDX file with the given number of dimensions, and its number of items.
func readIDX(path string, rank int) ([]byte, int, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, err
	}
	header := 4 + 4*rank
	if len(data) < header || data[2] != 8 || int(data[3]) != rank {
		return nil, 0, fmt.Errorf("%s is no IDX file of bytes with %d dimensions", path, rank)
	}
	return data[header:], int(binary.BigEndian.Uint32(data[4:])), nil
}

func run(model, imagesPath, labelsPath string) error {
	images, count, err := readIDX(imagesPath, 3)
	if err != nil {
		return err
	}
	labels, _, err := readIDX(labelsPath, 1)
	if err != nil {
		return err
	}
	shapes := map[string][]int64{"image": {batch, 1, 8, 8}}
	executable, err := poprt.Compile(model, &poprt.CompileOptions{InputShapes: shapes})
	if err != nil {
		return err
	}
	runner, err := poprt.NewRunner(executable, nil)
	if err != nil {
		return err
	}
	defer runner.Close()

	input, output := make([]float32, batch*pixels), make([]float32, batch*classes)
	bound, err := runner.Bind([]poprt.Tensor{poprt.Named("image", input)}, []poprt.Tensor{poprt.Named("scores", output)})
	if err != nil {
		return err
	}
	correct, fastest := 0, time.Hour
	for first := 0; first < count; first += batch {
		for i := range input { // scale pixels 0..16 to 0..1; pad the last batch
			input[i] = 0
			if at := first*pixels + i; at < count*pixels {
				input[i] = float32(images[at]) / 16
			}
		}
		start := time.Now()
		if err := bound.Execute(); err != nil {
			return err
		}
		if took := time.Since(start); took < fastest {
			fastest = took
		}
		for i := 0; i < batch && first+i < count; i++ {
			best := 0
			for c := 1; c < classes; c++ {
				if output[i*classes+c] > output[i*classes+best] {
					best = c
				}
			}
			if best == int(labels[first+i]) {
				correct++
			}
		}
	}
	fmt.Printf("%d held-out images, accuracy %.4f\n", count, float64(correct)/float64(count))
	fmt.Printf("  batch %d: fastest %v\n", batch, fastest)
	return nil
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 4 {
		log.Fatal("usage: digits MODEL.onnx IMAGES.idx3-ubyte LABELS.idx1-ubyte")
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		log.Fatal(err)
	}
}
