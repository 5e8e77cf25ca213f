package shim_test

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"harness/internal/runtime/process"
	"harness/internal/runtime/process/shim"
)

// A server finds and attaches to 50 shims of a killed one within 2 s, each with its runtime's output from the gap.
func TestFiftyShimsAreAdopted(t *testing.T) {
	t.Parallel()
	const count = 50
	p := newPlace(t)
	var group sync.WaitGroup
	gate := make(chan struct{}, 4)
	for range count {
		group.Go(func() {
			gate <- struct{}{}
			defer func() { <-gate }()
			a := p.sh(`echo said; cat`, nil)
			line(t, bufio.NewReader(a))
			write(t, a, "", "unread")
			a.Detach()
			a.Release()
		})
	}
	group.Wait()

	began := time.Now()
	found := p.found()
	adopted := make([]*shim.Attached, len(found))
	for i, f := range found {
		if !f.Alive {
			t.Errorf("%s is dead", f.Generation)
		}
		a, err := shim.Attach(t.Context(), f, int64(len("said\n")), nil)
		if err != nil {
			t.Fatal(err)
		}
		adopted[i] = a
	}
	took := time.Since(began)
	t.Logf("%d shims adopted in %v", len(adopted), took)
	if len(adopted) != count || took > slowness*2*time.Second {
		t.Errorf("%d shims adopted in %v", len(adopted), took)
	}
	for _, a := range adopted {
		group.Go(func() {
			if got := line(t, bufio.NewReader(a)); got != "unread" {
				t.Errorf("got %q", got)
			}
			go a.Stop(0)
			_, _ = io.Copy(io.Discard, a)
			a.Release()
			a.Forget()
		})
	}
	group.Wait()
	p.eventually("nothing is left", func() bool { return len(p.left()) == 0 })
}

// The path of a data directory may exceed the maximum for a socket.
func TestALongPathHasItsSocketElsewhere(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.host.RunDir = filepath.Join(t.TempDir(), strings.Repeat("long/", 30), "run")
	a := p.sh(`cat`, nil)
	folder := filepath.Dir(a.State.Socket)
	if strings.HasPrefix(folder, p.host.RunDir) {
		t.Fatalf("the socket is %s", a.State.Socket)
	}
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the socket's folder: %v %v", info, err)
	}
	a.Detach()
	b := p.attach(0)
	go b.Stop(0)
	p.end(b)
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket's folder is left: %v", err)
	}
}

