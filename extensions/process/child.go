package process

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"harness/extensions"
	"harness/extensions/hosting"
	"harness/internal/lib/wake"
	runtimeprocess "harness/internal/runtime/process"
)

// child is one running process of an extension. It fails once, for one reason; its module then kills it and starts
// another.
type child struct {
	m       *module
	process *runtimeprocess.Process
	marker  string
	dir     string

	// failed gets the reason why the child must stop, once. readDone and writeDone are closed when the reader and
	// writer goroutines end.
	failed    chan error
	readDone  chan struct{}
	writeDone chan struct{}

	outMu  sync.Mutex
	out    [][]byte
	wake   wake.Signal
	closed chan struct{}

	stderrMu sync.Mutex
	stderr   string // the last line on stderr

	// The module's mutex guards the following fields.
	ready    bool
	running  int            // the child's running invocations
	parallel int            // maximum number of concurrent invocations
	suspects map[int]func() // invocations that the child was asked to abandon; the function stops the timeout
	calls    int            // tool calls that are still unanswered
}

// start starts a child and sends it the extension to load.
func (m *module) start(ctx context.Context) (*child, error) {
	if m.source.Consent != nil {
		if err := m.source.Consent(m.command.runs); err != nil {
			return nil, err
		}
	}
	marker := m.host.newMarker()
	c := &child{
		m: m, marker: marker, dir: filepath.Join(m.host.options.Dir, marker), failed: make(chan error, 1),
		readDone: make(chan struct{}), writeDone: make(chan struct{}), wake: wake.New(),
		closed: make(chan struct{}), suspects: map[int]func(){},
	}
	args, err := m.command.prepare(c.dir)
	if err == nil {
		path, args := m.host.limits.limited(m.command.path, args)
		c.process, err = runtimeprocess.Start(ctx, runtimeprocess.Spec{
			Path: path, Args: args, Env: m.host.environment(m.source, c.dir), Dir: m.source.Root, Marker: marker,
			DieWithParent: true, Stderr: c.noteStderr,
		})
	}
	if err != nil {
		_ = os.RemoveAll(c.dir)
		return nil, err
	}
	load := outgoing{Type: "load", Protocol: protocol, Name: m.source.Name, Version: m.source.Version, Root: m.source.Root,
		Entry: m.source.Entrypoint}
	if m.command.script != "" {
		load.Script = filepath.Join(c.dir, m.command.script)
		for _, use := range m.command.uses {
			if !slices.Contains(load.Uses, use.Name) {
				load.Uses = append(load.Uses, use.Name)
			}
		}
	}
	c.send(load)
	go c.read()
	go c.write()
	return c, nil
}

func (c *child) noteStderr(line []byte) {
	text := strings.ToValidUTF8(string(line), "?")
	c.stderrMu.Lock()
	c.stderr = text
	c.stderrMu.Unlock()
	c.m.log.Info().Str("stderr", text).Msg("an extension's process wrote to stderr")
}

// fail records why the child must stop; only the first reason counts.
func (c *child) fail(err error) {
	select {
	case c.failed <- err:
	default:
	}
}

// send queues a message. The running invocations and tool calls bound the queue.
func (c *child) send(o outgoing) {
	line, err := o.line()
	if err != nil {
		// Only JSON from a tool or the core can fail to encode.
		c.fail(fmt.Errorf("encode %s for the child: %w", o.Type, err))
		return
	}
	c.outMu.Lock()
	c.out = append(c.out, line)
	c.outMu.Unlock()
	c.wake.Set()
}

// write owns stdin. A child that does not read blocks it; the invocation's timeout then fails the child, and the
// child's end fails the write.
func (c *child) write() {
	defer close(c.writeDone)
	for {
		c.outMu.Lock()
		lines := c.out
		c.out = nil
		c.outMu.Unlock()
		for _, line := range lines {
			if _, err := c.process.Stdin().Write(line); err != nil {
				// The reader notices the end too, and reports more.
				return
			}
		}
		if len(lines) > 0 {
			continue
		}
		select {
		case <-c.wake:
		case <-c.closed:
			return
		}
	}
}

