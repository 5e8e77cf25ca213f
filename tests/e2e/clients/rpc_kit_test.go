package clients

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"harness/tests/programtest"
)

// rpcSocket is a JSON-RPC client that collects everything and checks nothing.
type rpcSocket struct {
	t     *testing.T
	conn  *websocket.Conn
	mu    sync.Mutex
	next  int
	all   []rpcMessage
	marks int
	news  chan struct{}
	ended chan struct{}
	err   error
}

// rpcMessage is a response or a notification.
type rpcMessage struct {
	Version string             `json:"jsonrpc"`
	ID      json.RawMessage    `json:"id"`
	Method  string             `json:"method"`
	Params  programtest.Object `json:"params"`
	Result  json.RawMessage    `json:"result"`
	Error   *rpcError          `json:"error"`
	raw     string
}

type rpcError struct {
	Code    int                `json:"code"`
	Message string             `json:"message"`
	Data    programtest.Object `json:"data"`
}

func (m rpcMessage) result() programtest.Object {
	var decoded programtest.Object
	_ = json.Unmarshal(m.Result, &decoded)
	return decoded
}

// dialRPC opens a socket. It fails the test if the server refuses it.
func dialRPC(i *programtest.Server, t *testing.T, path string, header http.Header) *rpcSocket {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), programtest.Patience)
	defer cancel()
	options := &websocket.DialOptions{HTTPHeader: header.Clone()}
	if offered := header.Get("Sec-WebSocket-Protocol"); offered != "" {
		options.Subprotocols = strings.Split(offered, ", ")
		options.HTTPHeader.Del("Sec-WebSocket-Protocol")
	}
	conn, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(i.URL, "http")+path, options)
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(-1)
	s := &rpcSocket{t: t, conn: conn, news: make(chan struct{}), ended: make(chan struct{})}
	go s.collect()
	t.Cleanup(func() {
		_ = conn.CloseNow()
		<-s.ended
	})
	return s
}

func (s *rpcSocket) collect() {
	defer close(s.ended)
	for {
		_, data, err := s.conn.Read(context.Background())
		s.mu.Lock()
		if err != nil {
			s.err = err
			s.mu.Unlock()
			return
		}
		var m rpcMessage
		if data[0] != '[' {
			if err := json.Unmarshal(data, &m); err != nil || m.Version != "2.0" {
				s.t.Errorf("no JSON-RPC message: %q", data)
			}
		}
		m.raw = string(data)
		s.all = append(s.all, m)
		close(s.news)
		s.news = make(chan struct{})
		s.mu.Unlock()
	}
}

// send sends a text unchanged.
func (s *rpcSocket) send(text string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), programtest.Patience)
	defer cancel()
	if err := s.conn.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
		s.t.Fatal(err)
	}
}

// find waits for the first matching message from a position on, and returns it with its position.
func (s *rpcSocket) find(from int, what string, fits func(rpcMessage) bool) (rpcMessage, int) {
	s.t.Helper()
	deadline := time.After(programtest.Patience)
	for {
		s.mu.Lock()
		for k := from; k < len(s.all); k++ {
			if fits(s.all[k]) {
				found := s.all[k]
				s.mu.Unlock()
				return found, k
			}
		}
		from = len(s.all)
		news := s.news
		s.mu.Unlock()
		select {
		case <-news:
		case <-s.ended:
			s.t.Fatalf("the socket ended (%v) before %s", s.err, what)
		case <-deadline:
			s.t.Fatalf("never came: %s; there were\n%s", what, s.seen())
		}
	}
}

// ask calls a method and returns the whole response.
func (s *rpcSocket) ask(method string, params any) rpcMessage {
	s.t.Helper()
	s.mu.Lock()
	s.next++
	id, from := fmt.Sprint(s.next), len(s.all)
	s.mu.Unlock()
	encoded, err := json.Marshal(programtest.Object{"jsonrpc": "2.0", "id": s.next, "method": method, "params": params})
	if err != nil {
		s.t.Fatal(err)
	}
	s.send(string(encoded))
	answer, _ := s.find(from, "the answer to "+method, func(m rpcMessage) bool {
		return m.Method == "" && string(m.ID) == id
	})
	return answer
}

// call is ask for a call that must succeed.
func (s *rpcSocket) call(method string, params any) programtest.Object {
	s.t.Helper()
	answer := s.ask(method, params)
	if answer.Error != nil {
		s.t.Fatalf("%s %v failed: %s", method, params, answer.raw)
	}
	return answer.result()
}

// refused is ask for a call that must fail with a code.
func (s *rpcSocket) refused(code int, method string, params any) rpcError {
	s.t.Helper()
	answer := s.ask(method, params)
	if answer.Error == nil || answer.Error.Code != code {
		s.t.Fatalf("%s %v is answered %s, want the error %d", method, params, answer.raw, code)
	}
	return *answer.Error
}

// waitFor waits for the next notification after the previously awaited one, with one of these methods and matching
// params.
func (s *rpcSocket) waitFor(method string, fits func(programtest.Object) bool, or ...string) programtest.Object {
	s.t.Helper()
	found, at := s.find(s.marks, method, func(m rpcMessage) bool {
		return slices.Contains(append(or, method), m.Method) && (fits == nil || fits(m.Params))
	})
	s.marks = at + 1
	return found.Params
}

// notifications returns the notifications so far, of one method or all for "".
func (s *rpcSocket) notifications(method string) (found []rpcMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.all {
		if m.Method != "" && (method == "" || m.Method == method) {
			found = append(found, m)
		}
	}
	return found
}

func (s *rpcSocket) seen() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []string
	for _, m := range s.all {
		lines = append(lines, m.raw[:min(len(m.raw), 300)])
	}
	if len(lines) > 40 {
		lines = lines[len(lines)-40:]
	}
	return strings.Join(lines, "\n")
}

// post sends one message by POST and returns the status and the body.
func post(i *programtest.Server, body string, headers map[string]string) (int, string) {
	i.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), programtest.Patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, i.URL+"/rpc", strings.NewReader(body))
	if err != nil {
		i.T.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	response, err := i.Client().Do(request)
	if err != nil {
		i.T.Fatal(err)
	}
	return response.StatusCode, string(readAll(i.T, response.Body))
}

// workspaceFor creates a workspace of the site's folder and returns its id.
func (s *rpcSocket) workspaceFor(path string) string {
	s.t.Helper()
	return programtest.Text(s.call("workspace/add", programtest.Object{"name": "space " + fmt.Sprint(time.Now().UnixNano()), "path": path}), "id")
}
