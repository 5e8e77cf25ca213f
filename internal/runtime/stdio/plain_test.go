package stdio

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"harness/internal/runtime"
)

// plain is the protocol of an agent unlike codex: words instead of JSON, state instead of an answer to the handshake,
// several signals in a line. It shows the parts that an agent needs.
//
//	to the agent     hello / call ID WORD REST / no REQUEST
//	from the agent   ready VERSION / ok ID TEXT / refused ID TEXT / news THREAD WORD... / ask REQUEST THREAD / odd REQUEST THREAD / hm
type plain struct {
	line  *Conn
	said  int // state of the translator: the number of news lines so far
	turns []string
}

func speakPlain(line *Conn) Protocol { return &plain{line: line} }

func (p *plain) Greet(ctx context.Context) error {
	if err := p.line.Send(ctx, []byte("hello\n")); err != nil {
		return err
	}
	_, err := p.line.Call(ctx, patience, "ping", "")
	return err
}

func (p *plain) Resume(stored runtime.Resumption) {
	_ = json.Unmarshal(stored.State, &p.said)
	for _, turn := range stored.Turns {
		p.turns = append(p.turns, turn.TurnID)
	}
}

func (p *plain) Read(line []byte, at time.Time) (Line, error) {
	words := strings.Fields(string(line))
	if len(words) == 0 {
		return Line{}, errors.New("an empty line")
	}
	arg := func(i int) string {
		if i < len(words) {
			return words[i]
		}
		return ""
	}
	signal := func(kind runtime.SignalKind, method, thread string, change runtime.Change) runtime.Signal {
		return runtime.Signal{Kind: kind, Generation: p.line.Generation(), Method: method, ThreadID: thread, ReceivedAt: at,
			Change: change, Raw: json.RawMessage(strconv.Quote(string(line)))}
	}
	switch words[0] {
	case "ready":
		p.line.Started(json.RawMessage(strconv.Quote(arg(1))))
		return Line{}, nil
	case "ok":
		return Line{Answer: arg(1), Result: json.RawMessage(strconv.Quote(strings.Join(words[2:], " ")))}, nil
	case "refused":
		return Line{Answer: arg(1), Refusal: func(method string) error {
			return &runtime.Error{Runtime: "plain", Method: method, Message: strings.Join(words[2:], " ")}
		}}, nil
	case "news":
		p.said++
		said := Line{Native: line, State: json.RawMessage(strconv.Itoa(p.said))}
		for _, word := range words[2:] {
			said.Signals = append(said.Signals, signal(runtime.SignalNotification, word, arg(1), nil))
		}
		return said, nil
	case "ask", "odd":
		s := signal(runtime.SignalRequest, words[0], arg(2), nil)
		s.RequestID = json.RawMessage(strconv.Quote(arg(1)))
		if words[0] == "ask" {
			s.Change = runtime.InteractiveRequested{Kind: runtime.RequestApproval, Summary: "May I?"}
		}
		return Line{Native: line, Signals: []runtime.Signal{s}}, nil
	case "hm":
		return Line{}, nil
	}
	return Line{}, fmt.Errorf("no word of this agent: %s", words[0])
}

func (p *plain) AnswerIn(line []byte) string {
	if words := strings.Fields(string(line)); len(words) > 1 && (words[0] == "ok" || words[0] == "refused") {
		return words[1]
	}
	return ""
}

func (p *plain) Answered(string, string, json.RawMessage) {}

func (p *plain) Describe(method string, params any) Call {
	thread, _ := params.(string)
	call := Call{ThreadID: thread, Harmless: method == "ping"}
	if method == "busy" {
		call.Overloaded = overloaded
	}
	return call
}

func (p *plain) Frame(id int64, method string, params any) ([]byte, error) {
	return fmt.Appendf(nil, "call %d %s %v\n", id, method, params), nil
}

func (p *plain) Refuse(request runtime.Signal) ([]byte, error) {
	return fmt.Appendf(nil, "no %s\n", request.RequestID), nil
}

func overloaded(err error) bool {
	var native *runtime.Error
	return errors.As(err, &native) && native.Message == "too busy"
}

func (p *plain) Probe() (method string, params any) { return "ping", "" }

// plainAgent is that agent; it runs until its stdin ends and returns the exit code.
func plainAgent(mode string, in io.Reader, out io.Writer) int {
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(out, format+"\n", args...) }
	lines, busy := bufio.NewScanner(in), 0
	for lines.Scan() {
		words := append(strings.Fields(lines.Text()), "", "", "", "")
		id, rest := words[1], words[3]
		switch words[0] + " " + words[2] {
		case "hello ":
			if mode == "mute" {
				select {}
			}
			say("ready 1.2.3")
		case "call ping":
			say("ok %s pong", id)
		case "call notify":
			say("news %s one two three", rest)
			say("hm")
			say("what is this")
			say("ok %s notified", id)
		case "call ask":
			say("ask q1 %s", rest)
			say("ok %s asked", id)
		case "call odd":
			say("odd q2 %s", rest)
			say("ok %s asked", id)
		case "call busy":
			if busy++; busy < 3 {
				say("refused %s too busy", id)
			} else {
				say("ok %s after %d", id, busy)
			}
		case "call refuse":
			say("refused %s not like this", id)
		case "call hold": // never answered
		case "call freeze":
			ignored := make(chan os.Signal, 1)
			signal.Notify(ignored, syscall.SIGWINCH)
			<-ignored
		case "call die":
			return 3
		case "no ":
			say("news t refused-%s", strings.Trim(id, `"`))
		}
	}
	return 0
}
