package codex_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"
)

// fakeVariable makes the test binary a faulty codex; see fakeCodex for faults that the real one cannot be made to
// show.
const fakeVariable = "HARNESS_FAKE_CODEX"

type fakeFrame struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Error  json.RawMessage `json:"error"`
}

type fake struct {
	mode string
	mu   sync.Mutex
	out  *bufio.Writer

	open     []string
	mostOpen int
	refused  int
	resumed  int
}

func (f *fake) send(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, _ = fmt.Fprintf(f.out, format+"\n", args...)
	_ = f.out.Flush()
}

func (f *fake) result(id json.RawMessage, result string) { f.send(`{"id":%s,"result":%s}`, id, result) }

// fakeCodex runs until its stdin ends and returns the exit code.
func fakeCodex(mode string) int {
	f := &fake{mode: mode, out: bufio.NewWriter(os.Stdout)}
	switch mode {
	case "hang":
		waitForever()
	case "crash":
		fmt.Fprintln(os.Stderr, "crashing at once")
		return 7
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
	case "flood":
		line := bytes.Repeat([]byte("x"), 100)
		for range 100_000 {
			_, _ = os.Stderr.Write(append(line, '\n'))
		}
		_, _ = os.Stderr.Write(bytes.Repeat([]byte("y"), 1<<20))
	}
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			if mode == "stubborn" {
				waitForever()
			}
			return 0
		}
		var frame fakeFrame
		if err := json.Unmarshal(line, &frame); err != nil {
			fmt.Fprintln(os.Stderr, "client wrote no JSON:", err)
			return 9
		}
		if code := f.handle(frame, line); code >= 0 {
			return code
		}
	}
}

func waitForever() {
	never := make(chan os.Signal, 1)
	signal.Notify(never, syscall.SIGWINCH)
	<-never
}

// handle returns an exit code, or -1 to continue.
func (f *fake) handle(frame fakeFrame, line []byte) int {
	switch frame.Method {
	case "initialize":
		agent := "harness/0.999.0 (fake)"
		if f.mode == "old" {
			agent = "harness/0.98.1 (fake)"
		}
		f.result(frame.ID, `{"userAgent":"`+agent+`"}`)
	case "initialized":
		f.initialized()
	case "account/read":
		f.result(frame.ID, `{"account":null,"requiresOpenaiAuth":false}`)
	case "silent":
	case "fork":
		// Each writes a line when it is running: during execve the environment of a process reads as empty.
		for _, command := range [][]string{{"sh", "-c", "echo; sleep 300; :"}, {"setsid", "sh", "-c", "echo; sleep 300; :"},
			{"setsid", "sh", "-c", "trap '' TERM; echo; sleep 300; :"}} {
			child := exec.Command(command[0], command[1:]...)
			said, err := child.StdoutPipe()
			if err == nil {
				err = child.Start()
			}
			if err == nil {
				_, err = said.Read(make([]byte, 1))
			}
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 8
			}
		}
		f.result(frame.ID, `{}`)
	case "long":
		asked := struct{ MiB int }{64}
		_ = json.Unmarshal(frame.Params, &asked)
		f.send(`{"method":"huge","params":{"text":"%s"}}`, strings.Repeat("h", asked.MiB<<20))
		f.result(frame.ID, `{}`)
	case "hold":
		f.open = append(f.open, string(frame.ID))
	case "thread/start":
		if f.open = append(f.open, string(frame.ID)); f.mode != "later" {
			f.release()
		}
	case "open":
		f.send(`{"method":"thread/started","params":{"thread":{"id":"p1"}}}`)
		f.result(frame.ID, `{}`)
	case "release":
		f.release()
		f.result(frame.ID, `{}`)
	case "die":
		return 3
	case "half":
		f.mu.Lock()
		defer f.mu.Unlock()
		_, _ = f.out.WriteString(`{"method":"half/line","params":{}}`)
		_ = f.out.Flush()
		return 0
	case "garbage":
		f.garbage()
		f.result(frame.ID, `{}`)
	case "burst":
		for i := range 20_000 {
			f.send(`{"method":"burst","params":{"i":%d}}`, i)
		}
		f.result(frame.ID, `{}`)
	case "thread/list", "busy":
		f.refused++
		if f.refused <= 2 || frame.Method == "busy" {
			f.send(`{"id":%s,"error":{"code":-32001,"message":"Server overloaded; retry later."}}`, frame.ID)
		} else {
			f.result(frame.ID, `{"data":[],"nextCursor":null}`)
		}
	case "refusals":
		f.result(frame.ID, fmt.Sprint(f.refused))
	case "gather":
		f.gather(frame.ID)
	case "most":
		f.result(frame.ID, fmt.Sprint(f.mostOpen))
	case "ask":
		f.result(frame.ID, `{}`)
		f.send(`{"method":"some/newRequest","id":"q-1","params":{"threadId":"t1"}}`)
	case "turn/start":
		f.overtaken(frame.ID)
	case "turn/steer":
		f.send(`{"id":%s,"error":{"code":-32603,"message":"steered although nothing runs"}}`, frame.ID)
	case "thread/resume":
		if f.resumed++; f.mode == "unfound" && f.resumed != 2 && f.resumed != 4 {
			f.send(`{"id":%s,"error":{"code":-32600,"message":"no rollout found for thread id t1"}}`, frame.ID)
			return -1
		}
		f.result(frame.ID, `{"thread":{"id":"t1"}}`)
	case "":
		// An answer to a request of this fake: report it.
		f.send(`{"method":"answer/seen","params":%s}`, bytes.TrimSpace(line))
	}
	return -1
}

