package shim

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"harness/internal/lib/wake"
	"harness/internal/runtime"
	"harness/internal/runtime/process"
)

const (
	// attachLimit bounds an exchange with a shim that may hang.
	attachLimit = 5 * time.Second
	// ackStep is the number of new bytes between two acknowledgments, which only free disk space.
	ackStep = 64 << 10
	// killWait is how long the exit takes after all processes were killed.
	killWait = 2 * time.Second
)

// Attached is a runtime behind a shim, or the remaining output of a dead shim's runtime. One goroutine reads it.
type Attached struct {
	// State is the shim's report at attach. Attachment is the number of servers that attached so far, including this
	// one; 0 for a dead shim.
	State      State
	Attachment int64

	dir      string
	conn     net.Conn // nil for a dead shim
	protocol int
	stderr   func([]byte)

	// Read state: the rest of the current data frame, the spool once the shim is dead, and the position in the
	// runtime's output.
	left     int64
	dead     *segments
	position int64

	writing  sync.Mutex
	acked    atomic.Int64
	stalled  atomic.Bool
	settling sync.Mutex
	settled  []string // labels to send to the shim
	ackWake  wake.Signal
	ackDone  chan struct{}
	detached atomic.Bool
	finish   sync.Once
	done     chan struct{}
	exit     runtime.Exit
	reaped   <-chan struct{}
}

// Attach attaches to a live shim, reading from the offset on. It returns ErrProtocol, ErrRefused or ErrGone if it
// cannot.
func Attach(ctx context.Context, found Found, from int64, stderr func([]byte)) (*Attached, error) {
	conn, w, err := converse(ctx, found, hello{Op: opAttach, From: from}, attachLimit)
	if err != nil {
		return nil, err
	}
	if stderr == nil {
		stderr = func([]byte) {}
	}
	a := &Attached{
		State: w.State, Attachment: w.Attachment, dir: found.Dir, conn: conn, protocol: w.Protocol, stderr: stderr,
		position: from, ackWake: wake.New(), ackDone: make(chan struct{}), done: make(chan struct{}),
	}
	a.acked.Store(from)
	go a.acknowledge(from)
	return a, nil
}

// Replay reads the remaining output of a dead shim's runtime, from the offset on.
func Replay(found Found, from int64) *Attached {
	a := &Attached{State: found.State, dir: found.Dir, dead: &segments{dir: spoolPath(found.Dir), check: true}, position: from,
		ackWake: wake.New(), done: make(chan struct{})}
	return a
}

