// Package window converts a transcript to a text for an agent within a size limit. It writes the canonical messages,
// cuts large tool outputs first, and then omits the oldest turns entirely. A call always keeps its result. The window
// lists what is missing.
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

// Block is a part of a message: a text, a tool call, or the result of one.
type Block struct {
	Type string `json:"type"`
	Text string `json:"text,omitempty"`
	// CallID is the same for a call and its result.
	CallID string          `json:"tool_call_id,omitempty"`
	Name   string          `json:"name,omitempty"`
	Input  json.RawMessage `json:"input,omitempty"`
	// Output is the result of a call. Cut is its original length in bytes if it was cut to its beginning, else 0.
	Output string `json:"output,omitempty"`
	// Ref refers, in JSON, to the full text of an output that was cut; nil if it is not stored.
	Ref     json.RawMessage `json:"artifact_ref,omitempty"`
	Cut     int             `json:"cut_from_bytes,omitempty"`
	IsError bool            `json:"is_error,omitempty"`
}

// Message is a message of the user, the agent or a tool.
type Message struct {
	Role    string  `json:"role"`
	Content []Block `json:"content"`
}

// Turn is a turn of a conversation, or the messages between two turns (id "").
type Turn struct {
	ID       string    `json:"turn_id"`
	Messages []Message `json:"messages"`
}

// Strategies of a window.
const (
	StrategyNone           = "none"
	StrategyTruncateOldest = "truncate_oldest"
)

// Window describes what was omitted from a conversation to keep it within a limit.
type Window struct {
	// Strategy is StrategyNone if nothing was omitted.
	Strategy string `json:"strategy"`
	// MaxChars is the limit, in bytes of the text; 0 for no limit.
	MaxChars int `json:"max_chars,omitempty"`
	// CutOutputs lists the calls whose outputs were cut. OmittedTurns lists the omitted turns and OmittedIndices their
	// positions, from 0.
	CutOutputs     []string `json:"cut_outputs,omitempty"`
	OmittedTurns   []string `json:"omitted_turns,omitempty"`
	OmittedIndices []int    `json:"omitted_indices,omitempty"`
}

// previewBytes is how much of an output remains when it is cut.
const previewBytes = 512

// Fit returns as much of a conversation as fits in max bytes of text (without the heading of Text). It cuts large
// outputs first, largest first, then omits the oldest turns. It does not change its argument.
func Fit(turns []Turn, max int) ([]Turn, Window) { return FitKeeping(turns, max, nil) }

// FitKeeping is Fit with a keep function. If keep is set, it stores an output that is about to be cut and returns a
// reference to it.
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

// output is an output that can be cut, with the position of its turn.
type output struct {
	turn  int
	block *Block
}

// largest lists the outputs worth cutting, largest first; of equal ones, the older first.
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

// cut shortens an output to its beginning.
func (b *Block) cut() {
	b.Cut = len(b.Output)
	at := previewBytes
	for at > 0 && b.Output[at]&0xC0 == 0x80 {
		at-- // do not cut within a character
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

// size returns the length of a turn in Text.
func size(t *Turn) (bytes int) {
	for i := range t.Messages {
		bytes += len(line(&t.Messages[i]))
	}
	return bytes
}

// line returns a message in the text: JSON without angle brackets, so that no content can look like another message,
// or like the end of the messages.
func line(m *Message) []byte {
	var out bytes.Buffer
	json.HTMLEscape(&out, javascript.MustEncode(m))
	out.WriteByte('\n')
	return out.Bytes()
}

// Opening starts every Text.
const Opening = "<earlier_conversation>\n"

// Text returns the conversation as text for an agent that lost it.
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
