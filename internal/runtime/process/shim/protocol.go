package shim

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// A frame is one byte of kind, four bytes of length (big endian), and that many bytes. Unknown kinds are skipped.
type kind byte

// Frames of a server.
const (
	kindHello  kind = 'H' // hello: the first frame
	kindLine   kind = 'L' // a key (2 bytes of length, then the key), then bytes for the runtime's stdin: whole lines
	kindCall   kind = 'C' // like kindLine; the key is the label of a call
	kindDone   kind = 'D' // the label of a call that was answered or abandoned
	kindAck    kind = 'A' // 8 bytes: output before this offset is no longer needed
	kindSignal kind = 'S' // signalled: send a signal to the runtime
	kindNote   kind = 'N' // JSON to keep for the next server
	kindStop   kind = 'X' // stopping: end the runtime, then the shim
)

// Frames of a shim.
const (
	kindWelcome kind = 'h' // welcome: answers hello
	kindData    kind = 'd' // bytes of the runtime's stdout, from the requested offset, without gaps
	kindStderr  kind = 'e' // a line of the runtime's stderr; some may be missing
	kindStalled kind = 's' // JSON bool: whether the spool is stalled, which blocks the runtime in a write
	kindExit    kind = 'x' // JSON of runtime.Exit: the runtime is gone and all its output was sent
)

const (
	headerBytes = 5
	// controlLimit bounds every frame that is read whole into memory.
	controlLimit = 1 << 20
	// dataBytes is the maximum of stdout in one frame.
	dataBytes = 32 << 10
)

// Operations of hello.
const (
	opAttach = "attach" // after it this connection gets the data
	opStatus = "status" // one welcome, then the end
	opStop   = "stop"   // end the runtime and the shim, then one welcome
)

type hello struct {
	OldestProtocol int    `json:"oldestProtocol"`
	Protocol       int    `json:"protocol"`
	Token          string `json:"token"`
	Op             string `json:"op"`
	// From is the first offset to send after an attach. StopGrace replaces the spec's for opStop.
	From int64 `json:"from"`
}

type welcome struct {
	// Protocol is the version of all following frames.
	Protocol int    `json:"protocol"`
	Error    string `json:"error,omitempty"`
	Code     string `json:"code,omitempty"`
	// Attachment is the number of servers that attached, from 1: request ids of different servers must differ.
	Attachment int64 `json:"attachment"`
	From       int64 `json:"from"`
	State      State `json:"state"`
}

// Codes of a refusing welcome.
const (
	codePeer     = "peer"
	codeToken    = "token"
	codeProtocol = "protocol"
	codeOffset   = "offset"
)

type signalled struct {
	Signal int  `json:"signal"`
	Group  bool `json:"group"`
}

type stopping struct {
	GraceMS int64 `json:"graceMs"`
}

// common returns the highest version that both sides support, 0 for none.
func common(h hello, oldest, newest int) int {
	version := min(h.Protocol, newest)
	if version < h.OldestProtocol || version < oldest {
		return 0
	}
	return version
}

func putHeader(b []byte, k kind, length int) {
	b[0] = byte(k)
	binary.BigEndian.PutUint32(b[1:], uint32(length)) //nolint:gosec // callers stay below 4 GiB
}

func writeFrame(w io.Writer, k kind, payload []byte) error {
	frame := make([]byte, headerBytes+len(payload))
	putHeader(frame, k, len(payload))
	copy(frame[headerBytes:], payload)
	_, err := w.Write(frame)
	return err
}

func writeJSONFrame(w io.Writer, k kind, value any) error {
	payload, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return writeFrame(w, k, payload)
}

func readHeader(r io.Reader) (kind, int64, error) {
	var header [headerBytes]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return 0, 0, err
	}
	return kind(header[0]), int64(binary.BigEndian.Uint32(header[1:])), nil
}

// nextHeader is readHeader without allocations.
func nextHeader(r *bufio.Reader) (kind, int64, error) {
	header, err := r.Peek(headerBytes)
	if err != nil {
		return 0, 0, err
	}
	k, length := kind(header[0]), int64(binary.BigEndian.Uint32(header[1:]))
	_, err = r.Discard(headerBytes)
	return k, length, err
}

// readPayload reads all bytes of a frame.
func readPayload(r io.Reader, length int64) ([]byte, error) {
	if length > controlLimit {
		return nil, fmt.Errorf("a control frame of %d bytes is above the limit of %d", length, controlLimit)
	}
	payload := make([]byte, length)
	_, err := io.ReadFull(r, payload)
	return payload, err
}

func readJSONFrame(r io.Reader, want kind, into any) error {
	got, length, err := readHeader(r)
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("got a frame %q, want %q", got, want)
	}
	payload, err := readPayload(r, length)
	if err != nil {
		return err
	}
	return json.Unmarshal(payload, into)
}
