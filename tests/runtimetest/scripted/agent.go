package scripted

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"harness/internal/runtime"
)

// order is a line to the agent, word a line from it. Requests have a number (No). The answer repeats it (Done, or
// Failed with Why).
type order struct {
	Do           string `json:"do,omitempty"` // enter, prompt, halt or ping
	No           int64  `json:"no,omitempty"`
	Conversation string `json:"talk,omitempty"`
	Text         string `json:"text,omitempty"`
	// Verdict (yes, always, no, abort) settles a request of the agent (Of). For halt, Of is the round.
	Verdict string `json:"verdict,omitempty"`
	Of      string `json:"of,omitempty"`
	Why     string `json:"why,omitempty"`
}

type word struct {
	Done         int64  `json:"done,omitempty"`
	Failed       int64  `json:"failed,omitempty"`
	Why          string `json:"why,omitempty"`
	Conversation string `json:"talk,omitempty"`
	Version      string `json:"version,omitempty"`
	// Says is round, word, wants, wonders, ran, skipped or over.
	Says    string `json:"says,omitempty"`
	Round   string `json:"round,omitempty"`
	ID      string `json:"id,omitempty"`
	Text    string `json:"text,omitempty"`
	Command string `json:"command,omitempty"`
	Output  string `json:"output,omitempty"`
	Code    int    `json:"code,omitempty"`
	How     string `json:"how,omitempty"` // well, halted or badly
	// In is the conversation of the word, when that is not its own.
	In string `json:"in,omitempty"`
}

// agent is the program: one conversation, with the number of its rounds in a file.
type agent struct {
	dir     string
	padding string // added to the names of rounds

	mu           sync.Mutex
	out          io.Writer
	conversation string
	round        string
	halt         chan struct{}
	verdicts     map[string]chan order
}

// LongIDs is the file in the agent's folder that makes it use long names of rounds.
const LongIDs = "long-ids"

// Agent runs the agent until in ends, and returns the exit code. It keeps its conversations in dir. A hold appears
// there as held-NAME, and free-NAME ends it.
func Agent(in io.Reader, out io.Writer, dir string) int {
	a := &agent{dir: dir, out: out, verdicts: map[string]chan order{}}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var o order
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return 3
		}
		a.take(o)
	}
	return 0
}

