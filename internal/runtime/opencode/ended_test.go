package opencode_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"harness/internal/runtime"
	"harness/internal/runtime/opencode"
	"harness/internal/runtime/opencode/bridge"
	"harness/tests/runtimetest"
)

// runAsEnding is a replacement of the bridge that exits when it gets a message.
const runAsEnding = "test-ending"

// endWithMessage answers like package bridge, until OpenCode is gone at a message: its request fails, and then the
// process exits, too.
func endWithMessage() int {
	answer := func(command bridge.Command, status int, body string) {
		raw, err := json.Marshal(bridge.Line{Answer: command.ID, Status: status, Body: json.RawMessage(body)})
		if err == nil {
			_, err = fmt.Printf("%s\n", raw)
		}
		if err != nil {
			os.Exit(1)
		}
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var command bridge.Command
		if err := json.Unmarshal(lines.Bytes(), &command); err != nil || len(command.Steps) == 0 {
			return 1
		}
		switch step := command.Steps[0]; {
		case step.Do == bridge.DoHello:
			answer(command, http.StatusOK, fmt.Sprintf(`{"pid":%d,"version":%q}`, os.Getpid(), opencode.Tested))
		case strings.HasSuffix(step.Path, "/prompt_async"):
			answer(command, 0, `"read tcp 127.0.0.1:2->127.0.0.1:1: read: connection reset by peer"`)
			if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
				return 1
			}
		default:
			answer(command, http.StatusOK, `{"id":"ses_1","directory":"/"}`)
		}
	}
	return 0
}

// If OpenCode exits and breaks the connection of a message, the message goes to the next process, as after a known
// exit.
func TestAMessageWhoseConnectionBreaks(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(batch runtime.Batch) {
		if batch.Stored != nil {
			batch.Stored()
		}
	}, nil)
	s.options.Bridge = []string{runtimetest.Executable(t), runAsEnding}
	o := s.start()
	_, err := o.StartTurn(t.Context(), runtime.StartTurn{ThreadID: "session", NativeID: "ses_1",
		Input: []json.RawMessage{json.RawMessage(`{"type":"text","text":"hi"}`)}})
	if !errors.Is(err, runtime.ErrProcessGone) || !strings.Contains(err.Error(), "connection reset by peer") {
		t.Errorf("it was refused with %v", err)
	}
}