// Only the owner can use a shim, and only with its token.
func TestTokenIsRequired(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.sh(`cat`, nil)
	f := p.found()[0]
	for _, name := range []string{"token", "state.json", "spec.json", "sock"} {
		if info, err := os.Stat(filepath.Join(f.Dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
	}
	token := filepath.Join(f.Dir, "token")
	right, err := os.ReadFile(token)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(token, []byte("wrong"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := shim.Attach(t.Context(), f, 0, nil); !errors.Is(err, shim.ErrRefused) {
		t.Errorf("attached with a wrong token: %v", err)
	}
	if err := os.WriteFile(token, right, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := shim.Attach(t.Context(), f, 5, nil); !errors.Is(err, shim.ErrRefused) {
		t.Errorf("attached beyond the end: %v", err)
	}
	write(t, a, "", "still attached")
	if got := line(t, bufio.NewReader(a)); got != "still attached" {
		t.Errorf("got %q", got)
	}
	go a.Stop(0)
	p.end(a)
}

// The latest server counts: the shim disconnects the earlier one.
func TestLastServerWins(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.sh(`cat`, nil)
	b := p.attach(0)
	if n, err := io.Copy(io.Discard, struct{ io.Reader }{detachedReader{a}}); n != 0 || err != nil {
		t.Errorf("the first read %d, %v", n, err)
	}
	write(t, b, "", "mine")
	if got := line(t, bufio.NewReader(b)); got != "mine" {
		t.Errorf("got %q", got)
	}
	go b.Stop(0)
	p.end(b)
	a.Release()
}

// detachedReader reads like a server that is being replaced: it must not kill the runtime of the new server.
type detachedReader struct{ a *shim.Attached }

func (d detachedReader) Read(b []byte) (int, error) {
	d.a.Detach()
	return d.a.Read(b)
}

// peer runs a shim of another version at the socket of a folder.
func peer(t *testing.T, oldest, newest int, frames func(conn net.Conn)) shim.Found {
	t.Helper()
	dir := t.TempDir()
	socket := filepath.Join(dir, "sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte("t"), 0o600); err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	t.Cleanup(func() {
		_ = listener.Close()
		<-served
	})
	go func() {
		defer close(served)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		header := make([]byte, 5)
		if _, err := io.ReadFull(conn, header); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(header[1:]))
		if _, err := io.ReadFull(conn, body); err != nil {
			return
		}
		var hello struct{ OldestProtocol, Protocol int }
		_ = json.Unmarshal(body, &hello)
		version := min(hello.Protocol, newest)
		answer := fmt.Sprintf(`{"protocol":%d,"attachment":1,"unknownMember":true,"state":{"protocol":%d}}`, version, newest)
		if version < oldest || version < hello.OldestProtocol {
			answer = `{"protocol":0,"code":"protocol","error":"too far apart"}`
		}
		send(conn, 'h', answer)
		if frames != nil && !strings.Contains(answer, "too far") {
			frames(conn)
		}
	}()
	return shim.Found{Dir: dir, Generation: "g", State: shim.State{Socket: socket}}
}

func send(conn net.Conn, kind byte, body string) {
	frame := append([]byte{kind}, binary.BigEndian.AppendUint32(nil, uint32(len(body)))...)
	_, _ = conn.Write(append(frame, body...))
}

// A server works with a newer shim: they use the highest common version, and the server skips unknown frames. It
// refuses a shim that is too old, or supports only newer versions, with a specific error, so that it can be reaped.
func TestShimsOfOtherVersions(t *testing.T) {
	t.Parallel()
	newer := peer(t, shim.OldestProtocol, shim.Protocol+1, func(conn net.Conn) {
		send(conn, '?', "something new")
		send(conn, 'd', "hello\n")
		send(conn, '!', strings.Repeat("x", 100_000))
		send(conn, 'x', `{"code":3,"signal":null,"somethingNew":1}`)
	})
	a, err := shim.Attach(t.Context(), newer, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(a); err != nil || string(rest) != "hello\n" {
		t.Errorf("got %q, %v", rest, err)
	}
	if exit := a.Exit(); exit.Code == nil || *exit.Code != 3 {
		t.Errorf("exit %+v", exit)
	}
	a.Release()
	for name, versions := range map[string][2]int{"too new": {shim.Protocol + 1, shim.Protocol + 2},
		"too old": {0, shim.OldestProtocol - 1}} {
		if _, err := shim.Attach(t.Context(), peer(t, versions[0], versions[1], nil), 0, nil); !errors.Is(err,
			shim.ErrProtocol) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A shim of the first version does not support calls: it gets plain lines, and only frames it supports.
func TestOlderShimGetsItsProtocolVersion(t *testing.T) {
	t.Parallel()
	kinds := make(chan string, 1)
	older := peer(t, 1, 1, func(conn net.Conn) {
		got := ""
		for range 2 {
			header := make([]byte, 5)
			if _, err := io.ReadFull(conn, header); err != nil {
				break
			}
			body := make([]byte, binary.BigEndian.Uint32(header[1:]))
			_, _ = io.ReadFull(conn, body)
			got += fmt.Sprintf("%c%q ", header[0], body)
		}
		kinds <- got
		send(conn, 'x', `{"code":0,"signal":null}`)
	})
	a, err := shim.Attach(t.Context(), older, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.WriteCall("label", []byte("asked\n")); err != nil {
		t.Fatal(err)
	}
	a.Settled("label")
	write(t, a, "key", "said")
	if got, want := <-kinds, `L"\x00\x00asked\n" L"\x00\x03keysaid\n" `; got != want {
		t.Errorf("it got %s, want %s", got, want)
	}
	_, _ = io.Copy(io.Discard, a)
	a.Release()
}

// A server of the first version works with a shim of this one, with exactly the frames of that version.
func TestAnOlderServerIsAnswered(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.sh(`cat`, nil)
	f := p.found()[0]
	token, err := os.ReadFile(filepath.Join(f.Dir, "token"))
	if err != nil {
		t.Fatal(err)
	}
	a.Detach()
	conn, err := net.Dial("unix", f.State.Socket)
	if err != nil {
		t.Fatal(err)
	}
	send(conn, 'H', fmt.Sprintf(`{"oldestProtocol":1,"protocol":1,"token":%q,"op":"attach","from":0}`, token))
	readFrame := func() (byte, string) {
		header := make([]byte, 5)
		if _, err := io.ReadFull(conn, header); err != nil {
			t.Fatal(err)
		}
		body := make([]byte, binary.BigEndian.Uint32(header[1:]))
		if _, err := io.ReadFull(conn, body); err != nil {
			t.Fatal(err)
		}
		return header[0], string(body)
	}
	if kind, body := readFrame(); kind != 'h' || !strings.Contains(body, `"protocol":1,"attachment":2`) {
		t.Errorf("welcomed with %c %s", kind, body)
	}
	send(conn, 'L', "\x00\x03keyold words\n")
	if kind, body := readFrame(); kind != 'd' || body != "old words\n" {
		t.Errorf("read %c %q", kind, body)
	}
	send(conn, 'X', `{"graceMs":100}`)
	if kind, body := readFrame(); kind != 'x' || !strings.Contains(body, `"signal":`) {
		t.Errorf("read %c %q", kind, body)
	}
	_ = conn.Close()
	p.eventually("nothing is left", func() bool { return len(p.left()) == 0 })
}

// BenchmarkLine measures one line in both directions: to the runtime and its echo, as a child and behind a shim. The
// difference is the cost of a shim in both directions together.
func BenchmarkLine(b *testing.B) {
	rounds := func(b *testing.B, w io.Writer, r *bufio.Reader) {
		message := []byte(strings.Repeat("m", 300) + "\n")
		times := make([]time.Duration, 0, b.N)
		b.ResetTimer()
		for range b.N {
			began := time.Now()
			if _, err := w.Write(message); err != nil {
				b.Fatal(err)
			}
			if _, err := r.ReadSlice('\n'); err != nil {
				b.Fatal(err)
			}
			times = append(times, time.Since(began))
		}
		b.StopTimer()
		slices.Sort(times)
		b.ReportMetric(float64(times[len(times)/2].Microseconds()), "p50-µs")
		b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), "p99-µs")
	}
	b.Run("child", func(b *testing.B) {
		c, err := process.Start(b.Context(), process.Spec{Path: "/bin/cat", Env: os.Environ()})
		if err != nil {
			b.Fatal(err)
		}
		rounds(b, c.Stdin(), bufio.NewReader(c.Stdout()))
		c.Stop(time.Second)
		c.Release()
	})
	b.Run("shim", func(b *testing.B) {
		p := newPlace(b)
		a := p.sh(`exec cat`, nil)
		rounds(b, a, bufio.NewReader(a))
		go a.Stop(0)
		p.end(a)
	})
}

// A server reads all spooled output of a shim, even if the shim is stopped and must be killed.
func TestAFrozenShimLosesNothingItSpooled(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	const lines = 200_000
	a := p.sh(fmt.Sprintf(`seq 1 %d; cat`, lines), nil)
	var want strings.Builder
	for n := range lines {
		_, _ = fmt.Fprintln(&want, n+1)
	}
	p.eventually("all is spooled", func() bool {
		state, err := shim.Status(t.Context(), p.found()[0])
		return err == nil && state.End == int64(want.Len())
	})
	if err := syscall.Kill(a.State.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		a.Stop(0)
	}()
	if got := p.end(a); got != want.String() {
		t.Errorf("%d bytes came of %d", len(got), want.Len())
	}
	<-stopped
}