// read owns stdout until it ends.
func (c *child) read() {
	defer close(c.readDone)
	reader := bufio.NewReaderSize(c.process.Stdout(), 64<<10)
	flood := meter{limit: c.m.host.limits.MaxIdle}
	for {
		line, err := readLine(reader, c.m.host.limits.MaxLine)
		if err != nil {
			c.fail(err)
			break
		}
		if line == nil {
			c.fail(errEnded)
			return
		}
		if len(line) == 0 {
			continue
		}
		var message incoming
		if err := json.Unmarshal(line, &message); err != nil {
			c.fail(fmt.Errorf("the child wrote a line that is not a message: %q", clip(string(line), 200)))
			break
		}
		wanted, err := c.m.receive(c, message)
		if err == nil && !wanted && flood.exceeded(time.Now()) {
			err = fmt.Errorf("the child sends more than %d unsolicited messages a second", flood.limit)
		}
		if err != nil {
			c.fail(err)
			break
		}
	}
	// The child is about to be killed; its remaining output is discarded.
	drain(reader)
}

// errEnded reports the end of stdout: the child exited or closed it.
var errEnded = errors.New("the child ended")

// readLine returns the next line, nil at the end of the stream. It drops an incomplete last line.
func readLine(reader *bufio.Reader, limit int) ([]byte, error) {
	line := []byte{}
	for {
		part, err := reader.ReadSlice('\n')
		if len(line)+len(part) > limit {
			return nil, fmt.Errorf("the child wrote a line longer than %d bytes", limit)
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return line[:len(line)-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
		default:
			// Any end of the pipe counts as the end of the child.
			return nil, nil
		}
	}
}

func drain(reader *bufio.Reader) {
	buffer := make([]byte, 32<<10)
	for {
		if _, err := reader.Read(buffer); err != nil {
			return
		}
	}
}

// stop ends the child and all its processes: after a shutdown message if polite, otherwise immediately.
func (c *child) stop(polite bool) {
	if polite {
		c.process.Stop(c.m.host.limits.StopGrace)
	} else {
		c.process.Kill()
	}
	close(c.closed)
	<-c.process.Done()
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	if _, err := runtimeprocess.Sweep(ctx, c.marker); err != nil {
		c.m.log.Error().Err(err).Msg("extension processes do not exit")
	}
	c.process.Release()
	<-c.readDone
	<-c.writeDone
	if err := os.RemoveAll(c.dir); err != nil {
		c.m.log.Warn().Err(err).Msg("an extension's folder can not be removed")
	}
}

// explain describes how the process ended.
func (c *child) explain() error {
	exit := c.process.Exit()
	text := "the extension's process closed its output"
	switch {
	case exit.Signal != nil:
		text = "the extension's process ended by " + *exit.Signal
	case exit.Code != nil:
		text = fmt.Sprintf("the extension's process exited with code %d", *exit.Code)
	}
	c.stderrMu.Lock()
	defer c.stderrMu.Unlock()
	if c.stderr != "" {
		text += ": " + clip(c.stderr, 500)
	}
	return errors.New(text)
}

// meter counts events per second.
type meter struct {
	limit  int
	window time.Time
	count  int
}

func (m *meter) exceeded(now time.Time) bool {
	if now.Sub(m.window) >= time.Second {
		m.window, m.count = now, 0
	}
	m.count++
	return m.count > m.limit
}

func clip(s string, most int) string {
	if len(s) > most {
		return s[:most]
	}
	return s
}

// failure turns a child's error message into a load error.
func failure(source extensions.Source, message incoming) error {
	switch code := extensions.LoadCode(message.Code); code {
	case extensions.MissingRegister:
		return hosting.LoadError(source, code, extensions.MissingRegisterText)
	case extensions.RegistrationFailed:
		return hosting.LoadError(source, code, clip(message.Message, maxMessage))
	}
	return hosting.LoadError(source, extensions.ImportFailed, clip(message.Message, maxMessage))
}

// maxMessage is the maximum length of an error text in bytes.
const maxMessage = 8 << 10
