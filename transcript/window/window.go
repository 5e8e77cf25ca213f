// Package window turns a transcript into text for an agent within a limit: the canonical messages, with large
// outputs of tools cut first, then the oldest turns left out whole. A call always keeps its result. The
// window lists what is missing.
package window

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"harness/internal/lib/javascript"
)

// Types of blocks.
const (
	BlockText       = "text"
	BlockToolUse    = "tool_use"
	BlockToolResult = "tool_result"
)

// Roles of messages.
const (
	RoleSystem    = "system"
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleTool      = "tool"
)

// Block is a part of a message: a text, the call of a tool, or what came of one.
type Block struct {
	Type string `json:"type"`
	Text string `json:"text,omitempty"`
	// CallID is the same of a call and its result.
	CallID string          `json:"tool_call_id,omitempty"`
	Name   string          `json:"name,omitempty"`
	Input  json.RawMessage `json:"input,omitempty"`
	// Output is what a call came to, Cut how many bytes it had before it was cut to its beginning, 0 when it is whole.
	Output string `json:"output,omitempty"`
	// Ref refers to the whole of an output that was cut, as JSON; nil when it is kept nowhere.
	Ref     json.RawMessage `json:"artifact_ref,omitempty"`
	Cut     int             `json:"cut_from_bytes,omitempty"`
	IsError bool            `json:"is_error,omitempty"`
}

// Message is a message of the user, the agent or a tool.
type Message struct {
	Role    string  `json:"role"`
	Content []Block `json:"content"`
}

// Turn is a turn of a conversation, or what was said between two of them ("").
type Turn struct {
	ID       string    `json:"turn_id"`
	Messages []Message `json:"messages"`
}

// Strategies of a window.
const (
	StrategyNone           = "none"
	StrategyTruncateOldest = "truncate_oldest"
)

// Window says what was left out of a conversation to keep it within a bound.
type Window struct {
	// Strategy is StrategyNone when nothing was.
	Strategy string `json:"strategy"`
	// MaxChars is the limit, in bytes of the text; 0 when there is none.
	MaxChars int `json:"max_chars,omitempty"`
	// CutOutputs are the calls whose outputs were cut, OmittedTurns the turns that were left out and OmittedIndices their
	// places, from 0.
	CutOutputs     []string `json:"cut_outputs,omitempty"`
	OmittedTurns   []string `json:"omitted_turns,omitempty"`
	OmittedIndices []int    `json:"omitted_indices,omitempty"`
}

// previewBytes is how much of an output stays when it is cut.
const previewBytes = 512

// Fit is as much of a conversation as fits in max bytes of text (without the heading of Text): large outputs
// are cut first, the largest before smaller ones, then the oldest turns are left out. Its argument stays as
// it is.
func Fit(turns []Turn, max int) ([]Turn, Window) { return FitKeeping(turns, max, nil) }

// FitKeeping is Fit; keep, when set, stores an output that is about to be cut and returns a reference to it.
func FitKeeping(turns []Turn, max int, keep func(output string) json.RawMessage) ([]Turn, Window) {
	fitted, sizes, total := clone(turns), make([]int, len(turns)), 0
	for i := range fitted {
		sizes[i] = size(&fitted[i])
		total += sizes[i]
	}
	said := Window{Strategy: StrategyNone, MaxChars: max}
	for _, o := range largest(fitted) {
		if total <= max {
			break
		}
		if keep != nil {
			o.block.Ref = keep(o.block.Output)
		}
		o.block.cut()
		said.CutOutputs = append(said.CutOutputs, o.block.CallID)
		now := size(&fitted[o.turn])
		total += now - sizes[o.turn]
		sizes[o.turn] = now
	}
	first := 0
	for ; total > max && first < len(fitted); first++ {
		total -= sizes[first]
		said.OmittedTurns = append(said.OmittedTurns, fitted[first].ID)
		said.OmittedIndices = append(said.OmittedIndices, first)
	}
	if len(said.CutOutputs)+first > 0 {
		said.Strategy = StrategyTruncateOldest
	}
	return fitted[first:], said
}

// output is an output that can be cut, and the place of its turn.
type output struct {
	turn  int
	block *Block
}

// largest are the outputs that are worth to be cut, the largest first, of equal ones the older.
func largest(turns []Turn) (found []output) {
	for i := range turns {
		for _, m := range turns[i].Messages {
			for at := range m.Content {
				if b := &m.Content[at]; b.Type == BlockToolResult && len(b.Output) > 2*previewBytes {
					found = append(found, output{i, b})
				}
			}
		}
	}
	slices.SortStableFunc(found, func(a, b output) int { return len(b.block.Output) - len(a.block.Output) })
	return found
}

// cut keeps the beginning of an output.
func (b *Block) cut() {
	b.Cut = len(b.Output)
	at := previewBytes
	for at > 0 && b.Output[at]&0xC0 == 0x80 {
		at-- // not within a character
	}
	b.Output = b.Output[:at]
}

func clone(turns []Turn) []Turn {
	out := slices.Clone(turns)
	for i := range out {
		out[i].Messages = slices.Clone(out[i].Messages)
		for j := range out[i].Messages {
			out[i].Messages[j].Content = slices.Clone(out[i].Messages[j].Content)
		}
	}
	return out
}

// size is the length of a turn in Text.
func size(t *Turn) (bytes int) {
	for i := range t.Messages {
		bytes += len(line(&t.Messages[i]))
	}
	return bytes
}

// line is a message in the text: JSON without angle brackets, so that no content can pass for another
// message, or for the end of the messages.
func line(m *Message) []byte {
	var out bytes.Buffer
	json.HTMLEscape(&out, javascript.MustEncode(m))
	out.WriteByte('\n')
	return out.Bytes()
}

// Opening begins every Text.
const Opening = "<earlier_conversation>\n"

// Text is the conversation for an agent that lost it.
func Text(turns []Turn, said Window) string {
	out := []byte(Opening +
		`This is the record of this conversation until now, a message in JSON on each line. Your own memory of it was lost.
The tools in it have run: take their results from here, and do not run them again because of it.
`)
	if n := len(said.OmittedTurns); n > 0 {
		out = fmt.Appendf(out, "The oldest part, %d turns, is left out because of its length.\n", n)
	}
	if n := len(said.CutOutputs); n > 0 {
		out = fmt.Appendf(out, "Long outputs are cut to their beginning (cut_from_bytes).\n")
	}
	for i := range turns {
		for j := range turns[i].Messages {
			out = append(out, line(&turns[i].Messages[j])...)
		}
	}
	return string(append(out, "</earlier_conversation>\n"...))
}