// release answers held requests, as for thread/start: the conversation's notifications come after the answer.
func (f *fake) release() {
	for _, id := range f.open {
		f.result(json.RawMessage(id), `{"thread":{"id":"w1"}}`)
		f.send(`{"method":"thread/started","params":{"thread":{"id":"w1"}}}`)
		f.send(`{"method":"warning","params":{"threadId":"w1","message":"m"}}`)
	}
	f.open = nil
}

func (f *fake) initialized() {
	if f.mode == "early" {
		f.send(`{"method":"early/one"}`)
	}
}

// overtaken ends a turn before it answers the start.
func (f *fake) overtaken(id json.RawMessage) {
	f.refused++
	turn := fmt.Sprintf("turn-%d", f.refused)
	f.send(`{"method":"turn/started","params":{"threadId":"t1","turn":{"id":%q,"status":"inProgress"}}}`, turn)
	f.send(`{"method":"turn/completed","params":{"threadId":"t1","turn":{"id":%q,"status":"completed","error":null}}}`,
		turn)
	f.result(id, fmt.Sprintf(`{"turn":{"id":%q,"status":"inProgress"}}`, turn))
}

// gather answers 32 requests together, some time after the 32nd arrived, to detect a 33rd.
func (f *fake) gather(id json.RawMessage) {
	f.mu.Lock()
	f.open = append(f.open, string(id))
	f.mostOpen = max(f.mostOpen, len(f.open))
	full := len(f.open) == 32
	f.mu.Unlock()
	if !full {
		return
	}
	time.AfterFunc(50*time.Millisecond, func() {
		f.mu.Lock()
		open := f.open
		f.open = nil
		f.mu.Unlock()
		for _, id := range open {
			f.result(json.RawMessage(id), `{}`)
		}
	})
}

func (f *fake) garbage() {
	for _, line := range []string{
		"", "not json", "[1,2]", `{"foo":1}`, `{"id":1.5,"method":7}`, `{"id":99999,"result":{}}`, `{"id":null,"result":{}}`,
		"\x00\x01", `{"method":"codex/event/token","params":{}}`, `{"method":"bad/utf8","params":{"text":"` +
			"\xff\xfe" + `"}}`, `{"method":"item/started","params":{"item":"not an item","threadId":7,"turnId":"u1"}}`,
	} {
		f.send("%s", line)
	}
	f.send(`{"method":"huge","params":{"text":"%s"}}`, strings.Repeat("h", 64<<20))
	f.send("%s", strings.Repeat("z", 129<<20))
	f.send(`{"method":"after/garbage","params":null}`)
}