// converse sends hello and returns the answer.
func converse(ctx context.Context, found Found, h hello, limit time.Duration) (net.Conn, welcome, error) {
	token, err := os.ReadFile(filepath.Join(found.Dir, tokenFile))
	if err != nil {
		return nil, welcome{}, fmt.Errorf("read a shim's token: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", found.State.Socket)
	if err != nil {
		return nil, welcome{}, fmt.Errorf("%w: %w", ErrGone, err)
	}
	deadline, _ := ctx.Deadline()
	_ = conn.SetDeadline(deadline)
	h.Token, h.OldestProtocol, h.Protocol = string(token), OldestProtocol, Protocol
	var w welcome
	if err = writeJSONFrame(conn, kindHello, h); err == nil {
		err = readJSONFrame(conn, kindWelcome, &w)
	}
	switch {
	case err != nil:
		err = fmt.Errorf("%w: it does not answer: %w", ErrGone, err)
	case w.Code == codeProtocol:
		err = fmt.Errorf("%w: %s; this binary speaks %d to %d", ErrProtocol, w.Error, OldestProtocol, Protocol)
	case w.Error != "":
		err = fmt.Errorf("%w: %s", ErrRefused, w.Error)
	default:
		_ = conn.SetDeadline(time.Time{})
		return conn, w, nil
	}
	_ = conn.Close()
	return nil, w, err
}

// Read implements io.Reader with the runtime's stdout. It ends when the runtime is gone and all its output is read,
// after Detach, or when the shim is gone. Done is closed before it ends.
func (a *Attached) Read(b []byte) (int, error) {
	select {
	case <-a.done:
		return 0, io.EOF
	default:
	}
	if a.dead != nil {
		return a.readDead(b)
	}
	for a.left == 0 {
		k, length, err := readHeader(a.conn)
		if err != nil {
			return a.lost(b)
		}
		if k == kindData {
			a.left = length
			continue
		}
		if err := a.handle(k, length); errors.Is(err, io.EOF) {
			return 0, err
		} else if err != nil {
			return a.lost(b)
		}
	}
	n, err := a.conn.Read(b[:min(int64(len(b)), a.left)])
	a.left -= int64(n)
	a.position += int64(n)
	if n == 0 && err != nil {
		return a.lost(b)
	}
	return n, nil
}

// handle handles a control frame. It returns io.EOF for the last one, ErrGone when the connection ended within it.
func (a *Attached) handle(k kind, length int64) error {
	if k != kindStderr && k != kindExit && k != kindStalled {
		if _, err := io.CopyN(io.Discard, a.conn, length); err != nil {
			return ErrGone
		}
		return nil
	}
	payload, err := readPayload(a.conn, length)
	if err != nil {
		return ErrGone
	}
	switch k {
	case kindStderr:
		a.stderr(payload)
		return nil
	case kindStalled:
		a.stalled.Store(string(payload) == "true")
		return nil
	}
	var exit runtime.Exit
	_ = json.Unmarshal(payload, &exit)
	a.ended(exit)
	return io.EOF
}

// Stalled reports whether the shim's spool is stalled, because the disk is full or its limit is reached. The runtime
// then blocks in a write, and its silence proves nothing.
func (a *Attached) Stalled() bool { return a.stalled.Load() }

func (a *Attached) readDead(b []byte) (int, error) {
	n, err := a.dead.readAt(b, a.position)
	a.position += int64(n)
	if err == nil {
		return n, nil
	}
	exit := runtime.Exit{At: time.Now(), Reason: "its shim ended"}
	if a.State.Exit != nil {
		exit = *a.State.Exit
	}
	if !errors.Is(err, io.EOF) {
		exit.Reason = "what it wrote could not be read: " + err.Error()
	}
	a.dead.close()
	a.ended(exit)
	return 0, io.EOF
}

// lost handles the end of the connection: this server detached, or the shim is gone with its runtime. Then Read
// continues in the spool.
func (a *Attached) lost(b []byte) (int, error) {
	if a.detached.Load() {
		a.ended(runtime.Exit{At: time.Now()})
		return 0, io.EOF
	}
	a.killAll()
	awaitEnd(context.Background(), a.State, killWait)
	a.left, a.dead = 0, &segments{dir: spoolPath(a.dir), check: true}
	return a.readDead(b)
}

func (a *Attached) ended(exit runtime.Exit) {
	a.finish.Do(func() {
		a.exit = exit
		close(a.done)
	})
}

// Write sends whole lines to the runtime. It supports write deadlines.
func (a *Attached) Write(line []byte) (int, error) { return a.WriteOnce("", line) }

// WriteOnce is Write, but the shim passes on only the first of all lines with this key, from any server. "" is no
// key.
func (a *Attached) WriteOnce(key string, line []byte) (int, error) {
	return a.write(kindLine, key, line)
}

// WriteCall is Write, but the shim keeps the call's label until Settled, for a later server (State.Calls). Labels
// must be unique across servers. A shim of an older version does not keep it.
func (a *Attached) WriteCall(label string, line []byte) (int, error) {
	if a.protocol < protocolCalls {
		return a.Write(line)
	}
	return a.write(kindCall, label, line)
}

// Settled reports that a call was answered or abandoned. It does not block; a server that dies at once may not have
// sent it.
func (a *Attached) Settled(label string) {
	if a.protocol < protocolCalls {
		return
	}
	a.settling.Lock()
	a.settled = append(a.settled, label)
	a.settling.Unlock()
	a.wake()
}

func (a *Attached) write(k kind, key string, line []byte) (int, error) {
	if a.conn == nil {
		return 0, ErrGone
	}
	payload := 2 + len(key) + len(line)
	head := make([]byte, headerBytes, headerBytes+2+len(key))
	putHeader(head, k, payload)
	head = binary.BigEndian.AppendUint16(head, uint16(len(key))) //nolint:gosec // keys are short ids
	head = append(head, key...)
	a.writing.Lock()
	defer a.writing.Unlock()
	buffers := net.Buffers{head, line}
	_, err := buffers.WriteTo(a.conn)
	return len(line), err
}

// SetWriteDeadline bounds Write.
func (a *Attached) SetWriteDeadline(at time.Time) error {
	if a.conn == nil {
		return nil
	}
	return a.conn.SetWriteDeadline(at)
}

// Note stores a JSON value in the shim, for the next server that attaches (State.Note).
func (a *Attached) Note(value json.RawMessage) { _ = a.frame(kindNote, value) }

// Ack reports that everything before the offset is durable. It does not block.
func (a *Attached) Ack(offset int64) {
	for {
		before := a.acked.Load()
		if offset <= before {
			return
		}
		if a.acked.CompareAndSwap(before, offset) {
			break
		}
	}
	a.wake()
}

func (a *Attached) wake() {
	a.ackWake.Set()
}

// acknowledge sends the settled calls to the shim, and at intervals the durable offset.
func (a *Attached) acknowledge(acked int64) {
	defer close(a.ackDone)
	for {
		select {
		case <-a.ackWake:
		case <-a.done:
			return
		}
		a.settling.Lock()
		labels := a.settled
		a.settled = nil
		a.settling.Unlock()
		for _, label := range labels {
			if a.frame(kindDone, []byte(label)) != nil {
				return
			}
		}
		if offset := a.acked.Load(); offset-acked >= ackStep {
			if a.frame(kindAck,
				binary.BigEndian.AppendUint64(nil, uint64(offset))) != nil { //nolint:gosec // offsets are positive
				return
			}
			acked = offset
		}
	}
}

func (a *Attached) frame(k kind, payload []byte) error {
	if a.conn == nil {
		return ErrGone
	}
	a.writing.Lock()
	defer a.writing.Unlock()
	return writeFrame(a.conn, k, payload)
}

// PID returns the runtime's process id.
func (a *Attached) PID() int { return a.State.RuntimePID }

// Done is closed when Read reached its end.
func (a *Attached) Done() <-chan struct{} { return a.done }

// Exit describes the end of the runtime. Valid after Done.
func (a *Attached) Exit() runtime.Exit { return a.exit }

// Signal sends a signal to the runtime.
func (a *Attached) Signal(signal syscall.Signal, group bool) error {
	payload, err := json.Marshal(signalled{Signal: int(signal), Group: group})
	if err != nil {
		return err
	}
	return a.frame(kindSignal, payload)
}

// Stop ends the runtime: SIGTERM, after grace SIGKILL to its group, then the shim. It returns when Read reached its
// end; a goroutine must be reading.
func (a *Attached) Stop(grace time.Duration) {
	payload, _ := json.Marshal(stopping{GraceMS: grace.Milliseconds()})
	_ = a.SetWriteDeadline(time.Now().Add(killWait))
	_ = a.frame(kindStop, payload)
	select {
	case <-a.done:
		return
	case <-time.After(grace + killWait):
	}
	// The shim does not respond: kill it with the runtime.
	a.killAll()
	if a.conn != nil {
		_ = a.conn.SetReadDeadline(time.Now().Add(killWait))
	}
	<-a.done
}

// Kill kills the runtime's process group at once, without the shim. It does not wait. After Detach it does nothing:
// the runtime then belongs to another server, and writes of this one may fail for that reason.
func (a *Attached) Kill() {
	if !a.detached.Load() {
		killGroup(a.State.RuntimePID, a.State.RuntimeStarted)
	}
}

func (a *Attached) killAll() {
	killProcess(a.State.PID, a.State.Started)
	killGroup(a.State.RuntimePID, a.State.RuntimeStarted)
}

// Detach leaves the runtime to its shim. Read ends.
func (a *Attached) Detach() {
	a.detached.Store(true)
	if a.conn != nil {
		_ = a.conn.Close()
	}
	a.ended(runtime.Exit{At: time.Now()})
}

// Release closes the connection after Done.
func (a *Attached) Release() {
	<-a.done
	if a.conn != nil {
		_ = a.conn.Close()
		<-a.ackDone
	}
}

// Forget deletes the files of an exited runtime, once all its output is durable. Call it after Release.
func (a *Attached) Forget() {
	if a.reaped != nil {
		// The shim exits by itself once no server is attached. Otherwise it is useless.
		select {
		case <-a.reaped:
		case <-time.After(killWait):
			killProcess(a.State.PID, a.State.Started)
		}
	}
	removeFolder(a.dir, a.State.Socket)
}

// removeFolder deletes a shim's folder, and the folder that listen made for its socket elsewhere. It deletes nothing
// else there: a copied data directory names sockets of the original.
func removeFolder(dir, socket string) {
	if folder := filepath.Dir(socket); strings.HasPrefix(filepath.Base(folder), socketFolder) {
		_ = os.Remove(socket)
		_ = os.Remove(folder)
	}
	_ = os.RemoveAll(dir)
}

// killGroup and killProcess kill only the intended process, not one that reused its id.
func killGroup(pid int, started uint64) {
	if pid > 1 && started != 0 && process.Started(pid) == started {
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}
}

func killProcess(pid int, started uint64) {
	if pid > 1 && started != 0 && process.Started(pid) == started {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}
