package rewind

import (
	"context"
	"encoding/json"
	"fmt"

	"harness/internal/lib/javascript"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/session"
	"harness/internal/services/workingtree"
	"harness/stream"
)

// The steps of a rewind.
const (
	stepFiles        = "files"
	stepConversation = "conversation"
	stepDone         = "done"
	stepConflict     = "conflict" // the files were changed in the meantime; nothing was done
)

// row is a stored rewind.
type row struct {
	ID, SessionID, NodeID, TurnID string
	Turns                         []string
	Undoes                        string
	Folder, TreeNow, TreeThen     string
	Files                         int
	Step, Conversation            string
	Actor                         string
	CreatedAt                     int64
}

func (r row) result(changed []string) Result {
	return Result{ID: r.ID, TurnID: r.TurnID, Turns: r.Turns, Files: r.Files, Changed: changed, Conversation: r.Conversation, Undoes: r.Undoes}
}

// states are the states of the folder.
func (r row) states() workingtree.Step {
	return workingtree.Step{ID: r.ID, SessionID: r.SessionID, Folder: r.Folder, Now: r.TreeNow, Then: r.TreeThen}
}

// EventRewound is the type of the event of a rewind.
const EventRewound = stream.ConsoleEvents + "session_rewound"

func (r row) event(at int64) journal.Event {
	return session.NewEvent(r.SessionID, EventRewound, at, false, javascript.MustEncode(struct {
		SessionID    string   `json:"sessionId"`
		RewindID     string   `json:"rewindId"`
		TurnID       string   `json:"turnId"`
		Turns        []string `json:"turns"`
		Files        int      `json:"files"`
		Conversation string   `json:"conversation"`
		Undoes       *string  `json:"undoes"`
		By           string   `json:"by"`
	}{r.SessionID, r.ID, r.TurnID, r.Turns, r.Files, r.Conversation, orNull(r.Undoes), r.Actor}))
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

const columns = `id, session_id, node_id, turn_id, turns, undoes, folder, tree_now, tree_then, files, step, conversation, actor, created_at`

// begin stores a rewind before its first step.
func (r *Rewinds) begin(ctx context.Context, one row) error {
	if one.TreeNow != "" {
		if err := r.options.Trees.KeepStates(ctx, one.states()); err != nil {
			return err
		}
	}
	r.options.Step("begin")
	return r.options.Journal.Do(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		_, err := tx.ExecContext(ctx, `insert into rewinds (`+columns+`, replay)
			values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, 0)`,
			one.ID, database.EncodeText(one.SessionID), one.NodeID, database.EncodeText(one.TurnID), string(javascript.MustEncode(one.Turns)),
			one.Undoes, database.EncodeText(one.Folder), one.TreeNow, one.TreeThen, one.Files, one.Step, one.Conversation, one.Actor,
			one.CreatedAt)
		if err != nil {
			return nil, fmt.Errorf("store the rewind of session %s: %w", one.SessionID, err)
		}
		return nil, nil
	})
}

// storeStep stores the present step of a rewind, with what more does.
func (r *Rewinds) storeStep(ctx context.Context, one row, more journal.Unit) error {
	return r.options.Journal.Do(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		_, err := tx.ExecContext(ctx, `update rewinds set step = $2, conversation = $3,
			replay = case when $2 = 'done' and $3 = 'retold' then 1 else replay end where id = $1`, one.ID, one.Step, one.Conversation)
		if err != nil {
			return nil, fmt.Errorf("store the step of rewind %s: %w", one.ID, err)
		}
		if more == nil {
			return nil, nil
		}
		return more(ctx, tx)
	})
}

// open lists the rewinds of a session that are not finished, oldest first.
func (r *Rewinds) open(ctx context.Context, sessionID string) ([]row, error) {
	return r.read(ctx, `session_id = $1 and step in ('files', 'conversation') order by created_at, id`, database.EncodeText(sessionID))
}

// last returns the last rewind of a session, a zero row for none.
func (r *Rewinds) last(ctx context.Context, sessionID string) (row, error) {
	found, err := r.read(ctx, `session_id = $1 and step <> 'conflict' order by created_at desc, id desc limit 1`,
		database.EncodeText(sessionID))
	if err != nil || len(found) == 0 {
		return row{}, err
	}
	return found[0], nil
}

// openOf lists the sessions of a runtime on this node whose rewinds are not finished.
func (r *Rewinds) openOf(ctx context.Context, runtimeName string) ([]string, error) {
	return database.ReadTexts(ctx, r.options.DB.Read(), "list open rewinds", `select distinct r.session_id from rewinds r
		join sessions s on s.id = r.session_id where r.step in ('files', 'conversation') and s.node_id = $1 and s.runtime = $2
		order by r.session_id`, r.options.NodeID, runtimeName)
}

func (r *Rewinds) read(ctx context.Context, where string, args ...any) (all []row, err error) {
	err = database.ReadEach(ctx, r.options.DB.Read(), "read rewinds", func(found database.Row) error {
		var one row
		var turns string
		if err := found.Scan(&one.ID, &one.SessionID, &one.NodeID, &one.TurnID, &turns, &one.Undoes, &one.Folder, &one.TreeNow, &one.TreeThen,
			&one.Files, &one.Step, &one.Conversation, &one.Actor, &one.CreatedAt); err != nil {
			return err
		}
		one.SessionID, one.TurnID = database.DecodeText(one.SessionID), database.DecodeText(one.TurnID)
		one.Folder = database.DecodeText(one.Folder)
		all = append(all, one)
		return json.Unmarshal([]byte(turns), &all[len(all)-1].Turns)
	}, `select `+columns+` from rewinds where `+where, args...)
	return all, err
}
