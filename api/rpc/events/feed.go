// Package events presents the journal as JSON-RPC notifications. These are cdev's, under the names its clients know,
// and event/harness, which carries the frames of /api/stream unchanged.
//
// It owns the derivation of notifications from a record and from the place of its session. It must never know a
// socket or a method.
package events

import (
	"encoding/json"
	"strconv"
	"strings"

	"harness/internal/lib/javascript"
	"harness/internal/platform/journal"
	"harness/internal/runtime/wire"
	"harness/internal/services/session"
	"harness/stream"
)

// Methods of notifications.
const (
	Message            = "event/claude_message"
	Status             = "event/claude_status"
	Waiting            = "event/claude_waiting"
	Permission         = "event/pty_permission"
	PermissionResolved = "event/pty_permission_resolved"
	IDResolved         = "event/session_id_resolved"
	IDFailed           = "event/session_id_failed"
	Stopped            = "event/session_stopped"
	Joined             = "event/session_joined"
	Left               = "event/session_left"
	ReadComplete       = "event/stream_read_complete"
	WorkspaceRemoved   = "event/workspace_removed"
	Heartbeat          = "event/heartbeat"
	Gap                = "event/gap"
	Harness            = "event/harness"
)

// Names lists all notification methods.
func Names() []string {
	return []string{Message, Status, Waiting, Permission, PermissionResolved, IDResolved, IDFailed, Stopped, Joined, Left,
		ReadComplete, WorkspaceRemoved, Heartbeat, Gap, Harness}
}

// firstOwn is the index of cdev's first notification among the frames of a record. The stream has at most three
// frames for a record. They keep their positions, so that cursors mean the same on both.
const firstOwn = 4

// Feed implements stream.Feed.
type Feed struct{ directory *Directory }

// NewFeed creates a Feed for the sessions in a directory.
func NewFeed(directory *Directory) *Feed { return &Feed{directory} }

// Subject identifies the recipients of a frame (stream.Frame.About).
type Subject struct {
	// Workspace is the workspace of the frame, "" for none. Everyone sends the frame to every socket.
	Workspace string
	Everyone  bool
}

// derivation is the processing of one record.
type derivation struct {
	record journal.Record
	place  Place
	frames []stream.Frame
	own    int
	// systemOwned means that the record belongs to a worker's session.
	systemOwned bool
}

// Frames implements stream.Feed.
func (f *Feed) Frames(record journal.Record) ([]stream.Frame, error) {
	d := &derivation{record: record}
	if record.SessionID != "" {
		if record.Type == "session_project_updated" {
			f.moved(record)
		}
		d.place = f.directory.of(record.SessionID)
	}
	meta, err := stream.MetaOf(&record.Event)
	if err != nil {
		return nil, err
	}
	d.systemOwned = meta.SystemOwned
	shown, err := stream.Frames(record)
	if err != nil {
		return nil, err
	}
	for i := range shown {
		d.harness(shown[i])
	}
	return d.frames, d.derive()
}

// moved updates the place of a session that moved to another workspace.
func (f *Feed) moved(record journal.Record) {
	var to struct {
		ProjectID string `json:"projectId"`
	}
	if json.Unmarshal(record.Payload, &to) == nil {
		f.directory.moved(record.SessionID, to.ProjectID, record.Pos)
	}
}

// harness adds a frame of the stream. It builds the payload only when it sends the frame, because most readers do not
// need it.
func (d *derivation) harness(frame stream.Frame) {
	frame.About = &harness{kind: frame.Type, context: d.context(frame.Runtime)}
	frame.Type = Harness
	d.frames = append(d.frames, frame)
}

// harness is the content of event/harness apart from the payload.
type harness struct {
	kind    string
	context []byte
}

// add adds a notification. params are the notification's members, and the common ones follow them.
func (d *derivation) add(method string, params any, subject Subject) {
	body := javascript.MustEncode(params)
	body = body[:len(body)-1]
	if len(body) > 1 {
		body = append(body, ',')
	}
	index := firstOwn + d.own
	d.own++
	d.frames = append(d.frames, stream.Frame{
		Type: method, ThreadID: d.record.SessionID, Payload: append(body, d.context("")...), Broadcast: d.record.Broadcast,
		SystemOwned: d.systemOwned,
		Pos:         stream.FramePosition(d.record, index), Seq: d.record.Seq, About: &subject,
	})
}

// context returns the members that every notification has. The runtime comes from the record, otherwise from the
// session.
func (d *derivation) context(said string) []byte {
	runtime := d.place.Runtime
	if said != "" {
		runtime = said
	}
	out := append([]byte{}, `"workspace_id":`...)
	out = append(out, javascript.MustEncode(d.place.Workspace)...)
	out = append(out, `,"session_id":`...)
	out = append(out, javascript.MustEncode(d.record.SessionID)...)
	out = append(out, `,"agent_type":`...)
	out = append(out, javascript.MustEncode(runtime)...)
	out = append(out, `,"timestamp":"`...)
	out = append(out, javascript.ISOTime(d.record.Time)...)
	return append(out, '"')
}

