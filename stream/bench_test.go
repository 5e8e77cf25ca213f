//go:build linux

package stream

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"harness/tests/runtimetest/scripted"
)

// The fan-out's price: server CPU per delivered frame, user and system, of one 1 KiB event to many sockets. The readers
// are another process, so that getrusage counts the server alone; on loopback the receiving side's kernel work is
// charged to the sender.
//
//	go test -run '^$' -bench FanOut -benchtime 3000x ./stream
func BenchmarkFanOut(b *testing.B) {
	for _, sockets := range []int{200, 1000, 5000} {
		for _, load := range []struct {
			name          string
			burst, window int
		}{{"saturated", 1, 16}, {"burst", 8, 8}, {"single", 1, 1}} {
			for _, way := range []string{"raw", "stream"} {
				b.Run(fmt.Sprintf("%d/%s/%s", sockets, load.name, way), func(b *testing.B) {
					benchFanOut(b, way, sockets, load.burst, load.window)
				})
			}
		}
	}
}

const benchReaders = "HARNESS_BENCH_READERS"

// TestMain also runs the readers' process, and the scripted agent.
func TestMain(m *testing.M) {
	if scripted.Play() {
		return
	}
	if spec := os.Getenv(benchReaders); spec != "" {
		readMany(spec)
		return
	}
	os.Exit(m.Run())
}

func benchFanOut(b *testing.B, way string, sockets, burst, window int) {
	event := plainEvent("A", strings.Repeat("x", 1024-64))
	var send func()
	var address string
	switch way {
	case "raw":
		raw := newRawFanOut(b, len(benchFrame()))
		address, send = "raw "+raw.address, func() { raw.send(burst) }
	case "stream":
		j := newMemoryJournal()
		j.forgetful = true
		h := NewHub(j, Options{})
		if err := h.Start(b.Context()); err != nil {
			b.Fatal(err)
		}
		server := httptest.NewServer(NewHandler(h, HandlerOptions{}))
		defer server.Close()
		defer func() { _ = h.Stop(context.Background()) }()
		address = "ws " + strings.TrimPrefix(server.URL, "http://")
		send = func() {
			for range burst {
				_, _ = j.Append(context.Background(), event)
			}
		}
	}
	readers := exec.Command(os.Args[0])
	readers.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d", benchReaders, address, sockets), "GOMAXPROCS=1")
	readers.Stderr = os.Stderr
	in, _ := readers.StdinPipe()
	out, _ := readers.StdoutPipe()
	if err := readers.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = in.Close(); _ = readers.Wait() }()
	acks := bufio.NewReader(out)
	if _, err := acks.ReadByte(); err != nil {
		b.Fatal(err)
	}
	size := uint64(len(benchFrame()))
	var want [8]byte
	total, outstanding := uint64(0), 0
	var before, after syscall.Rusage
	var memory [2]runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory[0])
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &before)
	b.ResetTimer()
	for sent := 0; sent < b.N; sent += burst {
		send()
		total += size * uint64(sockets*burst)
		binary.LittleEndian.PutUint64(want[:], total)
		_, _ = in.Write(want[:])
		for outstanding += burst; outstanding >= window; outstanding -= burst {
			if _, err := acks.ReadByte(); err != nil {
				b.Fatal(err)
			}
		}
	}
	for ; outstanding > 0; outstanding -= burst {
		_, _ = acks.ReadByte()
	}
	b.StopTimer()
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
	runtime.ReadMemStats(&memory[1])
	frames := float64(total / size)
	cpu := micros(after.Utime) + micros(after.Stime) - micros(before.Utime) - micros(before.Stime)
	b.ReportMetric(cpu/frames, "cpu-us/frame")
	b.ReportMetric(frames/b.Elapsed().Seconds()/1000, "kframes/s")
	b.ReportMetric(float64(memory[1].TotalAlloc-memory[0].TotalAlloc)/frames, "B/frame")
	b.ReportMetric(0, "ns/op")
}

func micros(t syscall.Timeval) float64 { return float64(t.Sec)*1e6 + float64(t.Usec) }

func benchFrame() []byte {
	f := Frame{Type: "transcript_updated", ThreadID: "A", Payload: []byte(`"` + strings.Repeat("x", 1024-64) + `"`)}
	return (&shared{Frame: f}).message(false).Websocket()
}

