package contract

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// callTimeout limits one request; the slowest recorded response took seconds.
const callTimeout = 30 * time.Second

// answer is the compared part of a response.
type answer struct {
	status int
	header http.Header
	body   string
}

func bodyOf(response *http.Response) string {
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err.Error()
	}
	return string(body)
}

// call sends the bytes of a request like the recorder. A client library would correct the errors that the recordings
// test.
func call(address, method, target string, headers [][2]string, body *string) (answer, error) {
	conn, err := net.DialTimeout("tcp", address, callTimeout)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(callTimeout)); err != nil {
		return answer{}, err
	}
	var head strings.Builder
	fmt.Fprintf(&head, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, target, address)
	upgrade := false
	for _, h := range headers {
		fmt.Fprintf(&head, "%s: %s\r\n", h[0], h[1])
		upgrade = upgrade || strings.EqualFold(h[0], "connection")
	}
	if !upgrade {
		head.WriteString("Connection: close\r\n")
	}
	if body != nil {
		fmt.Fprintf(&head, "Content-Length: %d\r\n", len(*body))
	}
	head.WriteString("\r\n")
	if body != nil {
		head.WriteString(*body)
	}
	written := make(chan error, 1)
	go func() {
		_, err := io.WriteString(conn, head.String())
		written <- err
	}()
	response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		_ = conn.Close()
		return answer{}, errors.Join(err, <-written)
	}
	defer func() { _ = response.Body.Close() }()
	got := answer{status: response.StatusCode, header: response.Header}
	if response.StatusCode != http.StatusSwitchingProtocols {
		got.body = bodyOf(response)
	}
	_ = conn.Close()
	if err := <-written; err != nil && got.status < http.StatusBadRequest {
		return answer{}, err // a refused body may be read only in part
	}
	return got, nil
}

func (r *replay) call(record Record) (answer, error) {
	body := record.Body
	if body != nil {
		worded := r.ids.outgoing(*body)
		body = &worded
	}
	headers := slices.Clone(record.Headers)
	for i, h := range headers {
		if strings.EqualFold(h[0], "authorization") {
			headers[i][1] = bearer(h[1], r.secret)
		}
	}
	return call(r.target.Address(), record.Method, r.ids.path(record.Path), headers, body)
}

// exchange replays one request. It repeats a read with a different response for a while, because this server may not
// have reached the recorded state yet.
func (r *replay) exchange(record Record) error {
	text := record.Path
	if record.Body != nil && len(*record.Body) < 1<<16 {
		text += " " + *record.Body
	}
	if err := r.reach(text); err != nil {
		return err
	}
	r.waitAll()
	r.unserved = false
	result := Result{Name: record.Name, Subject: record.Method + " " + record.Path}
	if _, skip := r.topic.Incomparable[record.Name]; skip {
		r.unserved = true
		return nil
	}
	if _, skip := r.topic.Raced[record.Name]; skip {
		return nil
	}
	if err := r.write(r.topic.Steps[record.Name]); err != nil {
		return err
	}
	if r.ids.needsLost(record.Path) {
		result.Outcome = NotServed
		r.ids.lose(record.ResponseBody)
		r.unserved = true
		r.verdict(result)
		return nil
	}
	began := time.Now()
	for {
		got, err := r.call(record)
		if err != nil {
			return fmt.Errorf("%s: %w", result.Subject, err)
		}
		c := comparison{bindings: r.ids.fork(), anyOrder: strings.HasPrefix(record.Path, "/api/config")}
		if unrouted(got) && !unrouted(answer{status: record.Status, body: record.ResponseBody}) {
			result.Outcome = NotServed
			r.ids.lose(record.ResponseBody)
			break
		}
		c.response(record, got)
		c.found = slices.DeleteFunc(c.found, func(d Difference) bool {
			return r.topic.Moments[Moment{record.Name, d.Place}] != ""
		})
		if len(c.found) > 0 && record.Method == http.MethodGet && time.Since(began) < r.retries &&
			record.Status != http.StatusSwitchingProtocols {
			if _, excused := excuse(r.topic.Name, Result{Name: result.Name, Subject: result.Subject, Differences: c.found}); !excused {
				<-time.After(30 * time.Millisecond)
				continue
			}
		}
		r.ids.adopt(c.bindings)
		result.Differences = c.found
		if result.Outcome == Equal && len(c.found) > 0 {
			r.retries = max(0, r.retries-time.Since(began))
		}
		break
	}
	r.unserved = result.Outcome == NotServed
	r.verdict(result)
	return nil
}