// AppendFrame implements stream.Feed.
func (f *Feed) AppendFrame(dst []byte, frame *stream.Frame, positions bool) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","method":"`...)
	dst = append(dst, frame.Type...)
	dst = append(dst, `","params":`...)
	if native, is := frame.About.(*harness); is {
		dst = append(dst, `{"type":`...)
		dst = append(dst, javascript.MustEncode(native.kind)...)
		dst = append(dst, `,"payload":`...)
		if len(frame.Payload) == 0 {
			dst = append(dst, "null"...)
		}
		dst = append(append(dst, frame.Payload...), ',')
		dst = append(dst, native.context...)
		if positions && frame.Text != nil {
			dst = strconv.AppendInt(append(dst, `,"offset":`...), frame.Text.Offset, 10)
		}
	} else {
		dst = append(dst, frame.Payload...)
	}
	if positions && !frame.Ephemeral {
		dst = strconv.AppendInt(append(dst, `,"pos":`...), frame.Pos, 10)
		dst = strconv.AppendInt(append(dst, `,"seq":`...), frame.Seq, 10)
	}
	return append(dst, "}}"...)
}

// AppendNotice implements stream.Feed.
func (f *Feed) AppendNotice(dst []byte, n stream.Notice) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","method":"`+Gap+`","params":`...)
	return append(append(dst, javascript.MustEncode(VerdictOf(n))...), '}')
}

// Verdict is the relation of a cursor to the stored range.
type Verdict struct {
	Verdict string `json:"verdict"`
	From    int64  `json:"from"`
	To      int64  `json:"to"`
	Oldest  *int64 `json:"oldest"`
	Skipped bool   `json:"skipped,omitempty"`
}

// VerdictOf interprets a notice.
func VerdictOf(n stream.Notice) Verdict {
	v := Verdict{Verdict: n.Kind, From: n.From, To: n.To, Skipped: n.Skipped}
	if n.Oldest > 0 {
		v.Oldest = &n.Oldest
	}
	return v
}

// Sees reports whether a socket gets a frame: by its watched sessions, by its subscribed workspaces, or because the
// frame is for every socket. Only its watchers see a worker's session.
func Sees(frame *stream.Frame, watches func(session string) bool, subscribed func(workspace string) bool) bool {
	subject, own := frame.About.(*Subject)
	watching := frame.ThreadID != "" && watches(frame.ThreadID)
	switch {
	case frame.SystemOwned:
		return watching
	case !own:
		return watching || frame.Broadcast || frame.ThreadID == ""
	case subject.Everyone || watching:
		return true
	}
	return subject.Workspace != "" && subscribed(subject.Workspace)
}

// derive adds cdev's notifications for a record.
func (d *derivation) derive() error {
	switch d.record.Type {
	case stream.EventNotification, stream.EventRequest:
		return d.line()
	case "approval_resolved", "tool_user_input_resolved":
		d.resolved()
	case "session_deleted":
		d.add(Stopped, struct {
			Reason string `json:"reason"`
		}{"deleted"}, Subject{Workspace: d.place.Workspace})
	case session.EventStopped:
		d.add(Stopped, struct{}{}, Subject{Workspace: d.place.Workspace})
	case session.EventIDResolved, session.EventIDFailed:
		d.idNews()
	case "project_deleted":
		d.workspaceRemoved()
	}
	return nil
}

func (d *derivation) line() error {
	meta, err := stream.MetaOf(&d.record.Event)
	if err != nil {
		return err
	}
	line, ok := stream.LineOf(&d.record.Event, meta)
	if !ok {
		return nil
	}
	if d.place.Runtime == "" && !strings.EqualFold(d.record.Source, "harness") {
		d.place.Runtime = d.record.Source
	}
	if meta.Request != nil {
		d.requested(*meta.Request, wire.Text(line.Method), line.Params)
		return nil
	}
	if d.record.Type == stream.EventNotification {
		d.notified(wire.Text(line.Method), line.Params, meta.Messages)
	}
	return nil
}

// idNews announces the real id for a temporary one to every socket, because its client may have reconnected.
func (d *derivation) idNews() {
	var news session.IDNews
	if json.Unmarshal(d.record.Payload, &news) != nil {
		return
	}
	d.place = Place{Workspace: news.ProjectID, Runtime: news.Runtime}
	if d.record.Type == session.EventIDResolved {
		d.record.SessionID = news.RealID
		d.add(IDResolved, struct {
			TemporaryID string  `json:"temporary_id"`
			RealID      string  `json:"real_id"`
			SessionFile *string `json:"session_file"`
		}{news.TemporaryID, news.RealID, nil}, Subject{Everyone: true})
		return
	}
	d.record.SessionID = news.TemporaryID
	d.add(IDFailed, struct {
		TemporaryID string `json:"temporary_id"`
		Reason      string `json:"reason"`
		Message     string `json:"message"`
	}{news.TemporaryID, news.Reason, news.Message}, Subject{Everyone: true})
}

func (d *derivation) workspaceRemoved() {
	var gone struct {
		ProjectID string `json:"projectId"`
	}
	if json.Unmarshal(d.record.Payload, &gone) != nil {
		return
	}
	d.place.Workspace = gone.ProjectID
	d.add(WorkspaceRemoved, struct {
		ID string `json:"id"`
	}{gone.ProjectID}, Subject{Everyone: true})
}
