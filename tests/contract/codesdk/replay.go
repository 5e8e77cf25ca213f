package codesdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Target is the server under test, with operations that no client has.
type Target interface {
	// URL is the base of the task API, as codesdkd prints it.
	URL() string
	// Workspace is the directory of its sessions.
	Workspace() string
	// Words returns a prompt that makes the model repeat the recorded runtime's actions. Held waits until a task with a
	// slow prompt has started.
	Words(message, task string) string
	Held(task string) error
}

// patience limits every wait. Only a failure reaches it.
const patience = 10 * time.Second

// replay is a topic in progress.
type replay struct {
	target  Target
	topic   string
	ids     *bindings
	names   names
	found   []Difference
	compare int // the number of compared responses and events

	// recorded are the recorded events of a session so far, by number. ended is the order of the sessions.
	recorded map[string]map[float64]event
	sessions []string
	numbers  map[string]map[float64]float64
	streams  map[string]*stream
	occupied func() // closes the stream that stays open
}

// stream is a recorded stream: its session, and its start.
type stream struct {
	session, path string
	sent          map[string]string
	events        []event
	ready         json.RawMessage
}

// Replay replays the recording of a topic against the target and returns the number of comparisons and the
// differences.
func Replay(topic string, target Target) (compared int, found []Difference, err error) {
	records, err := Load(topic)
	if err != nil {
		return 0, nil, err
	}
	r := &replay{target: target, topic: topic, names: patterns(), recorded: map[string]map[float64]event{},
		ids: &bindings{map[string]string{}, map[string]string{}}, numbers: map[string]map[float64]float64{},
		streams: map[string]*stream{}, occupied: func() {}}
	defer func() { r.occupied() }()
	for n, record := range records {
		if err := r.step(record); err != nil {
			return r.compare, r.found, fmt.Errorf("%s, record %d (%s %s): %w", topic, n+1, record.Method, record.Path, err)
		}
	}
	r.occupied()
	for _, session := range r.sessions {
		if err := r.finish(session); err != nil {
			return r.compare, r.found, fmt.Errorf("%s, the events of %s: %w", topic, session, err)
		}
	}
	return r.compare, r.found, nil
}

func (r *replay) step(record Record) error {
	if record.Stream == "" {
		return r.exchange(record)
	}
	s := r.streams[record.Stream]
	switch {
	case record.Path != "":
		r.streams[record.Stream] = &stream{session: sessionOf(record.Path), path: record.Path, sent: record.Sent}
		if r.topic == "limits" {
			return r.occupy(record.Path) // it exceeds the limit for the next request
		}
	case record.Ready != nil:
		s.ready = record.Ready
	case record.Event != nil:
		var e event
		if err := json.Unmarshal(record.Event, &e); err != nil {
			return fmt.Errorf("read a recorded event: %w", err)
		}
		s.events = append(s.events, e)
		r.note(s.session, e)
	}
	return nil
}

// occupy opens a stream and keeps it open.
func (r *replay) occupy(path string) error {
	ctx, cancel := context.WithCancel(context.Background())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.target.URL()+r.path(path), nil)
	if err != nil {
		cancel()
		return err
	}
	response, err := http.DefaultClient.Do(request) //nolint:bodyclose // r.occupied closes it
	if err != nil {
		cancel()
		return err
	}
	r.occupied = func() {
		cancel()
		_ = response.Body.Close()
	}
	return nil
}

// note stores a recorded event.
func (r *replay) note(session string, e event) {
	if r.recorded[session] == nil {
		r.recorded[session] = map[float64]event{}
		r.sessions = append(r.sessions, session)
	}
	number, _ := e["seq"].(float64)
	r.recorded[session][number] = e
}

// sessionOf returns the session in a path, "" for none.
func sessionOf(path string) string {
	parts := strings.Split(path, "/")
	if len(parts) < 3 || parts[1] != "sessions" {
		return ""
	}
	id, _, _ := strings.Cut(parts[2], "?")
	return id
}

// exchange sends a recorded request and compares the response.
func (r *replay) exchange(record Record) error {
	if record.Status == 0 {
		return nil // the daemon crashed during this request or the previous one
	}
	session := sessionOf(record.Path)
	if session != "" {
		if err := r.reach(session, record); err != nil {
			return err
		}
	}
	status, answer, err := r.send(record.Method, r.path(record.Path), r.body(record), nil)
	if err != nil {
		return err
	}
	path, _, _ := strings.Cut(record.Path, "?")
	subject := record.Method + " " + shape(path)
	c := &comparison{ids: r.ids, names: r.names, subject: subject}
	r.compare++
	if status != record.Status {
		c.differ("status", record.Status, fmt.Sprintf("%d %s", status, answer))
	} else if json.Valid(answer) && json.Valid(record.Answer) {
		var want, got any
		if err := errors.Join(json.Unmarshal(record.Answer, &want), json.Unmarshal(answer, &got)); err != nil {
			return err
		}
		r.page(session, want, got)
		c.values("body", want, got)
	}
	r.found = append(r.found, c.found...)
	if record.Method == http.MethodPost && path == "/sessions" && record.Status == http.StatusCreated &&
		status != http.StatusCreated {
		return r.open(record)
	}
	if record.Method == http.MethodPost && strings.HasSuffix(path, "/tasks") && status == http.StatusAccepted {
		return r.begun(record)
	}
	return nil
}

