package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
)

// stamped is a request to a benchmark agent for a number of answer deltas ("stamp:COUNT:MILLISECONDS"), with a pause
// after each. Each delta is the time of its writing.
type stamped struct {
	count int
	pause time.Duration
}

func parseStamped(text string) (s stamped, asked bool) {
	rest, asked := strings.CutPrefix(text, "stamp:")
	count, ms, _ := strings.Cut(rest, ":")
	s.count, _ = strconv.Atoi(count)
	pause, _ := strconv.Atoi(ms)
	s.pause = time.Duration(pause) * time.Millisecond
	return s, asked
}

// pieces writes a line for each delta, formatted by line.
func (s stamped) pieces(say func(...string), line func(delta string) string) {
	for range s.count {
		say(line(strconv.FormatInt(time.Now().UnixNano(), 10) + " "))
		time.Sleep(s.pause)
	}
}

// playCodex sends the answer of an app-server.
func (s stamped) playCodex(say func(...string), thread, turn string) {
	place := `"threadId":"` + thread + `","turnId":"` + turn + `"`
	say(`{"method":"turn/started","params":{"threadId":"`+thread+`","turn":{"id":"`+turn+
		`","items":[],"status":"inProgress","error":null}}}`, `{"method":"item/started","params":{`+place+
		`,"item":{"type":"agentMessage","id":"m","text":""}}}`)
	s.pieces(say, func(delta string) string {
		return `{"method":"item/agentMessage/delta","params":{` + place + `,"itemId":"m","delta":"` + delta + `"}}`
	})
	say(`{"method":"item/completed","params":{`+place+`,"item":{"type":"agentMessage","id":"m","text":"over"}}}`,
		`{"method":"turn/completed","params":{"threadId":"`+thread+`","turn":{"id":"`+turn+
			`","items":[],"status":"completed","error":null}}}`)
}

// agentLines reads the input of an agent and gives it a way to respond.
func agentLines(in io.Reader, out io.Writer, onLine func(line []byte, say func(...string)) error) error {
	var mu sync.Mutex
	buffered := bufio.NewWriterSize(out, 64<<10)
	say := func(lines ...string) {
		mu.Lock()
		defer mu.Unlock()
		for _, line := range lines {
			_, _ = buffered.WriteString(line + "\n")
		}
		_ = buffered.Flush()
	}
	for lines := bufio.NewReaderSize(in, 64<<10); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil // the server closed our stdin: the end
		}
		if err := onLine(line, say); err != nil {
			return fmt.Errorf("the server wrote %q: %w", line, err)
		}
	}
}

// playClaude is an agent with Claude Code's control protocol.
func playClaude(in io.Reader, out io.Writer) error {
	messages := 0
	return agentLines(in, out, func(line []byte, say func(...string)) error {
		var asked struct {
			Type, UUID string
			RequestID  string `json:"request_id"`
			Message    struct {
				Content json.RawMessage
			}
		}
		if err := json.Unmarshal(line, &asked); err != nil {
			return err
		}
		switch asked.Type {
		case "control_request":
			say(`{"type":"control_response","response":{"subtype":"success","request_id":"` + asked.RequestID +
				`","response":{"models":[]}}}`)
		case "user":
			messages++
			id := fmt.Sprintf("msg_%d", messages)
			_, rest, _ := strings.Cut(string(asked.Message.Content), "stamp:")
			text, _, _ := strings.Cut(rest, `"`)
			wanted, _ := parseStamped("stamp:" + text)
			lifecycle := func(state string) string {
				return `{"type":"command_lifecycle","command_uuid":"` + asked.UUID + `","state":"` + state + `"}`
			}
			go func() {
				say(lifecycle("queued"), lifecycle("started"),
					`{"type":"stream_event","event":{"type":"message_start","message":{"id":"`+id+`"}},"parent_tool_use_id":null}`,
					`{"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"text",`+
						`"text":""}},"parent_tool_use_id":null}`)
				wanted.pieces(say, func(delta string) string {
					return `{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` +
						delta + `"}},` +
						`"session_id":"00000000-0000-4000-8000-000000000000","parent_tool_use_id":null,"uuid":"00000000-0000-4000-8000-000000000000"}`
				})
				say(`{"type":"assistant","message":{"id":"`+id+
					`","role":"assistant","content":[{"type":"text","text":"over"}]},"parent_tool_use_id":null,"uuid":"`+asked.UUID+
					`a"}`, `{"type":"result","subtype":"success","is_error":false,"terminal_reason":"completed","result":"over","user_message_uuids":["`+
					asked.UUID+`"]}`)
			}()
		}
		return nil
	})
}

// playACP is an agent with the Agent Client Protocol.
func playACP(in io.Reader, out io.Writer) error {
	sessions := 0
	return agentLines(in, out, func(line []byte, say func(...string)) error {
		var asked struct {
			ID     json.RawMessage
			Method string
			Params struct {
				SessionID string
				Prompt    []struct{ Text string }
			}
		}
		if err := json.Unmarshal(line, &asked); err != nil {
			return err
		}
		answer := func(result string) { say(`{"jsonrpc":"2.0","id":` + string(asked.ID) + `,"result":` + result + `}`) }
		switch {
		case asked.Method == "initialize":
			answer(`{"protocolVersion":1,"agentInfo":{"name":"bench","version":"1"},"agentCapabilities":{"loadSession":true}}`)
		case asked.Method == "session/new":
			sessions++
			answer(fmt.Sprintf(`{"sessionId":"s%d"}`, sessions))
		case asked.Method == "session/prompt" && len(asked.Params.Prompt) > 0:
			wanted, _ := parseStamped(asked.Params.Prompt[0].Text)
			go func() {
				wanted.pieces(say, func(delta string) string {
					return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"` + asked.Params.SessionID +
						`","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + delta + `"}}}}`
				})
				answer(`{"stopReason":"end_turn"}`)
			}()
		case asked.ID != nil:
			answer(`{}`)
		}
		return nil
	})
}
