// Package bridge stands between a server and an OpenCode server. It starts `opencode serve`, talks HTTP with it
// on loopback, and speaks lines on its own standard pipes, as agents do that package stdio drives. So a shim
// can keep OpenCode like every other agent: its output waits in the shim's spool while no server reads, and
// each answer is given once, even if several servers send it.
//
// It owns the password of the OpenCode server, which no server of ours learns. It also owns that nothing is
// lost when the stream of events breaks off: it then sends the status of each conversation (Snapshot). Of an
// event it knows only whose it is, and what a sub-agent may do.
package bridge

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"harness/internal/runtime/process"
)

// Hello is what is known of an OpenCode server that is up.
type Hello struct {
	PID     int    `json:"pid"`
	Version string `json:"version"`
}

// Command is one line a server writes: requests that are made one after the other, until one is refused.
type Command struct {
	// ID names it in the answer, 0 for one that is answered only when it is refused.
	ID    int64  `json:"id,omitempty"`
	Steps []Step `json:"steps"`
	// Session is the conversation it is about, Request the native id of what it answers, Message that of the message it
	// sends; "" for none.
	Session string `json:"session,omitempty"`
	Request string `json:"request,omitempty"`
	Message string `json:"message,omitempty"`
}

// Step is one HTTP request. Besides the methods of HTTP it may be DoHello or DoSnapshot.
type Step struct {
	Do   string `json:"do"`
	Path string `json:"path,omitempty"`
	// Directory is the folder of the conversation, "" where it does not matter.
	Directory string          `json:"directory,omitempty"`
	Body      json.RawMessage `json:"body,omitempty"`
}

// What a Step may do besides HTTP: wait until OpenCode is up and send Hello, or write a line with the status of
// the conversation.
const (
	DoHello    = "HELLO"
	DoSnapshot = "SNAPSHOT"
	// DoAborted is DoSnapshot after a request to stop what runs.
	DoAborted = "ABORTED"
)

// Line is one line the bridge writes; one of its members is set.
type Line struct {
	// Answer is the id of the command that is answered, with the status and the body of its last response (status 0: there
	// was none, and the body is a text that says why).
	Answer int64           `json:"answer,omitempty"`
	Status int             `json:"status,omitempty"`
	Body   json.RawMessage `json:"body,omitempty"`
	// Refused is the request a command without an id was to answer, and Session its conversation.
	Refused string `json:"refused,omitempty"`
	Session string `json:"session,omitempty"`
	// Event is what OpenCode said, Directory the folder of its conversation.
	Event     json.RawMessage `json:"event,omitempty"`
	Directory string          `json:"directory,omitempty"`
	// Sent says that the event is the first one of a message that was sent from here.
	Sent     bool      `json:"sent,omitempty"`
	Snapshot *Snapshot `json:"snapshot,omitempty"`
}

// Snapshot is how a conversation stands: all there is to know when events were missed.
type Snapshot struct {
	Session string `json:"session"`
	// Status is the type of its status, "idle" when it has none.
	Status string `json:"status"`
	// Messages are the last ones, oldest first; Permissions and Questions those that wait, of all conversations in its
	// folder.
	Messages    json.RawMessage `json:"messages"`
	Permissions json.RawMessage `json:"permissions"`
	Questions   json.RawMessage `json:"questions"`
	// Unconfirmed are the messages that were sent to it without an event since. Aborted says that a stop was
	// sent just before.
	Unconfirmed []string `json:"unheard,omitempty"`
	Aborted     bool     `json:"aborted,omitempty"`
}

const (
	// passwordVariable gives OpenCode its password.
	passwordVariable = "OPENCODE_SERVER_PASSWORD"
	user             = "opencode"
	// stopGrace is how long OpenCode has to end after SIGTERM.
	stopGrace = 2 * time.Second
)

var listening = regexp.MustCompile(`listening on (http://\S+)`)

// bridge is one OpenCode server and who listens to it.
type bridge struct {
	password string
	http     *http.Client
	server   *process.Process
	// up is closed when url and hello are known.
	up    chan struct{}
	url   string
	hello Hello

	writing sync.Mutex
	out     io.Writer

	mu sync.Mutex
	// folders are those of the conversations that were used, busy the conversations that may be in a turn,
	// unconfirmed the conversations of messages without an event.
	folders     map[string]string
	busy        map[string]bool
	unconfirmed map[string]string
	// parents are the conversations that sub-agents work for.
	parents map[string]string
}

// Run starts the OpenCode at a path and serves until it ends, or in does, or the context; it returns how OpenCode
// ended. Lines of OpenCode's own go to log.
func Run(ctx context.Context, path string, in io.Reader, out, log io.Writer) error {
	secret := make([]byte, 32)
	if _, err := rand.Read(secret); err != nil {
		return fmt.Errorf("make a password: %w", err)
	}
	b := &bridge{password: hex.EncodeToString(secret), http: &http.Client{Transport: &http.Transport{}},
		up: make(chan struct{}), out: out, folders: map[string]string{}, busy: map[string]bool{},
		unconfirmed: map[string]string{}, parents: map[string]string{}}
	defer b.http.CloseIdleConnections()
	logs := &sharedLog{out: log}
	shell, err := commandShell()
	if err != nil {
		return err
	}
	server, err := process.Start(ctx, process.Spec{
		Path: path, Args: []string{"serve", "--hostname", "127.0.0.1", "--port", "0"},
		Env: append(os.Environ(), passwordVariable+"="+b.password, "SHELL="+shell), Stderr: logs.line, DieWithParent: true,
	})
	if err != nil {
		return err
	}
	b.server = server
	defer server.Release()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var working sync.WaitGroup
	working.Go(func() { b.watchOutput(ctx, server.Stdout(), logs) })
	working.Go(func() { b.events(ctx, logs) })
	ended := make(chan struct{})
	go func() { // a read of standard input cannot be called off: it ends with the process
		defer close(ended)
		b.commands(ctx, in)
	}()
	select {
	case <-server.Done():
	case <-ended:
	case <-ctx.Done():
	}
	server.Stop(stopGrace)
	cancel()
	working.Wait()
	return endedAs(server)
}

