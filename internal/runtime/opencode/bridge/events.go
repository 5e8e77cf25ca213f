package bridge

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"
)

const (
	// maxLine bounds a line, in bytes; longer ones are skipped.
	maxLine = 128 << 20
	// again is the pause before the next request for the events.
	again = 100 * time.Millisecond
	// lastMessages limits the messages in a snapshot: few turns have more, and earlier items are already published.
	lastMessages = "200"
)

// errNotFound means that OpenCode has no conversation of that id.
var errNotFound = errors.New("no such conversation")

// events forwards OpenCode's events until they end. Each new stream starts with the status of every conversation that
// may be in a turn: an earlier stream may have broken, or a message may have preceded the first stream.
func (b *bridge) events(ctx context.Context, logs *sharedLog) {
	if _, _, err := b.whenUp(ctx); err != nil {
		return
	}
	for ctx.Err() == nil {
		err := b.listen(ctx, logs)
		if ctx.Err() != nil {
			return
		}
		logs.write([]byte(fmt.Sprintf("the stream of events broke off (%v); what was missed is read", err)))
		timer := time.NewTimer(again)
		select {
		case <-timer.C:
		case <-b.server.Done():
			timer.Stop()
			return
		}
	}
}

func (b *bridge) listen(ctx context.Context, logs *sharedLog) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, b.url+"/global/event", nil)
	if err != nil {
		return err
	}
	b.sign(request)
	response, err := b.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", response.StatusCode)
	}
	lines := newLineReader(response.Body)
	for {
		line, err := lines.next()
		if err != nil {
			return err
		}
		data, is := bytes.CutPrefix(line, []byte("data:"))
		if !is {
			continue
		}
		if err := b.receive(ctx, data, logs); err != nil {
			return err
		}
	}
}

// receive handles one event of the server. It ignores invalid data.
func (b *bridge) receive(ctx context.Context, data []byte, logs *sharedLog) error {
	var said struct {
		Directory string          `json:"directory"`
		Payload   json.RawMessage `json:"payload"`
	}
	var event struct {
		Type       string `json:"type"`
		Properties struct {
			Session string `json:"sessionID"`
			Info    struct {
				ID     string `json:"id"`
				Parent string `json:"parentID"`
			} `json:"info"`
			Status struct {
				Type string `json:"type"`
			} `json:"status"`
		} `json:"properties"`
	}
	if json.Unmarshal(data, &said) != nil || json.Unmarshal(said.Payload, &event) != nil {
		return nil //nolint:nilerr // not a line of an event
	}
	if event.Type == "server.connected" {
		// Only now: this stream has all events from here on.
		for _, session := range b.inTurn() {
			if err := b.snapshot(ctx, Snapshot{Session: session}); err != nil && !errors.Is(err, errNotFound) {
				return err
			}
		}
	}
	session := event.Properties.Session
	if session == "" {
		return nil // about the server, its plug-ins or files of other conversations
	}
	b.remember(session, said.Directory)
	if parent := event.Properties.Info.Parent; event.Type == "session.created" && parent != "" {
		b.adopt(session, parent)
	}
	if event.Type == "permission.asked" {
		answered, err := b.answerChild(ctx, session, said.Payload)
		if err != nil {
			logs.write([]byte("an approval of a sub-agent is left to a person: " + err.Error()))
		}
		if answered {
			return nil
		}
	}
	b.note(session, event.Type, event.Properties.Status.Type)
	b.write(Line{Event: said.Payload, Directory: said.Directory, Sent: b.confirm(event.Properties.Info.ID)})
	return nil
}

// remember stores the folder of a conversation.
func (b *bridge) remember(session, folder string) {
	if session == "" || folder == "" {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.folders[session] = folder
}

// note tracks conversations that may be in a turn. An idle one stays until its last output.
func (b *bridge) note(session, kind, status string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case kind == "session.deleted":
		delete(b.folders, session)
		delete(b.busy, session)
	case kind == "session.idle":
		delete(b.busy, session)
	case kind == "session.status" && status != "idle", kind == "message.updated", kind == "message.part.updated",
		kind == "permission.asked", kind == "question.asked":
		b.busy[session] = true
	}
}

// sending registers a message in flight. confirm registers its event or its refusal, and reports whether it was in
// flight.
func (b *bridge) sending(session, message string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unconfirmed[message], b.busy[session] = session, true
}

func (b *bridge) confirm(message string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, waited := b.unconfirmed[message]
	delete(b.unconfirmed, message)
	return waited
}

func (b *bridge) inTurn() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	sessions := make([]string, 0, len(b.busy))
	for session := range b.busy {
		sessions = append(sessions, session)
	}
	return sessions
}

// snapshot completes and writes the status of a conversation. Later requests never return older data than earlier ones.
func (b *bridge) snapshot(ctx context.Context, s Snapshot) error {
	session := s.Session
	s.Status = "idle"
	b.mu.Lock()
	folder := b.folders[session]
	for message, of := range b.unconfirmed {
		if of == session {
			s.Unconfirmed = append(s.Unconfirmed, message)
		}
	}
	b.mu.Unlock()
	var statuses json.RawMessage
	for _, part := range []struct {
		path string
		into *json.RawMessage
	}{
		{"/permission", &s.Permissions}, {"/question", &s.Questions}, {"/session/status", &statuses},
		{"/session/" + url.PathEscape(session) + "/message?limit=" + lastMessages, &s.Messages},
	} {
		status, body, err := b.do(ctx, Step{Do: http.MethodGet, Path: part.path, Directory: folder})
		if err != nil {
			return err
		}
		if status == http.StatusNotFound {
			return errNotFound
		}
		if status != http.StatusOK {
			return fmt.Errorf("%s answers %d", part.path, status)
		}
		*part.into = body
	}
	var all map[string]struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(statuses, &all); err != nil {
		return fmt.Errorf("read the status of conversations: %w", err)
	}
	if one, has := all[session]; has {
		s.Status = one.Type
	}
	b.write(Line{Snapshot: &s, Directory: folder})
	return nil
}

// lineReader reads lines and skips those above the limit.
type lineReader struct{ *bufio.Reader }

func newLineReader(r io.Reader) lineReader { return lineReader{bufio.NewReaderSize(r, 64<<10)} }

func (l lineReader) next() ([]byte, error) {
	var line []byte
	for {
		part, err := l.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
		if len(line) <= maxLine {
			line = append(line, part...)
		}
		if err == nil {
			if len(line) <= maxLine {
				return bytes.TrimSpace(line), nil
			}
			line = nil
		}
	}
}

// sharedLog is the destination of log lines.
type sharedLog struct {
	mu  sync.Mutex
	out io.Writer
}

func (l *sharedLog) write(line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = l.out.Write(append(bytes.Clone(line), '\n'))
}
