package codexmanager

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"harness/internal/platform/database"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
	"harness/queue"
	"harness/transcript"
)

// sessions lists the ids of sessions to import, and of those to skip: a codex-manager also keeps transcripts and times
// of deleted sessions.
func (d *Directory) sessions() (kept, left []string) {
	all := map[string]bool{} // value: the session certainly exists
	m := d.metadata
	note := func(certain bool, id string) { all[id] = all[id] || certain || d.known[id] }
	for id := range m.Titles {
		note(true, id)
	}
	for id := range m.ControlsOf {
		note(true, id)
	}
	for id := range m.SystemOwned {
		note(false, id)
	}
	for id := range m.TimingOf {
		note(false, id)
	}
	for id := range d.supplement.ByThread {
		note(false, id)
	}
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if all[id] {
			kept = append(kept, id)
		} else {
			left = append(left, id)
		}
	}
	return kept, left
}

// session returns a session as codex-manager shows it. wrong names omitted entries, with the reasons.
func (d *Directory) session(id, nodeID, runtimeName string) (in store.Imported, wrong []string) {
	m := d.metadata
	in = store.Imported{ID: id, Runtime: runtimeName, NodeID: nodeID, Title: m.Titles[id], SystemOwned: m.SystemOwned[id],
		CreatedAt: bornAt(id)}
	if of, is := m.ProjectOf[id]; is {
		in.ProjectID = &of
	}
	if own, is := m.ControlsOf[id]; is {
		in.Controls = own.meaning()
	} else if policy := m.ApprovalPolicyOf[id]; policy != "" && m.DefaultControls != nil {
		own := *m.DefaultControls
		own.ApprovalPolicy = policy
		in.Controls = own.meaning()
	}
	in.UpdatedAt = in.CreatedAt
	for _, turn := range m.TimingOf[id] {
		for _, at := range []*int64{millis(turn.StartedAt), millis(turn.CompletedAt)} {
			if at != nil {
				in.UpdatedAt = max(in.UpdatedAt, *at)
			}
		}
	}
	entries := slices.Clone(d.supplement.ByThread[id])
	slices.SortStableFunc(entries, func(a, b numbered) int { return cmp.Compare(a.Sequence, b.Sequence) })
	for _, one := range entries {
		if err := one.Entry.check(); err != nil {
			wrong = append(wrong, fmt.Sprintf("entry %.60q of session %s: %s", one.Entry.MessageID, id, err))
			continue
		}
		in.Entries = append(in.Entries, one.Entry.meaning(m.TimingOf[id]))
	}
	if in.CreatedAt == 0 && len(in.Entries) > 0 && in.Entries[0].StartedAt != nil {
		in.CreatedAt = *in.Entries[0].StartedAt
		in.UpdatedAt = max(in.UpdatedAt, in.CreatedAt)
	}
	return in, wrong
}

func (c controls) meaning() *session.Controls {
	return &session.Controls{Model: c.Model, ApprovalPolicy: c.ApprovalPolicy, NetworkAccess: c.NetworkAccess,
		FilesystemSandbox: c.FilesystemSandbox, Settings: c.Settings}
}

func (e entry) check() error {
	if e.MessageID == "" || e.TurnID == "" {
		return fmt.Errorf("it has no messageId or no turnId")
	}
	switch transcript.Status(e.Status) {
	case transcript.Streaming, transcript.Complete, transcript.Canceled, transcript.Failed:
	default:
		return fmt.Errorf("its status is %q", e.Status)
	}
	return database.CheckKeys("messageId", e.MessageID, "turnId", e.TurnID)
}

