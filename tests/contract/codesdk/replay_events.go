package codesdk

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"harness/tests/polling"
)

// reach waits until the session is in the state of the recorded request, and reads its names.
func (r *replay) reach(session string, record Record) error {
	want := map[string]int{}
	for _, e := range r.recorded[session] {
		if kind := awaited(kindOf(e)); kind != "" {
			want[taskOf(e)+" "+kind]++
		}
	}
	for key := range want {
		if task, ended := strings.CutSuffix(key, " end"); ended {
			delete(want, task+" "+evaluated) // later requests about it do not matter
			want[key] = 1                    // there is only one
		}
	}
	// A task with a recorded end has ended, even if its events were not recorded.
	if task := r.over(record); task != "" {
		want[task+" end"] = 1
	}
	deadline := time.Now().Add(patience)
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for len(r.sessions) > 0 || len(want) > 0 {
		got, err := r.learn(session)
		if err != nil {
			return err
		}
		missing := ""
		for key, n := range want {
			if got[key] < n {
				missing = fmt.Sprintf("%d of %d %s", got[key], n, key)
			}
		}
		if missing == "" {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("there are only %s", missing)
		}
		<-poll.C
	}
	return nil
}

const evaluated = "tool.call.policy_evaluated"

// awaited returns the event that a recorded client must have received.
func awaited(kind string) string {
	switch kind {
	case evaluated:
		return kind
	case "task.completed", "task.failed", "task.stopped":
		return "end"
	}
	return ""
}

// over returns the task that had ended by a recorded request.
func (r *replay) over(record Record) string {
	var found struct {
		Task   string  `json:"task_id"`
		Status string  `json:"status"`
		Last   float64 `json:"last_seq"`
	}
	if record.Method != http.MethodGet || json.Unmarshal(record.Answer, &found) != nil || found.Task == "" ||
		r.topic == "ask-approve-deny" && found.Status == "unknown" {
		return ""
	}
	switch found.Status {
	case "completed", "failed", "stopped":
		return found.Task
	case "unknown":
		if r.topic == "seq-collision" {
			return found.Task
		}
	}
	return ""
}

// learn reads the events of a session, binds names, and counts the awaited events.
func (r *replay) learn(session string) (map[string]int, error) {
	all, err := r.events(session)
	if err != nil {
		return nil, err
	}
	r.compareEvents(session, all)
	got := map[string]int{}
	for _, e := range all {
		if kind := awaited(kindOf(e)); kind != "" {
			got[taskOf(e)+" "+kind]++
		}
	}
	return got, nil
}

// events returns all events of a session on this server.
func (r *replay) events(session string) ([]event, error) {
	status, answer, err := r.send(http.MethodGet, "/sessions/"+r.here(session)+"/events?limit=5000", nil, nil)
	if err != nil || status != http.StatusOK {
		return nil, err // an unknown session has none
	}
	var page struct {
		Events []event `json:"events"`
	}
	return page.Events, json.Unmarshal(answer, &page)
}

// compareEvents compares the events of a session task by task.
func (r *replay) compareEvents(session string, here []event) []Difference {
	recorded := r.recorded[session]
	byTask := map[string][]event{}
	var tasks []string
	for _, number := range slices.Sorted(maps.Keys(recorded)) {
		task := taskOf(recorded[number])
		if !slices.Contains(tasks, task) {
			tasks = append(tasks, task)
		}
		byTask[task] = append(byTask[task], recorded[number])
	}
	numbers := map[float64]float64{}
	var found []Difference
	for _, task := range tasks {
		c := &comparison{ids: r.ids, names: r.names}
		maps.Copy(numbers, c.events(byTask[task], ofTask(here, task)))
		found = append(found, c.found...)
	}
	r.numbers[session] = numbers
	return found
}

func ofTask(events []event, task string) []event {
	return slices.DeleteFunc(slices.Clone(events), func(e event) bool { return taskOf(e) != task })
}