// write creates or removes files. It removes an empty directory with its last file.
func (r *replay) write(files map[string]string) error {
	for name, content := range files {
		path := r.ids.outgoing(name)
		if content == "" {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			_ = os.Remove(filepath.Dir(path)) // fails while there are others
			continue
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700),
			os.WriteFile(path, []byte(content), 0o600)); err != nil {
			return err
		}
	}
	return nil
}

// unrouted reports whether a response means that the route does not exist.
func unrouted(got answer) bool {
	return got.status == http.StatusNotFound && strings.HasPrefix(got.body, `{"message":"Route `)
}

// response compares the status, the relevant headers, and the body.
func (c *comparison) response(want Record, got answer) {
	if want.Status != got.status {
		c.differ("status", fmt.Sprint(want.Status), fmt.Sprintf("%d %s", got.status, got.body))
	}
	for _, h := range want.ResponseHeaders {
		if got := got.header.Get(h[0]); got != h[1] {
			c.differ("header "+h[0], h[1], got)
		}
	}
	for _, name := range []string{"Sec-WebSocket-Extensions", "Access-Control-Allow-Origin"} {
		if value := got.header.Get(name); value != "" {
			c.differ("header "+strings.ToLower(name), "nothing", value)
		}
	}
	if want.Status != got.status {
		return // two different responses; every member would differ
	}
	if want.ResponseBody == "" || got.body == "" {
		if want.ResponseBody != got.body && want.Method != http.MethodHead {
			c.differ("body", want.ResponseBody, got.body)
		}
		return
	}
	wanted, gotten := want.ResponseBody, got.body
	path, _, _ := strings.Cut(want.Path, "?")
	if want.Method == http.MethodGet && (path == "/api/sessions" || path == "/api/projects") {
		wanted, gotten = c.onlyShared(wanted, c.toOurs), c.onlyShared(gotten, c.toRecorded)
	}
	c.bodies("body", wanted, gotten)
}

// onlyShared removes the list entries that the other server lacks. The recorded server had the sessions and projects
// of other topics.
func (c *comparison) onlyShared(body string, known map[string]string) string {
	value, err := Decode([]byte(body))
	if err != nil {
		return body
	}
	list, has := value.Member("data")
	if !has {
		return body
	}
	var kept []*Value
	for _, item := range list.items {
		for _, name := range []string{"sessionId", "projectId"} {
			if id, has := item.Member(name); has {
				if _, shared := known[id.Text()]; shared {
					kept = append(kept, item)
				}
				break
			}
		}
	}
	list.items = kept
	return string(value.Encode())
}

// prepareAll creates the sessions that are system-owned or deleted from the start.
func (r *replay) prepareAll() error {
	for range r.topic.MoreSessions {
		body := r.ids.outgoing(`{"cwd":"{{WORK}}"}`)
		if _, err := r.must(http.StatusOK, http.MethodPost, "/api/sessions",
			[][2]string{{"content-type", "application/json"}}, &body); err != nil {
			return err
		}
	}
	for id, preparation := range r.topic.Sessions {
		if preparation.Early {
			r.unsent[id] = preparation
			preparation.Message = ""
		}
		if preparation.Deleted || preparation.System || preparation.Early {
			if err := r.prepare(id, preparation); err != nil {
				return err
			}
		}
	}
	return nil
}

// reach prepares the sessions in a text that no response has introduced.
func (r *replay) reach(text string) error {
	for _, id := range idPattern.FindAllString(text, -1) {
		if early, waits := r.unsent[id]; waits {
			delete(r.unsent, id)
			if err := r.sendPrepared(r.ids.toOurs[id], early); err != nil {
				return err
			}
		}
		if _, bound := r.ids.toOurs[id]; bound || !r.unrecorded[id] {
			continue
		}
		if err := r.prepare(id, r.topic.Sessions[id]); err != nil {
			return err
		}
	}
	return nil
}

