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

// Bytes is the memory in use: free memory of Go's heap and of malloc, which has a pool for each of many threads, is returned
// to the system before.
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
