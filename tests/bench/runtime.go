package main

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
)

// A turn as recorded from codex 0.169, with ids and texts replaced.
var (
	//go:embed turn.jsonl
	recordedTurn string
	//go:embed thread.json
	recordedThread string
)

// playRuntime is an app-server that replays the recording. A turn's input text is how often to repeat its deltas.
func playRuntime() error {
	var (
		mu      sync.Mutex
		out     = bufio.NewWriterSize(os.Stdout, 64<<10)
		threads int
		turns   int
	)
	say := func(lines ...string) {
		mu.Lock()
		defer mu.Unlock()
		for _, line := range lines {
			_, _ = out.WriteString(line)
			_ = out.WriteByte('\n')
		}
		_ = out.Flush()
	}
	// The recorded folder does not exist here, and the server refuses turns in a folder that is missing.
	thread := strings.ReplaceAll(strings.TrimSpace(recordedThread), `"/workspace"`, strconv.Quote(os.Getenv("CODEX_HOME")))
	in := bufio.NewReaderSize(os.Stdin, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return nil // the server closed our stdin: the end
		}
		var asked struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				ThreadID string `json:"threadId"`
				Input    []struct {
					Text string `json:"text"`
				} `json:"input"`
			} `json:"params"`
		}
		if err := json.Unmarshal(line, &asked); err != nil {
			return fmt.Errorf("the server wrote no JSON: %w", err)
		}
		if asked.ID == nil {
			continue
		}
		answer := func(result string) { say(`{"id":` + string(asked.ID) + `,"result":` + result + `}`) }
		switch asked.Method {
		case "initialize":
			answer(`{"userAgent":"harness/0.169.0 (bench)","codexHome":"/nonexistent"}`)
		case "thread/start":
			threads++
			answer(strings.ReplaceAll(thread, "@THREAD@",
				fmt.Sprintf("00000000-0000-7000-8000-%012d", threads)))
		case "thread/read", "thread/resume":
			answer(strings.ReplaceAll(thread, "@THREAD@", asked.Params.ThreadID))
		case "thread/list":
			answer(`{"data":[],"nextCursor":null}`)
		case "turn/start":
			turns++
			turn := fmt.Sprintf("turn-%08d", turns)
			repeat := 1
			if len(asked.Params.Input) > 0 {
				if n, err := strconv.Atoi(asked.Params.Input[0].Text); err == nil {
					repeat = n
				}
			}
			answer(`{"turn":{"id":"` + turn + `","items":[],"status":"inProgress","error":null}}`)
			if len(asked.Params.Input) > 0 {
				if wanted, is := parseStamped(asked.Params.Input[0].Text); is {
					go wanted.playCodex(say, asked.Params.ThreadID, turn)
					continue
				}
			}
			go say(replay(asked.Params.ThreadID, turn, repeat)...)
		default:
			answer(`{}`)
		}
	}
}

// replay returns the recorded turn with its ids set and every delta repeated.
func replay(thread, turn string, repeat int) []string {
	text := strings.NewReplacer("@THREAD@", thread, "@TURN@", turn).Replace(recordedTurn)
	var lines []string
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		times := 1
		if strings.Contains(line, `elta","params"`) {
			times = repeat
		}
		for range times {
			lines = append(lines, line)
		}
	}
	return lines
}