// finish compares all events of a session, and the output of its streams.
func (r *replay) finish(session string) error {
	all, err := r.events(session)
	if err != nil {
		return err
	}
	for n, e := range all {
		if e["seq"] != float64(n+1) {
			return fmt.Errorf("event %d has the number %v", n+1, e["seq"])
		}
	}
	r.compare += len(all)
	r.found = append(r.found, r.compareEvents(session, all)...)
	for _, name := range slices.Sorted(maps.Keys(r.streams)) {
		if s := r.streams[name]; s.session == session {
			if err := r.follow(s, all); err != nil {
				return fmt.Errorf("the stream %s: %w", name, err)
			}
		}
	}
	return nil
}

// admitted opens a stream. The slot of a closed stream becomes free with a short delay.
func admitted(request *http.Request) (response *http.Response, err error) {
	polling.Until(patience, func() bool {
		//nolint:bodyclose // the caller does
		response, err = http.DefaultClient.Do(request)
		if err != nil || response.StatusCode != http.StatusTooManyRequests {
			return true
		}
		_ = response.Body.Close() // it was refused
		return false
	})
	return response, err
}

// follow reopens a recorded stream. It has the events of the page after its cursor, each with its number.
func (r *replay) follow(s *stream, all []event) error {
	after := 0.0
	header := map[string]string{}
	for name, value := range s.sent {
		if header[name] = value; name == "Last-Event-ID" {
			var recorded float64
			if _, err := fmt.Sscan(value, &recorded); err != nil {
				return err
			}
			after = r.number(s.session, recorded)
			header[name] = fmt.Sprint(int64(after))
		}
	}
	path := r.path(s.path)
	if _, value, is := strings.Cut(path, "after_seq="); is {
		if _, err := fmt.Sscan(value, &after); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.target.URL()+path, nil)
	if err != nil {
		return err
	}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	response, err := admitted(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if kind := response.Header.Get("Content-Type"); kind != "text/event-stream" {
		return fmt.Errorf("it is answered with %s %s", response.Status, kind)
	}
	lines := bufio.NewReader(response.Body)
	wanted := all[int(after):]
	c := &comparison{ids: r.ids, names: r.names, subject: "stream"}
	if header["Last-Event-ID"] != "" {
		c.differ("last_event_id", s.events[0]["seq"], after+1)
	}
	id := ""
	for ready := false; !ready || len(wanted) > 0; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return fmt.Errorf("it ends before %d events: %w", len(wanted), err)
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch {
		case name == "id":
			id = value
		case name == "data" && !ready:
			var want, got any
			if err := errors.Join(json.Unmarshal(s.ready, &want), json.Unmarshal([]byte(value), &got)); err != nil {
				return err
			}
			ready = true
			c.values("ready", want, got)
		case name == "data":
			var e event
			if err := json.Unmarshal([]byte(value), &e); err != nil {
				return err
			}
			if written(e) != written(wanted[0]) {
				return fmt.Errorf("it has %s, the page %s", written(e), written(wanted[0]))
			}
			if fmt.Sprint(e["seq"]) != id {
				c.differ("+id", nil, id)
			}
			wanted = wanted[1:]
		}
	}
	r.compare++
	r.found = append(r.found, c.found...)
	return nil
}

// shape returns a path with placeholders.
func shape(path string) string {
	parts := strings.Split(path, "/")
	for i := 2; i < len(parts); i++ {
		if name := map[string]string{"sessions": "{session}", "tasks": "{task}", "tool-calls": "{call}",
			"artifacts": "{artifact}"}[parts[i-1]]; name != "" {
			parts[i] = name
		}
	}
	return strings.Join(parts, "/")
}

func (r *replay) send(method, path string, body []byte, header map[string]string) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if path == "/" {
		path = ""
	}
	request, err := http.NewRequestWithContext(ctx, method, r.target.URL()+path, strings.NewReader(string(body)))
	if err != nil {
		return 0, nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, err
	}
	answer, err := io.ReadAll(response.Body)
	return response.StatusCode, answer, errors.Join(err, response.Body.Close())
}
