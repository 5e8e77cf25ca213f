package stream

import (
	"harness/internal/platform/journal"
)

// Feed derives a protocol's frames from the journal. One value serves all connections of the protocol; it must be
// comparable.
type Feed interface {
	// Frames returns the frames of a record, in the order of their positions (FramePosition). It must return the same
	// for a record, live and on replay.
	Frames(record journal.Record) ([]Frame, error)
	// AppendFrame appends a frame as sent, with its position and number for connections that asked for them.
	AppendFrame(dst []byte, frame *Frame, positions bool) []byte
	// AppendNotice appends the notice of frames that a connection does not get.
	AppendNotice(dst []byte, notice Notice) []byte
}

// Notice is the state of a connection relative to the journal: after it resumed at a cursor, or when frames between two
// positions are missing.
type Notice struct {
	// Kind is resumed, gap or ahead.
	Kind string
	// From and To are positions; Oldest is the first one still stored, 0 when unknown.
	From, To, Oldest int64
	// Skipped: only replaceable frames are missing.
	Skipped bool
}

// Audience chooses frames of a feed. Audiences with the same Key choose the same frames, and share one ring and one
// encoding.
type Audience struct {
	Key string
	// Sessions are the sessions whose events are included; broadcasts of other sessions are offered to Sees as well.
	Sessions []string
	// Sees selects frames among them. Several goroutines call it concurrently.
	Sees func(frame *Frame) bool
}

// FramePosition returns the position of the frame with an index (below 16) among the frames of a record.
func FramePosition(record journal.Record, index int) int64 { return startOf(record.Pos) + int64(index) }

// ownFeed is the feed of /api/stream.
type ownFeed struct{}

// Frames implements Feed.
func (ownFeed) Frames(record journal.Record) ([]Frame, error) { return Frames(record) }

// AppendFrame implements Feed.
func (ownFeed) AppendFrame(dst []byte, frame *Frame, positions bool) []byte {
	return frame.AppendJSON(dst, positions)
}

// AppendNotice implements Feed.
func (ownFeed) AppendNotice(dst []byte, n Notice) []byte { return appendNotice(dst, n) }

// channel is a feed with the views of its connections; Hub.mu guards it.
type channel struct {
	feed Feed
	all  map[*view]struct{}
	// wide are the views of all sessions, and a map of the views of particular sessions.
	wide map[*view]struct{}
	of   map[string]map[*view]struct{}
}

func newChannel(feed Feed) *channel {
	return &channel{feed: feed, all: map[*view]struct{}{}, wide: map[*view]struct{}{}, of: map[string]map[*view]struct{}{}}
}

// wants reports whether a record may have a frame for any connection.
func (c *channel) wants(record *journal.Record) bool {
	return len(c.all) > 0 && (record.Broadcast || len(c.wide) > 0 || len(c.of[record.SessionID]) > 0)
}

// offered calls fn with every view that a frame may belong to.
func (c *channel) offered(frame *Frame, fn func(*view)) {
	if frame.Broadcast {
		for v := range c.all {
			fn(v)
		}
		return
	}
	for v := range c.wide {
		fn(v)
	}
	for v := range c.of[frame.ThreadID] {
		fn(v)
	}
}

func (c *channel) add(v *view) {
	c.all[v] = struct{}{}
	if v.audience.wide() {
		c.wide[v] = struct{}{}
	}
	for _, session := range v.audience.sessions {
		if c.of[session] == nil {
			c.of[session] = map[*view]struct{}{}
		}
		c.of[session][v] = struct{}{}
	}
}

func (c *channel) remove(v *view) {
	delete(c.all, v)
	delete(c.wide, v)
	for _, session := range v.audience.sessions {
		if delete(c.of[session], v); len(c.of[session]) == 0 {
			delete(c.of, session)
		}
	}
}

// audience is an Audience with its channel; the stream's own audiences are by thread.
type audience struct {
	channel  *channel
	key      string // among the views of all channels
	sessions []string
	sees     func(*Frame) bool
}

// byThread returns the audience of a filter of the stream, "" for everything.
func (h *Hub) byThread(filter string, reach Reach) audience {
	a := audience{channel: h.own, key: filter, sees: func(f *Frame) bool { return f.visible(filter) }}
	if filter != "" {
		a.sessions = []string{filter}
	}
	return a.within(reach)
}

// notice encodes a notice for these connections.
func (a audience) notice(n Notice) *Message {
	return newMessage(96, func(dst []byte) []byte { return a.channel.feed.AppendNotice(dst, n) })
}

// wide reports whether the audience includes events of all sessions.
func (a audience) wide() bool { return a.channel.feed == ownFeed{} && len(a.sessions) == 0 }

// session returns the only session of an audience, "" if there are several. A journal query for that session finds
// every event of the audience.
func (a audience) session() string {
	if len(a.sessions) == 1 {
		return a.sessions[0]
	}
	return ""
}

// channelOf finds the channel of a feed, or makes it; h.mu is held.
func (h *Hub) channelOf(feed Feed) *channel {
	for _, c := range h.channels {
		if c.feed == feed {
			return c
		}
	}
	c := newChannel(feed)
	h.channels = append(h.channels, c)
	return c
}

// audience returns the audience of another protocol's connection; h.mu is held.
func (h *Hub) audience(feed Feed, a Audience, reach Reach) audience {
	all := audience{channel: h.channelOf(feed), key: "\x00" + a.Key, sessions: a.Sessions, sees: a.Sees}
	return all.within(reach)
}
