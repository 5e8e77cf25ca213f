// Package bridge connects a server to an OpenCode server. It starts `opencode serve`, sends it HTTP requests on
// loopback, and exchanges lines on its own standard pipes, as package stdio expects of an agent. So a shim can host
// OpenCode like every other agent. Its output stays in the shim's spool while no server reads. Each answer reaches
// OpenCode once, even if several servers send it.
//
// It owns the password of the OpenCode server, which no harness server gets. It also owns recovery after the stream
// of events breaks: it then sends the status of each conversation (Snapshot). It must know no more of an event than
// its conversation and the permissions of a sub-agent.
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

// Hello describes a ready OpenCode server.
type Hello struct {
	PID     int    `json:"pid"`
	Version string `json:"version"`
}

// Command is one line of a server: requests to make in order, until one is refused.
type Command struct {
	// ID identifies it in the answer; 0 for a command with an answer only after a refusal.
	ID    int64  `json:"id,omitempty"`
	Steps []Step `json:"steps"`
	// Session is its conversation, Request the native id of the request it answers, Message the id of the message it
	// sends, Turn the turn it stops; "" for none.
	Session string `json:"session,omitempty"`
	Request string `json:"request,omitempty"`
	Message string `json:"message,omitempty"`
	Turn    string `json:"turn,omitempty"`
}

// Step is one HTTP request. DoHello and DoSnapshot are possible besides the methods of HTTP.
type Step struct {
	Do   string `json:"do"`
	Path string `json:"path,omitempty"`
	// Directory is the folder of the conversation, "" where it is not needed.
	Directory string          `json:"directory,omitempty"`
	Body      json.RawMessage `json:"body,omitempty"`
}

// Steps besides HTTP: wait until OpenCode is ready and send Hello, or write a line with the status of the conversation.
const (
	DoHello    = "HELLO"
	DoSnapshot = "SNAPSHOT"
	// DoAborted is DoSnapshot after a request to stop.
	DoAborted = "ABORTED"
)

// Line is one line of the bridge; one of its members is set.
type Line struct {
	// Answer is the id of the answered command, with the status and the body of its last response. Status 0 means no
	// response; the body is the reason.
	Answer int64           `json:"answer,omitempty"`
	Status int             `json:"status,omitempty"`
	Body   json.RawMessage `json:"body,omitempty"`
	// Refused is the request that a command without an id failed to answer, and Session its conversation.
	Refused string `json:"refused,omitempty"`
	Session string `json:"session,omitempty"`
	// Event is an event of OpenCode, Directory the folder of its conversation.
	Event     json.RawMessage `json:"event,omitempty"`
	Directory string          `json:"directory,omitempty"`
	// Sent marks the first event of a message sent from here.
	Sent     bool      `json:"sent,omitempty"`
	Snapshot *Snapshot `json:"snapshot,omitempty"`
}

// Snapshot is the state of a conversation, with all data a server needs after missed events.
type Snapshot struct {
	Session string `json:"session"`
	// Status is the type of its status, "idle" when it has none.
	Status string `json:"status"`
	// Messages are the last messages, oldest first; Permissions and Questions the pending ones of all conversations
	// in its folder.
	Messages    json.RawMessage `json:"messages"`
	Permissions json.RawMessage `json:"permissions"`
	Questions   json.RawMessage `json:"questions"`
	// Unconfirmed are the sent messages without an event so far. Aborted means that a stop was sent just before, Turn
	// is the turn it was for.
	Unconfirmed []string `json:"unheard,omitempty"`
	Aborted     bool     `json:"aborted,omitempty"`
	Turn        string   `json:"turn,omitempty"`
}

const (
	// passwordVariable gives OpenCode its password.
	passwordVariable = "OPENCODE_SERVER_PASSWORD"
	user             = "opencode"
	// stopGrace is how long OpenCode may take to end after SIGTERM.
	stopGrace = 2 * time.Second
)

var listening = regexp.MustCompile(`listening on (http://\S+)`)

// bridge is one OpenCode server with its readers.
type bridge struct {
	password string
	http     *http.Client
	server   *process.Process
	// up is closed when url and hello are set.
	up    chan struct{}
	url   string
	hello Hello

	writing sync.Mutex
	out     io.Writer

	mu sync.Mutex
	// folders are the folders of used conversations. busy are conversations that may be in a turn. unconfirmed are
	// conversations of messages without an event.
	folders     map[string]string
	busy        map[string]bool
	unconfirmed map[string]string
	// parents are the parent conversations of sub-agents.
	parents map[string]string
}

// Run starts the OpenCode at a path and serves until it exits, in ends, or the context ends. It returns the exit of
// OpenCode. OpenCode's own output goes to log.
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
		Env: append(os.Environ(), passwordVariable+"="+b.password, "SHELL="+shell), Stderr: logs.write, DieWithParent: true,
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
	go func() { // a read of standard input cannot be canceled: it ends with the process
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

// endedAs ends this process with OpenCode's signal, if any, so that the shim reports it.
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

// watchOutput finds OpenCode's address; all other output goes to the log.
func (b *bridge) watchOutput(ctx context.Context, out io.Reader, logs *sharedLog) {
	lines := newLineReader(out)
	for {
		line, err := lines.next()
		if err != nil {
			return
		}
		at := listening.FindSubmatch(line)
		if at == nil || b.url != "" {
			logs.write(line)
			continue
		}
		b.url = string(at[1])
		if err := b.greet(ctx); err != nil {
			logs.write([]byte("opencode does not answer: " + err.Error()))
			b.server.Kill()
			continue
		}
		close(b.up)
	}
}

// greet reads OpenCode's version.
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

// commands serves the lines of servers concurrently, until the input ends.
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
			continue // not a command
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
			status, body, err = http.StatusOK, nil, b.snapshot(ctx,
				Snapshot{Session: command.Session, Aborted: step.Do == DoAborted, Turn: command.Turn})
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

// write writes one line. A failed write means no reader; the end of the other pipe shows that, too.
func (b *bridge) write(line Line) {
	raw, err := json.Marshal(line)
	if err != nil {
		return // its parts were read as JSON
	}
	b.writing.Lock()
	defer b.writing.Unlock()
	_, _ = b.out.Write(append(raw, '\n'))
}
