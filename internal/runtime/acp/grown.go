package acp

import (
	"strings"

	"harness/internal/runtime/acp/words"
)

// growingText is a text that grows with output: a message, or a command's output. The state omits its last additions;
// otherwise each addition would store the whole text again. The spool keeps that part of the agent's output, and the
// next server reads it again (protocol.Reread).
type growingText struct {
	// Kept is the part of the text in the state, From the end of its last line. The next server reads later additions
	// again. 0 means that Kept is complete.
	Kept string `json:"output,omitempty"`
	From int64  `json:"from,omitempty"`

	all []byte
}

// add appends to the text and keeps at most its last bytes.
func (g *growingText) add(added string, most int) {
	if g.all = append(g.all, added...); len(g.all) > 2*most {
		g.all = append(make([]byte, 0, 2*most), g.all[len(g.all)-most:]...)
	}
}

// set replaces the text. The state contains all of it.
func (g *growingText) set(text string) { *g = growingText{Kept: text, all: []byte(text)} }

// keep stores the remembered part of the text in the state, at the end of a line.
func (g *growingText) keep(end int64, most int) { g.Kept, g.From = g.last(most), end }

// last returns the last bytes of the text, in whole characters.
func (g *growingText) last(most int) string {
	if len(g.all) <= most {
		return string(g.all)
	}
	return strings.ToValidUTF8(string(g.all[len(g.all)-most:]), "")
}

// each calls do with every growing text and its limit.
func (s *state) each(do func(g *growingText, most int)) {
	for _, of := range s.Conversations {
		if of.Text != nil {
			do(&of.Text.growingText, maxText)
		}
		for _, one := range of.Tools {
			do(&one.growingText, maxOutput)
		}
	}
}

// needs returns the offset of the first output that the state omits, 0 for none.
func (s *state) needs() (from int64) {
	s.each(func(g *growingText, _ int) {
		if g.From > 0 && (from == 0 || g.From < from) {
			from = g.From
		}
	})
	return from
}

// keepOld stores texts in the state, at the end of a line, that would otherwise need more than a span of output. It
// reports whether there were any.
func (s *state) keepOld(end, span int64) (changed bool) {
	s.each(func(g *growingText, most int) {
		if g.From > 0 && end-g.From >= span {
			g.keep(end, most)
			changed = true
		}
	})
	return changed
}

// reread processes a line again that only appended to a text. end is the offset of its end.
func (t *translator) reread(l *line, end int64) {
	p := l.params()
	of, u := t.state.Conversations[p.SessionID], &p.Update
	if of == nil || l.Method != words.Update {
		return
	}
	switch u.Kind {
	case "agent_message_chunk", "agent_thought_chunk":
		if of.Text != nil && of.Text.From > 0 && end > of.Text.From {
			of.Text.add(u.shown(), maxText)
		}
	case "tool_call_update":
		if one := of.tool(u.ToolCallID); one != nil && one.From > 0 && end > one.From {
			one.add(u.Meta.Terminal.Data, maxOutput)
		}
	}
}