var sessionPlaces = regexp.MustCompile(`(?:/api/sessions/|threadId=|session%3A|"threadId":")(` + uuidPattern + `)`)

// asked finds all sessions in requests.
func asked(records []Record) map[string]bool {
	found := map[string]bool{}
	for _, record := range records {
		for _, m := range sessionPlaces.FindAllStringSubmatch(record.Path, -1) {
			found[m[1]] = true
		}
	}
	return found
}

// unrecorded finds the sessions in requests that no response introduced.
func unrecorded(records []Record) map[string]bool {
	answered, found := map[string]bool{unknownSession: true}, map[string]bool{}
	for _, record := range records {
		text := record.Path
		if record.Kind == KindSend {
			text = record.Data
		}
		for _, m := range sessionPlaces.FindAllStringSubmatch(text, -1) {
			if !answered[m[1]] {
				found[m[1]] = true
			}
		}
		if record.Kind == KindHTTP {
			for _, id := range idPattern.FindAllString(record.ResponseBody, -1) {
				answered[id] = true
			}
		}
	}
	return found
}

func (r *replay) prepare(id string, how Preparation) error {
	body := how.Body
	if body == "" {
		body = `{"cwd":"{{WORK}}"}`
	}
	body = r.ids.outgoing(body)
	jsonType := [][2]string{{"content-type", "application/json"}}
	created, err := r.must(http.StatusOK, http.MethodPost, "/api/sessions", jsonType, &body)
	if err != nil {
		return err
	}
	var answered struct{ Session struct{ SessionID string } }
	if err := json.Unmarshal([]byte(created), &answered); err != nil {
		return err
	}
	ours := answered.Session.SessionID
	r.ids.bind(id, ours)
	if how.Deleted {
		_, err := r.must(http.StatusOK, http.MethodDelete, "/api/sessions/"+ours, nil, nil)
		return err
	}
	if how.System {
		return r.target.MarkSystem(ours)
	}
	if how.ProjectID != "" {
		if err := r.putIntoProject(ours, how); err != nil {
			return err
		}
	}
	return r.sendPrepared(ours, how)
}

func (r *replay) sendPrepared(ours string, how Preparation) error {
	if how.Message == "" {
		return nil
	}
	jsonType := [][2]string{{"content-type", "application/json"}}
	encoded, err := json.Marshal(map[string]string{"text": r.ids.outgoing(how.Message)})
	if err != nil {
		return err
	}
	message := string(encoded)
	if _, err := r.must(http.StatusAccepted, http.MethodPost, "/api/sessions/"+ours+"/messages", jsonType,
		&message); err != nil || !how.Wait {
		return err
	}
	for deadline := time.Now().Add(callTimeout); time.Now().Before(deadline); <-time.After(30 * time.Millisecond) {
		now, err := r.must(http.StatusOK, http.MethodGet, "/api/sessions/"+ours, nil, nil)
		if err != nil || strings.Contains(now, `"type":"agentMessage"`) && strings.Contains(now, `"status":{"type":"idle"}`) {
			return err
		}
	}
	return fmt.Errorf("session %s never answered %q", ours, how.Message)
}

func (r *replay) putIntoProject(session string, how Preparation) error {
	jsonType := [][2]string{{"content-type", "application/json"}}
	body := `{"name":"` + how.ProjectName + `"}`
	created, err := r.must(http.StatusOK, http.MethodPost, "/api/projects", jsonType, &body)
	if err != nil {
		return err
	}
	var answered struct{ Project struct{ ProjectID string } }
	if err := json.Unmarshal([]byte(created), &answered); err != nil {
		return err
	}
	r.ids.bind(how.ProjectID, answered.Project.ProjectID)
	body = `{"projectId":"` + answered.Project.ProjectID + `"}`
	_, err = r.must(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/project", jsonType, &body)
	return err
}

func (r *replay) must(status int, method, target string, headers [][2]string, body *string) (string, error) {
	got, err := call(r.target.Address(), method, target, headers, body)
	if err == nil && got.status != status {
		err = fmt.Errorf("preparing: %s %s got %d %s", method, target, got.status, got.body)
	}
	return got.body, err
}
