// Classifies digits with a server of the Open Inference Protocol, such as poprt_serve or Triton. Tensors are binary: a request is
// a JSON header, whose length is in a field of HTTP, and the bytes of its inputs.
//
//	go run client.go 127.0.0.1:8000 digits IMAGES.idx3-ubyte LABELS.idx1-ubyte
package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math"
	"net/http"
	"os"
	"strconv"
)

const rows, pixels, classes = 8, 64, 10

// infer returns the scores of n images.
func infer(url string, images []float32, n int) ([]float32, error) {
	header, err := json.Marshal(map[string]interface{}{
		"inputs": []interface{}{map[string]interface{}{"name": "image", "datatype": "FP32", "shape": []int{n, 1, 8, 8},
			"parameters": map[string]interface{}{"binary_data_size": 4 * len(images)}}},
		"outputs": []interface{}{map[string]interface{}{"name": "scores", "parameters": map[string]interface{}{"binary_data": true}}},
	})
	if err != nil {
		return nil, err
	}
	body := bytes.NewBuffer(header)
	if err := binary.Write(body, binary.LittleEndian, images); err != nil {
		return nil, err
	}
	request, err := http.NewRequest(http.MethodPost, url, body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Inference-Header-Content-Length", strconv.Itoa(len(header)))
	request.Header.Set("Content-Type", "application/octet-stream")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", response.Status, answer)
	}
	length, err := strconv.Atoi(response.Header.Get("Inference-Header-Content-Length"))
	if err != nil || len(answer)-length != 4*n*classes {
		return nil, fmt.Errorf("expected %d bytes after the header, found %d", 4*n*classes, len(answer)-length)
	}
	scores := make([]float32, n*classes)
	for i := range scores {
		scores[i] = math.Float32frombits(binary.LittleEndian.Uint32(answer[length+4*i:]))
	}
	return scores, nil
}

func main() {
	if len(os.Args) != 5 {
		log.Fatal("usage: client ADDRESS MODEL IMAGES LABELS")
	}
	url := fmt.Sprintf("http://%s/v2/models/%s/infer", os.Args[1], os.Args[2])
	images, err := os.ReadFile(os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	labels, err := os.ReadFile(os.Args[4])
	if err != nil {
		log.Fatal(err)
	}
	images, labels = images[16:], labels[8:]
	right := 0
	for first := 0; first < len(labels); first += rows {
		n := len(labels) - first
		if n > rows {
			n = rows
		}
		batch := make([]float32, n*pixels)
		for i := range batch {
			batch[i] = float32(images[first*pixels+i]) / 16
		}
		scores, err := infer(url, batch, n)
		if err != nil {
			log.Fatal(err)
		}
		for row := 0; row < n; row++ {
			best := 0
			for c := 1; c < classes; c++ {
				if scores[row*classes+c] > scores[row*classes+best] {
					best = c
				}
			}
			if best == int(labels[first+row]) {
				right++
			}
		}
	}
	fmt.Printf("%d images, accuracy %.4f\n", len(labels), float64(right)/float64(len(labels)))
}