// meaning returns an entry as a codex-manager shows it. Missing times come from the times of its turn, and so do those
// of an item of the turn.
func (e entry) meaning(timing map[string]run) transcript.Entry {
	shown := transcript.Entry{MessageID: e.MessageID, TurnID: e.TurnID, Role: e.Role, Type: e.Type, Content: e.Content,
		Details: e.Details, Status: transcript.Status(e.Status), StartedAt: millis(e.StartedAt),
		CompletedAt: millis(e.CompletedAt)}
	turn := timing[e.TurnID]
	started, completed, item := millis(turn.StartedAt), millis(turn.CompletedAt), store.IsItem(e.Type)
	if started != nil && (shown.StartedAt == nil || item && *started < *shown.StartedAt) {
		shown.StartedAt = started
	}
	if completed != nil && shown.Status == transcript.Streaming {
		shown.Status = transcript.Complete
	}
	if completed != nil && (shown.CompletedAt == nil || item && *completed > *shown.CompletedAt) {
		shown.CompletedAt = completed
	}
	return shown
}

// millis returns a time in ms; small numbers are seconds.
func millis(at *float64) *int64 {
	if at == nil {
		return nil
	}
	const latestSecond = 1e10
	ms := int64(*at)
	if *at <= latestSecond {
		ms = int64(*at * 1000)
	}
	return &ms
}

// bornAt returns the creation time of an id of version 7, in ms; 0 for another id.
func bornAt(id string) int64 {
	hex := strings.ReplaceAll(id, "-", "")
	if len(hex) != 32 || hex[12] != '7' {
		return 0
	}
	ms, err := strconv.ParseInt(hex[:12], 16, 64)
	if err != nil {
		return 0
	}
	return ms
}

func (p project) meaning(id string) (session.Project, error) {
	created, err := instant(&p.CreatedAt)
	if err != nil {
		return session.Project{}, err
	}
	updated, err := instant(&p.UpdatedAt)
	if err != nil {
		return session.Project{}, err
	}
	return session.Project{ID: id, Name: p.Name, WorkingDirectory: p.WorkingDirectory, CreatedAt: *created,
			UpdatedAt: *updated},
		database.CheckKeys("name", p.Name, "id", id)
}

// instant parses a time in JavaScript's format.
func instant(text *string) (*int64, error) {
	if text == nil {
		return nil, nil
	}
	at, err := time.Parse(time.RFC3339Nano, *text)
	if err != nil {
		return nil, err
	}
	ms := at.UnixMilli()
	return &ms, nil
}

func (j job) meaning() (meant queue.Job, err error) {
	meant = queue.Job{ID: j.ID, Type: j.Type, Version: j.Version, ProjectID: j.ProjectID,
		SourceSessionID: j.SourceSessionID, Priority: queue.Priority(j.Priority), State: queue.State(j.State),
		DedupeKey: j.DedupeKey, Payload: compact(j.Payload), Error: j.Error, Attempts: j.Attempts, MaxAttempts: j.MaxAttempts,
		ThreadID: j.RunningContext.ThreadID, TurnID: j.RunningContext.TurnID}
	if string(j.Result) != "null" {
		meant.Result = compact(j.Result)
	}
	created, err := instant(&j.CreatedAt)
	if err != nil {
		return queue.Job{}, err
	}
	meant.CreatedAt = *created
	for into, from := range map[**int64]*string{&meant.StartedAt: j.StartedAt, &meant.CompletedAt: j.CompletedAt,
		&meant.CancelRequestedAt: j.CancelRequestedAt, &meant.NextAttemptAt: j.NextAttemptAt,
		&meant.LastAttemptAt: j.LastAttemptAt} {
		if *into, err = instant(from); err != nil {
			return queue.Job{}, err
		}
	}
	switch meant.State {
	case queue.Queued, queue.Running, queue.Completed, queue.Failed, queue.Canceled:
	default:
		return queue.Job{}, fmt.Errorf("its state is %q", j.State)
	}
	if meant.ID == "" || meant.Payload == nil {
		return queue.Job{}, fmt.Errorf("it has no id or no payload")
	}
	return meant, nil
}

// compact returns JSON without the file's indentation.
func compact(raw []byte) []byte {
	if len(raw) == 0 {
		return nil
	}
	var out bytes.Buffer
	if err := json.Compact(&out, raw); err != nil {
		return raw // it was parsed as JSON before
	}
	return out.Bytes()
}
