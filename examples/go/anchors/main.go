// Anchors prints the inputs and outputs of a PopEF file.
//
//	anchors MODEL.popef
package main

import (
	"fmt"
	"log"
	"os"

	poprt "poprt.example.org/bindings/go"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: anchors MODEL.popef")
	}
	executable, err := poprt.Open(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	for _, a := range executable.Inputs() {
		fmt.Printf("input %v %d bytes\n", a, a.Bytes)
	}
	for _, a := range executable.Outputs() {
		fmt.Printf("output %v %d bytes\n", a, a.Bytes)
	}
}