// rawFanOut writes the same bytes to bare TCP connections: the upper bound.
type rawFanOut struct {
	address string
	wire    []byte
	mu      sync.Mutex
	conns   []*direct
	pending atomic.Int64
	wake    []chan struct{}
}

func newRawFanOut(b *testing.B, size int) *rawFanOut {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	r := &rawFanOut{address: listener.Addr().String(), wire: make([]byte, size)}
	memory := newVectors()
	b.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			r.mu.Lock()
			r.conns = append(r.conns, newDirect(conn, memory))
			r.mu.Unlock()
			_, _ = conn.Write([]byte{0})
		}
	}()
	for i := range 2 {
		wake := make(chan struct{}, 1)
		r.wake = append(r.wake, wake)
		b.Cleanup(func() { close(wake) })
		go func() {
			done := int64(0)
			message := &Message{wire: r.wire}
			var batch []*Message
			for range wake {
				for n := r.pending.Load() - done; n > 0; n = r.pending.Load() - done {
					n = min(n, maxBatchFrames)
					batch = batch[:0]
					for range n {
						batch = append(batch, message)
					}
					r.mu.Lock()
					conns := r.conns
					r.mu.Unlock()
					for k := i; k < len(conns); k += 2 {
						if sent, rest, err := conns[k].write(batch); err != nil || sent < int(n) || rest != nil {
							panic(fmt.Sprint("the raw bound met a full socket: ", sent, err))
						}
					}
					done += n
				}
			}
		}()
	}
	return r
}

func (r *rawFanOut) send(n int) {
	r.pending.Add(int64(n))
	for _, wake := range r.wake {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
}

// readMany is the readers' process: one epoll loop, which acknowledges each total requested on standard input.
func readMany(spec string) {
	var kind, address string
	var sockets int
	if _, err := fmt.Sscan(spec, &kind, &address, &sockets); err != nil {
		panic(err)
	}
	epoll, err := syscall.EpollCreate1(0)
	if err != nil {
		panic(err)
	}
	var files []*os.File
	for range sockets {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			panic(err)
		}
		if kind == "ws" {
			_, _ = io.WriteString(conn,
				"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: "+
					"dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n")
			reader := bufio.NewReaderSize(conn, 1)
			for line := ""; line != "\r\n"; {
				if line, err = reader.ReadString('\n'); err != nil {
					panic(err)
				}
			}
			if _, err := io.CopyN(io.Discard, reader, int64(2+len(readyNull))); err != nil || reader.Buffered() > 0 {
				panic(fmt.Sprint("ready: ", err))
			}
		} else if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
			panic(err)
		}
		file, err := conn.(*net.TCPConn).File()
		if err != nil {
			panic(err)
		}
		_ = conn.Close()
		files = append(files, file)
		fd := int(file.Fd())
		_ = syscall.SetNonblock(fd, true)
		if err := syscall.EpollCtl(epoll, syscall.EPOLL_CTL_ADD, fd,
			&syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(fd)}); err != nil {
			panic(err)
		}
	}
	wants := make(chan uint64, 1024)
	go func() {
		defer os.Exit(0)
		var want [8]byte
		for {
			if _, err := io.ReadFull(os.Stdin, want[:]); err != nil {
				return
			}
			wants <- binary.LittleEndian.Uint64(want[:])
		}
	}()
	_, _ = os.Stdout.Write([]byte{1})
	buf := make([]byte, 256<<10)
	events := make([]syscall.EpollEvent, 512)
	total, want := uint64(0), uint64(0)
	for {
		for {
			if want == 0 {
				select {
				case want = <-wants:
				default:
				}
			}
			if want == 0 || total < want {
				break
			}
			_, _ = os.Stdout.Write([]byte{1})
			want = 0
		}
		n, err := syscall.EpollWait(epoll, events, 1)
		if err != nil && err != syscall.EINTR {
			panic(err)
		}
		for i := range max(n, 0) {
			k, err := syscall.Read(int(events[i].Fd), buf)
			if k <= 0 && err != syscall.EAGAIN {
				runtime.KeepAlive(files)
				os.Exit(0)
			}
			total += uint64(max(k, 0))
		}
	}
}
