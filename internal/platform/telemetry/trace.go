package telemetry

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
)

// Trace is a position in a distributed trace (W3C Trace Context, level 1).
type Trace struct {
	TraceID string // 32 lower-case hex digits, not all zero; "" is no trace
	SpanID  string // 16 lower-case hex digits, not all zero
	Sampled bool
}

// ParseTraceparent reads a traceparent header. False means that the header is absent or malformed; the standard then
// requires starting a new trace.
func ParseTraceparent(header string) (Trace, bool) {
	const length = len("00-") + 32 + len("-") + 16 + len("-01")
	if len(header) < length || !isHex(header[:2]) || header[:2] == "ff" {
		return Trace{}, false
	}
	// Version 00 is exactly this long; a later version may continue after a dash.
	if len(header) > length && (header[:2] == "00" || header[length] != '-') {
		return Trace{}, false
	}
	parts := strings.SplitN(header[:length], "-", 4)
	if len(parts) != 4 || !isID(parts[1], 32) || !isID(parts[2], 16) || len(parts[3]) != 2 || !isHex(parts[3]) {
		return Trace{}, false
	}
	flags, err := hex.DecodeString(parts[3])
	if err != nil {
		return Trace{}, false
	}
	return Trace{TraceID: parts[1], SpanID: parts[2], Sampled: flags[0]&1 == 1}, true
}

// Traceparent returns the header to pass on, "" for no trace.
func (t Trace) Traceparent() string {
	if t.TraceID == "" {
		return ""
	}
	flags := "00"
	if t.Sampled {
		flags = "01"
	}
	return "00-" + t.TraceID + "-" + t.SpanID + "-" + flags
}

func isID(s string, length int) bool {
	return len(s) == length && isHex(s) && strings.Trim(s, "0") != ""
}

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// NewTraceID returns the id of a new trace.
func NewTraceID() string { return randomID(16) }

// NewSpanID returns the id of a new span.
func NewSpanID() string { return randomID(8) }

func randomID(size int) string {
	id := make([]byte, size)
	_, _ = rand.Read(id) // it never fails, and in practice never returns all zeros
	return hex.EncodeToString(id)
}
