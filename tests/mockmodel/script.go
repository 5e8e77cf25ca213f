package mockmodel

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The script language: markers inside the user text. The tools of markers run one after another, one per request, in
// the order of the markers. After the outputs of all of them, the answer is a message that quotes those outputs.
//
//	MOCK_CMD[sh]            one shell command
//	MOCK_ESC[sh]            the same, with a request to run outside the sandbox
//	MOCK_PATCH[file]        a patch that adds the file
//	MOCK_ASK                a question to the user
//	MOCK_ASK_SEVERAL        a question with several answers: one has a comma, one has quotes
//	MOCK_CALL[tool|json]END a client's dynamic tool; server/tool is one of an MCP server
//	MOCK_TOGETHER           all tools in one answer, not one after the other
//	MOCK_SLOW[n] [n,ms]     n words, 100 ms (or ms) apart
//	MOCK_HOLD[name]         one word, then nothing until Release(name); after MOCK_SLOW: its words, then nothing until then
//	MOCK_REPLY[text], Reply with exactly TEXT
//	MOCK_REASON             reasoning before the answer
//	MOCK_HTTP_400, _500     a refused request (any status), MOCK_HTTP_404[text] with this text
//	MOCK_DOWN[name]         refuses requests with 503 until Release(name), then the other markers apply

type callKind string

const (
	callCommand  callKind = "command"
	callEscalate callKind = "escalate"
	callPatch    callKind = "patch"
	callAsk      callKind = "ask"
	callSeveral  callKind = "ask several"
	callTool     callKind = "tool"
)

type toolCall struct {
	kind callKind
	// name is the tool of callTool; arg the command, the file or the JSON arguments.
	name, arg string
}

// plan is the answer to one request.
type plan struct {
	status  int
	refusal string // the text with the status, "" for the mock's own text
	calls   []toolCall
	reason  bool
	message string
	// words is the number of words to send one by one, with a pause between them, when slow is set.
	words int
	pause time.Duration
	hold  string
}

var (
	httpMarker  = regexp.MustCompile(`MOCK_HTTP_([45]\d\d)(?:\[([^\]]+)\])?`)
	exactMarker = regexp.MustCompile(`(?m)Reply with exactly:? (.+)$`)
	toolMarker  = regexp.MustCompile(`MOCK_(?:CMD\[|ESC\[|PATCH\[|ASK_SEVERAL|ASK|CALL\[)`)
)

// maxWords bounds MOCK_SLOW so that a typo does not stream forever.
const maxWords = 1_000_000

func script(r Request, number int) plan {
	text := r.UserText
	if m := httpMarker.FindStringSubmatch(text); m != nil {
		status, _ := strconv.Atoi(m[1])
		return plan{status: status, refusal: m[2]}
	}
	calls := toolCalls(text)
	if r.Fresh < len(calls) {
		calls = calls[r.Fresh:]
		if !strings.Contains(text, "MOCK_TOGETHER") {
			calls = calls[:1]
		}
		return plan{calls: calls}
	}
	p := plan{reason: strings.Contains(text, "MOCK_REASON")}
	if arg, ok := bracket(text, "MOCK_SLOW["); ok {
		count, pause, _ := strings.Cut(arg, ",")
		p.words = number0(count, 10)
		p.pause = time.Duration(number0(pause, 100)) * time.Millisecond
		p.hold, _ = bracket(text, "MOCK_HOLD[")
		return p
	}
	if r.Fresh > 0 {
		quoted := make([]string, 0, r.Fresh)
		for _, o := range r.fresh() {
			quoted = append(quoted, o.Text)
		}
		p.message = "Tool said: " + strings.Join(quoted, "\n")
		return p
	}
	if arg, ok := bracket(text, "MOCK_HOLD["); ok {
		p.hold = arg
		return p
	}
	switch reply, ok := bracket(text, "MOCK_REPLY["); {
	case ok:
		p.message = reply
	default:
		p.message = "Mock answer " + strconv.Itoa(number) + ": hello from the mock model."
		if m := exactMarker.FindStringSubmatch(text); m != nil {
			p.message = strings.TrimSpace(m[1])
		}
	}
	return p
}

func toolCalls(text string) []toolCall {
	var calls []toolCall
	for {
		at := toolMarker.FindStringIndex(text)
		if at == nil {
			return calls
		}
		marker, rest := text[at[0]:at[1]], text[at[1]:]
		text = rest
		switch marker {
		case "MOCK_ASK":
			calls = append(calls, toolCall{kind: callAsk})
		case "MOCK_ASK_SEVERAL":
			calls = append(calls, toolCall{kind: callSeveral})
		case "MOCK_CALL[":
			if body, after, ok := strings.Cut(rest, "]END"); ok {
				name, arg, _ := strings.Cut(body, "|")
				calls, text = append(calls, toolCall{kind: callTool, name: name, arg: arg}), after
			}
		default:
			kind := map[string]callKind{"MOCK_CMD[": callCommand, "MOCK_ESC[": callEscalate, "MOCK_PATCH[": callPatch}[marker]
			if arg, ok := closing(rest); ok {
				calls, text = append(calls, toolCall{kind: kind, arg: arg}), rest[len(arg):]
			}
		}
	}
}

// bracket returns the argument of the first such marker; brackets inside it have to be in pairs.
func bracket(text, marker string) (string, bool) {
	_, rest, ok := strings.Cut(text, marker)
	if !ok {
		return "", false
	}
	return closing(rest)
}

func closing(text string) (string, bool) {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '[':
			depth++
		case ']':
			if depth == 0 {
				return text[:i], true
			}
			depth--
		}
	}
	return "", false
}

func number0(text string, fallback int) int {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < 0 || n > maxWords {
		return fallback
	}
	return n
}
