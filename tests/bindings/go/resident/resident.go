// Package resident measures the memory of the process; tests cannot call C themselves.
package resident

// #include <malloc.h>
import "C"

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// Bytes returns the memory in use, after free memory of Go's heap and of malloc (with one pool for each of many threads) has
// been returned to the system.
func Bytes() (int, error) {
	debug.FreeOSMemory()
	C.malloc_trim(0)
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	return pages * os.Getpagesize(), err
}
