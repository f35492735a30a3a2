package poprt

import (
	"fmt"
	"os"
	"runtime/debug"
	"sync"

	"poprt.example.org/bindings/go/internal/native"
)

// LogLevel is the severity of a message.
type LogLevel int

// In order of increasing severity.
const (
	LogTrace LogLevel = iota
	LogDebug
	LogInfo
	LogWarning
	LogError
	LogCritical
)

// String returns the level's name, "WARNING" for LogWarning.
func (l LogLevel) String() string {
	names := [...]string{"TRACE", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"}
	if l < 0 || int(l) >= len(names) {
		return fmt.Sprintf("LogLevel(%d)", int(l))
	}
	return names[l]
}

// OnLog passes the library's messages, one line each without time, to receive instead of stderr, until stop is called.
// OnLog calls receive on a separate goroutine, in the order of the messages, and receive may call the library. A panic
// in receive is written to stderr, and receive still gets later messages. If there are several receivers, each gets
// every message. A receiver that is 10 000 messages late loses some, and a warning reports it.
//
// stop waits until earlier messages are delivered, so receive must call it as go stop(). Since 1.0.
func OnLog(receive func(level LogLevel, message string)) (stop func()) {
	raw := native.NewRawLog()
	over := make(chan struct{})
	go func() {
		defer close(over)
		for raw.Take() {
			call(receive, LogLevel(raw.Level()), raw.Text())
		}
	}()
	var once sync.Once
	return func() {
		once.Do(func() {
			raw.Close()
			<-over
			native.DeleteRawLog(raw)
		})
	}
}

func call(receive func(LogLevel, string), level LogLevel, message string) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintf(os.Stderr, "poprt: a receiver of OnLog panicked: %v\n%s", r, debug.Stack())
		}
	}()
	receive(level, message)
}