func (a *agent) say(w word) {
	line, err := json.Marshal(w)
	if err != nil {
		panic(err) // words encode
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	_, _ = a.out.Write(append(line, '\n'))
}

func (a *agent) take(o order) {
	a.mu.Lock()
	round, halt, waits := a.round, a.halt, a.verdicts[o.Of]
	a.mu.Unlock()
	switch {
	case o.Verdict != "":
		if waits != nil {
			waits <- o
		}
	case o.Do == "enter":
		a.conversation = o.Conversation
		if a.conversation == "" {
			a.conversation = fmt.Sprintf("talk-%d-%d", os.Getpid(), time.Now().UnixNano())
			if _, err := os.Stat(filepath.Join(a.dir, LongIDs)); err == nil {
				a.padding = strings.Repeat("-long", runtime.MaxID)
			}
		}
		a.say(word{Done: o.No, Conversation: a.conversation, Version: "7.1"})
	case o.Do == "prompt" && os.Getenv(TokenVariable) == "":
		a.say(word{Failed: o.No, Why: "stranger"})
	case o.Do == "prompt" && round != "":
		a.say(word{Failed: o.No, Why: "busy"})
	case o.Do == "prompt":
		a.prompt(o)
	case o.Do == "halt" && (round == "" || round != o.Of):
		a.say(word{Failed: o.No, Why: "idle"})
	case o.Do == "halt":
		close(halt)
		a.say(word{Done: o.No})
	default:
		a.say(word{Done: o.No})
	}
}

// prompt starts a round.
func (a *agent) prompt(o order) {
	path := filepath.Join(a.dir, a.conversation)
	before, _ := os.ReadFile(path) // without the file, there was no round before
	if err := os.WriteFile(path, append(before, '.'), 0o600); err != nil {
		a.say(word{Failed: o.No, Why: err.Error()})
		return
	}
	a.mu.Lock()
	a.round, a.halt = fmt.Sprintf("%s/%d", a.conversation, len(before)+1)+a.padding, make(chan struct{})
	round, halt := a.round, a.halt
	a.mu.Unlock()
	a.say(word{Done: o.No, Round: round})
	a.say(word{Says: "round", Round: round, Text: o.Text})
	go func() {
		text, how, why := a.play(round, o.Text, halt)
		a.mu.Lock()
		a.round = ""
		a.mu.Unlock()
		a.say(word{Says: "over", Round: round, Text: text, How: how, Why: why})
	}()
}

// inside returns the text between NAME[ and ].
func inside(text, name string) (string, bool) {
	_, rest, found := strings.Cut(text, name+"[")
	return strings.TrimSuffix(rest, "]"), found
}

// play executes the instructions of a text; see Script.
func (a *agent) play(round, text string, halt <-chan struct{}) (said, how, why string) {
	words := func(parts ...string) string {
		for _, part := range parts {
			a.say(word{Says: "word", Round: round, Text: part})
		}
		return strings.Join(parts, "")
	}
	if reply, ok := inside(text, "REPLY"); ok {
		half := len([]rune(reply)) / 2
		return words(string([]rune(reply)[:half]), string([]rune(reply)[half:])), "well", ""
	}
	if name, ok := inside(text, "HOLD"); ok {
		said = words("holding ")
		if err := os.WriteFile(filepath.Join(a.dir, "held-"+name), nil, 0o600); err != nil {
			return said, "badly", err.Error()
		}
		for polls := time.NewTicker(2 * time.Millisecond); ; {
			select {
			case <-halt:
				return said, "halted", ""
			case <-polls.C:
				if _, err := os.Stat(filepath.Join(a.dir, "free-"+name)); err == nil {
					return said + words("freed "+name), "well", ""
				}
			}
		}
	}
	if count, ok := inside(text, "FLOOD"); ok {
		deltas, _ := strconv.Atoi(count) // no number is none
		numbers := make([]string, deltas)
		for i := range numbers {
			numbers[i] = strconv.Itoa(i) + " "
		}
		return words(numbers...), "well", ""
	}
	if status, ok := inside(text, "FAIL"); ok {
		return "", "badly", "the model's server answers " + status
	}
	stray, strays := inside(text, "STRAY") // it sends a request in the name of that conversation
	command, runs := inside(text, "RUN")
	if strays {
		command, runs = "echo stray", true
	}
	if !runs && text != "ASK" {
		return words("hm"), "well", ""
	}
	id, waits := "want "+round, make(chan order, 1)
	a.mu.Lock()
	a.verdicts[id] = waits
	a.mu.Unlock()
	if runs {
		a.say(word{Says: "wants", Round: round, ID: id, Command: command, In: stray})
	} else {
		a.say(word{Says: "wonders", Round: round, ID: id, Text: "Which one?"})
	}
	var verdict order
	select {
	case verdict = <-waits:
	case <-halt:
		return "", "halted", ""
	}
	switch {
	case verdict.Verdict == "abort":
		a.say(word{Says: "skipped", Round: round, ID: id, Command: command})
		return "", "halted", ""
	case !runs:
		a.say(word{Says: "answered", Round: round, ID: id})
		return words("you said " + verdict.Text), "well", ""
	case verdict.Verdict == "no":
		a.say(word{Says: "skipped", Round: round, ID: id, Command: command})
		return words("then not: " + verdict.Why), "well", ""
	}
	output, err := exec.Command("/bin/sh", "-c", command).CombinedOutput() // the test's own command
	w := word{Says: "ran", Round: round, ID: id, Command: command, Output: string(output)}
	if err != nil {
		w.Code = 1
	}
	a.say(w)
	return words("it ran"), "well", ""
}
