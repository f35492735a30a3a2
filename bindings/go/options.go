package poprt

import (
	"fmt"
	"math"
)

// oneOf is the value of an option that has two names. A program that sets both to different values is told so.
func oneOf[T comparable](err *error, name string, value T, olderName string, older T) T {
	var unset T
	if older == unset {
		return value
	}
	if value != unset && value != older && *err == nil {
		*err = invalid(fmt.Sprintf("%s and %s are one option, given as %v and as %v", name, olderName, value, older))
	}
	return older
}

// check32 refuses numbers that the library has no room for.
func check32(err *error, name string, n int) {
	if (n < math.MinInt32 || n > math.MaxInt32) && *err == nil {
		*err = invalid(fmt.Sprintf("%s is a 32-bit number, given %d", name, n))
	}
}
