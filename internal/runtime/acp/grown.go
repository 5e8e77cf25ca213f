package acp

import "strings"

// growingText is a text that grows with what the agent says: a message, or what a command puts out. What was added to it last
// is not in the state, which would be stored with all of it each time: it stands in the agent's output, which is kept
// from there on and read again by the next server (protocol.Reread).
type growingText struct {
	// Kept is the text as far as it is in the state, From the end of the line it is up to: what was added by later lines
	// is read again. 0 says that Kept is all of it.
	Kept string `json:"output,omitempty"`
	From int64  `json:"from,omitempty"`

	all []byte
}

// add adds to the text, of which the last so many bytes are remembered.
func (g *growingText) add(added string, most int) {
	if g.all = append(g.all, added...); len(g.all) > 2*most {
		g.all = append(make([]byte, 0, 2*most), g.all[len(g.all)-most:]...)
	}
}

// set makes it another text, which is in the state.
func (g *growingText) set(text string) { *g = growingText{Kept: text, all: []byte(text)} }

// keep puts the text into the state, as far as it is remembered, at the end of a line.
func (g *growingText) keep(end int64, most int) { g.Kept, g.From = g.last(most), end }

// last is the last so many bytes of the text, whole characters.
func (g *growingText) last(most int) string {
	if len(g.all) <= most {
		return string(g.all)
	}
	return strings.ToValidUTF8(string(g.all[len(g.all)-most:]), "")
}

// each calls do with every text that grows, and how much of it is remembered at most.
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

// needs is where the output begins that the state leaves out, 0 when it leaves nothing out.
func (s *state) needs() (from int64) {
	s.each(func(g *growingText, _ int) {
		if g.From > 0 && (from == 0 || g.From < from) {
			from = g.From
		}
	})
	return from
}

// keepOld stores texts in the state, at the end of a line, that would otherwise need more than a span of the
// output. It reports whether there were any.
func (s *state) keepOld(end, span int64) (changed bool) {
	s.each(func(g *growingText, most int) {
		if g.From > 0 && end-g.From >= span {
			g.keep(end, most)
			changed = true
		}
	})
	return changed
}

// reread takes a line again, by its end, that only added to a text.
func (t *translator) reread(l *line, end int64) {
	p := l.params()
	of, u := t.state.Conversations[p.SessionID], &p.Update
	if of == nil || l.Method != methodUpdate {
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