// endedAs ends this process as OpenCode was, when that was by a signal: the shim reports it.
func endedAs(server *process.Process) error {
	exit := server.Exit()
	switch {
	case exit.Signal != nil && *exit.Signal == "SIGKILL":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case exit.Code != nil && *exit.Code != 0:
		return fmt.Errorf("opencode ended with exit code %d", *exit.Code)
	}
	return nil
}

// watchOutput looks for the address OpenCode listens on; everything else it prints goes to the log.
func (b *bridge) watchOutput(ctx context.Context, out io.Reader, logs *sharedLog) {
	lines := newLineReader(out)
	for {
		line, err := lines.next()
		if err != nil {
			return
		}
		at := listening.FindSubmatch(line)
		if at == nil || b.url != "" {
			logs.line(line)
			continue
		}
		b.url = string(at[1])
		if err := b.greet(ctx); err != nil {
			logs.line([]byte("opencode does not answer: " + err.Error()))
			b.server.Kill()
			continue
		}
		close(b.up)
	}
}

// greet asks OpenCode who it is.
func (b *bridge) greet(ctx context.Context) error {
	status, body, err := b.do(ctx, Step{Do: http.MethodGet, Path: "/global/health"})
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("status %d", status)
	}
	b.hello.PID = b.server.PID()
	return json.Unmarshal(body, &b.hello)
}

// commands serves the lines of servers, each in its own time, until there are no more.
func (b *bridge) commands(ctx context.Context, in io.Reader) {
	var working sync.WaitGroup
	defer working.Wait()
	lines := newLineReader(in)
	for {
		line, err := lines.next()
		if err != nil {
			return
		}
		var command Command
		if err := json.Unmarshal(line, &command); err != nil {
			continue // none of ours
		}
		working.Go(func() { b.serve(ctx, command) })
	}
}

// serve makes the requests of a command and answers it.
func (b *bridge) serve(ctx context.Context, command Command) {
	status, body, err := 0, json.RawMessage(nil), error(nil)
	if command.Message != "" {
		b.sending(command.Session, command.Message)
	}
	for _, step := range command.Steps {
		b.remember(command.Session, step.Directory)
		switch step.Do {
		case DoHello:
			status, body, err = b.whenUp(ctx)
		case DoSnapshot, DoAborted:
			status, body, err = http.StatusOK, nil, b.snapshot(ctx, command.Session, step.Do == DoAborted)
		default:
			if _, _, err = b.whenUp(ctx); err == nil {
				status, body, err = b.do(ctx, step)
			}
		}
		if err != nil || status >= http.StatusBadRequest {
			break
		}
	}
	if err != nil {
		status = 0
		body, _ = json.Marshal(err.Error()) // a text encodes
	}
	if err != nil || status >= http.StatusBadRequest {
		b.confirm(command.Message)
	}
	if command.ID != 0 {
		b.write(Line{Answer: command.ID, Status: status, Body: body})
	} else if status >= http.StatusBadRequest || status == 0 {
		b.write(Line{Refused: command.Request, Session: command.Session, Status: status, Body: body})
	}
}

func (b *bridge) whenUp(ctx context.Context) (int, json.RawMessage, error) {
	select {
	case <-b.up:
		body, err := json.Marshal(b.hello)
		return http.StatusOK, body, err
	case <-ctx.Done():
		return 0, nil, errors.New("opencode ended before it was up")
	}
}

// do makes one request.
func (b *bridge) do(ctx context.Context, step Step) (status int, body json.RawMessage, err error) {
	var content io.Reader
	if step.Body != nil {
		content = strings.NewReader(string(step.Body))
	}
	request, err := http.NewRequestWithContext(ctx, step.Do, b.url+step.Path, content)
	if err != nil {
		return 0, nil, err
	}
	b.sign(request)
	if step.Directory != "" {
		request.Header.Set("X-Opencode-Directory", step.Directory)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := b.http.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	if err != nil {
		return 0, nil, err
	}
	if !json.Valid(body) {
		if len(body) == 0 {
			return response.StatusCode, nil, nil
		}
		body, err = json.Marshal(string(body))
	}
	return response.StatusCode, body, err
}

func (b *bridge) sign(request *http.Request) { request.SetBasicAuth(user, b.password) }

// write writes one line. One that cannot be written has no reader: the end of the other pipe shows that.
func (b *bridge) write(line Line) {
	raw, err := json.Marshal(line)
	if err != nil {
		return // what it is made of was read as JSON
	}
	b.writing.Lock()
	defer b.writing.Unlock()
	_, _ = b.out.Write(append(raw, '\n'))
}