// page removes the events from two pages. They are compared with all other events of their session.
func (r *replay) page(session string, want, got any) {
	recorded, _ := want.(map[string]any)
	here, _ := got.(map[string]any)
	events, is := recorded["events"].([]any)
	if _, also := here["events"].([]any); !is || !also {
		return
	}
	for _, one := range events {
		if e, is := one.(event); is {
			r.note(session, e)
		}
	}
	delete(recorded, "events")
	delete(here, "events")
}

// open creates a session to replace one that could not be opened with the recorded parameters.
func (r *replay) open(record Record) error {
	var made struct {
		ID string `json:"session_id"`
	}
	if err := json.Unmarshal(record.Answer, &made); err != nil {
		return err
	}
	status, answer, err := r.send(http.MethodPost, "/sessions", []byte(`{"permission_mode":"ask"}`), nil)
	if err != nil || status != http.StatusCreated {
		return fmt.Errorf("open a session: %d %s %w", status, answer, err)
	}
	var here struct {
		ID string `json:"session_id"`
	}
	if err := json.Unmarshal(answer, &here); err != nil {
		return err
	}
	r.ids.bound(made.ID, here.ID)
	return nil
}

// begun waits until a slow task has started.
func (r *replay) begun(record Record) error {
	task, message := messageOf(record.Body)
	if message != "slow" {
		return nil
	}
	return r.target.Held(task)
}

// messageOf reads the recorded request for a task.
func messageOf(body json.RawMessage) (task, message string) {
	var given struct {
		TaskID   string `json:"taskId"`
		Messages []struct {
			Content []struct {
				Text string `json:"text"`
			} `json:"content"`
		} `json:"messages"`
	}
	if json.Unmarshal(body, &given) != nil || len(given.Messages) == 0 || len(given.Messages[0].Content) == 0 {
		return "", ""
	}
	return given.TaskID, given.Messages[0].Content[0].Text
}

// body returns a recorded body for this server.
func (r *replay) body(record Record) []byte {
	if record.Body == nil {
		return nil
	}
	var raw string
	if json.Unmarshal(record.Body, &raw) == nil {
		return []byte(raw)
	}
	body := string(record.Body)
	if task, message := messageOf(record.Body); message != "" {
		quoted, _ := json.Marshal(r.target.Words(message, task)) //nolint:errchkjson // a text encodes
		body = strings.Replace(body, `"text":"`+message+`"`, `"text":`+string(quoted), 1)
	}
	return []byte(r.here(body))
}

// here translates a text to this server's names.
func (r *replay) here(text string) string {
	text = strings.ReplaceAll(text, "{{WORK}}", r.target.Workspace())
	for _, runtime := range []string{"claude-agent-sdk", "gemini-cli-core", "opencode-server"} {
		text = strings.ReplaceAll(text, runtime, "codex-sdk") // the runtime under test
	}
	for _, recorded := range slices.Backward(slices.Sorted(maps.Keys(r.ids.ours))) {
		if len(recorded) > len("r1") {
			text = strings.ReplaceAll(text, recorded, r.ids.ours[recorded])
		}
	}
	return text
}

// path translates a recorded path for this server, because event numbers differ.
func (r *replay) path(recorded string) string {
	path := r.here(strings.ReplaceAll(recorded, "%3A", ":"))
	for _, name := range []string{"after_seq=", "from_seq="} {
		before, value, is := strings.Cut(path, name)
		var seq float64
		if !is {
			continue
		}
		value, rest, more := strings.Cut(value, "&")
		if _, err := fmt.Sscan(value, &seq); err == nil {
			value = fmt.Sprint(int64(r.number(sessionOf(recorded), seq)))
		}
		if path = before + name + value; more {
			path += "&" + rest
		}
	}
	return path
}

// number returns this server's number of a recorded event, or of the last earlier event with a counterpart.
func (r *replay) number(session string, recorded float64) (here float64) {
	known := r.numbers[session]
	for at := recorded; at > 0 && at > recorded-1000; at-- {
		if n, is := known[at]; is {
			return n
		}
	}
	return recorded
}
