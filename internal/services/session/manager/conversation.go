package manager

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/background"
	"harness/internal/services/session/reading"
	"harness/internal/services/session/registry"
	"harness/internal/services/session/rollback"
	"harness/internal/services/session/store"
	"harness/internal/services/session/workspace"
)

// Conversations finds and changes the conversations of runtimes.
type Conversations struct {
	db           *database.DB
	journal      *journal.Journal
	reader       *reading.Reader
	runtimes     *registry.Registry
	folders      *workspace.Checker
	monitor      *background.Monitor
	watch        *background.Watch
	imports      *imports
	root         string // of relative folders
	owns         func(one session.Session) bool
	owned        func(ctx context.Context, sessionID string) (session.Session, runtime.Adapter, error)
	adoptOne     func(ctx context.Context, runtimeName, sessionID string) error
	storeThreads func(ctx context.Context, runtimeName string, threads []runtime.Thread, asked int64) error
	now          func() int64 // ms
}

// Fork creates a session that continues another session's history and has its client tools.
func (s *Conversations) Fork(ctx context.Context, sessionID string) (session.Forked, error) {
	thread, err := act(ctx, s, sessionID, runtime.OpFork, runtime.Forker.ForkThread)
	if err != nil {
		return session.Forked{}, err
	}
	stored, err := s.forked(ctx, sessionID, thread)
	if err != nil {
		return session.Forked{}, fmt.Errorf("take in fork %s: %w", thread.Native(), err)
	}
	return session.Forked{Session: stored, Thread: thread.Raw}, nil
}

// Compact makes the runtime compact a session's context, and returns the runtime's answer.
func (s *Conversations) Compact(ctx context.Context, sessionID string) (json.RawMessage, error) {
	return act(ctx, s, sessionID, runtime.OpCompact, runtime.Compactor.CompactThread)
}

// CleanTerminals ends the programs that a session's turns left running. It returns the runtime's answer, or the ended
// programs if the runtime gives no answer.
func (s *Conversations) CleanTerminals(ctx context.Context, sessionID string) (json.RawMessage, error) {
	_, adapter, err := s.owned(ctx, sessionID)
	if err == nil {
		_, cleans := runtime.Has[runtime.TerminalCleaner](adapter, runtime.OpTerminals)
		_, ends := runtime.Has[runtime.Backgrounder](adapter, runtime.OpTerminals)
		if ends && !cleans {
			ended, err := s.monitor.EndAllBackground(ctx, sessionID)
			return encode(struct {
				Ended []session.BackgroundTask `json:"ended"`
			}{append([]session.BackgroundTask{}, ended...)}), err
		}
	}
	result, err := act(ctx, s, sessionID, runtime.OpTerminals, runtime.TerminalCleaner.CleanTerminals)
	if err == nil {
		s.watch.Want(sessionID)
	}
	return result, err
}

// Review starts a review in a session and returns the runtime's answer.
func (s *Conversations) Review(ctx context.Context, sessionID string, review runtime.Review) (json.RawMessage, error) {
	return act(ctx, s, sessionID, runtime.OpReview,
		func(r runtime.Reviewer, ctx context.Context, threadID string) (json.RawMessage, error) {
			return r.ReviewThread(ctx, threadID, review)
		})
}

// SteerTurn adds text to a turn, like Steer, but the runtime checks whether that turn runs. It returns the runtime's
// refusal unchanged.
func (s *Conversations) SteerTurn(ctx context.Context, sessionID, turnID, text string) error {
	input := session.Message{Text: text}.InputParts()
	_, err := act(ctx, s, sessionID, runtime.OpSteer,
		func(r runtime.Steerer, ctx context.Context, threadID string) (struct{}, error) {
			return struct{}{}, r.SteerTurn(ctx, threadID, turnID, input)
		})
	return err
}

// act calls the runtime of a session about its conversation. A restarted runtime must load the conversation first.
func act[Part, Result any](
	ctx context.Context, s *Conversations, sessionID, operation string, do func(Part, context.Context, string) (Result, error),
) (result Result, err error) {
	sess, adapter, err := s.owned(ctx, sessionID)
	if errors.Is(err, session.ErrNotFound) {
		unknown := err
		sess.ID = sessionID
		adapter, err = s.runtimes.Chosen("")
		if e := (*session.UnknownError)(nil); err == nil && errors.As(unknown, &e) && e.WaitsFor(adapter.Name()) {
			err = unknown
		}
	}
	if err != nil {
		return result, err
	}
	part, err := runtime.As[Part](adapter, operation)
	if err != nil {
		return result, err
	}
	if operation != runtime.OpTerminals { // any process can end running programs
		if _, err := s.folders.Workspace(sess); err != nil {
			return result, err
		}
	}
	err = rollback.Loaded(ctx, adapter, sess, func() (err error) {
		result, err = do(part, ctx, sessionID)
		return err
	})
	return result, err
}

// forked stores a session that its runtime has just forked from another one, with the source's client tools. If the
// source has no user, the fork gets its controls too: it must not wait for a user. Errors are those of Lookup.
func (s *Conversations) forked(ctx context.Context, sourceID string, fork runtime.Thread) (session.Session, error) {
	sessionID, inherited := fork.ID, `dynamic_tools = (select dynamic_tools from sessions where id = $2)`
	if sessionID == "" { // the runtime lets this server choose the id, and enforces the source's limits
		inherited += `, controls = (select controls from sessions where id = $2)`
		source, err := s.reader.Stored(ctx, sourceID)
		if err == nil {
			err = s.storeThreads(ctx, source.Runtime, []runtime.Thread{fork}, s.now())
		}
		if err != nil {
			return session.Session{}, err
		}
		taken, err := store.ReadConversation(ctx, s.db.Read(), source.Runtime, fork)
		if err != nil {
			return session.Session{}, err
		}
		sessionID = taken.ID
		s.imports.want(sessionID)
	} else if _, err := s.adopt(ctx, sessionID); err != nil {
		return session.Session{}, err
	} else if source, err := s.reader.Stored(ctx, sourceID); err == nil &&
		(source.Controls.NonInteractive || source.Controls.NativeTools != "") {
		inherited += `, controls = (select controls from sessions where id = $2)`
	} else if err != nil && !errors.Is(err, session.ErrNotFound) { // an unstored source was opened elsewhere, by a user
		return session.Session{}, err
	}
	err := s.journal.Do(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		return nil, errors.Join(store.InheritSources(ctx, tx, sourceID, sessionID), store.UpdateSession(ctx, tx, sessionID, inherited,
			database.EncodeText(sourceID)))
	})
	if err != nil {
		return session.Session{}, err
	}
	return s.reader.Stored(ctx, sessionID)
}

// adopt is Lookup for a caller that is about to use a session's runtime, or has just created the session. It first
// asks the runtime about a session known only from a signal. For example, a fork's signal may arrive before the reply
// to its caller.
func (s *Conversations) adopt(ctx context.Context, sessionID string) (session.Session, error) {
	session, err := s.Lookup(ctx, sessionID)
	if err != nil || string(session.Thread) != store.PlaceholderThread || !s.owns(session) {
		return session, err
	}
	if s.adoptOne(ctx, session.Runtime, sessionID) == nil {
		return s.reader.Stored(ctx, sessionID)
	}
	return session, nil // only the bare row exists
}

// Sources lists the files that a session's agent reads without a request, and their changes since the session began.
// Errors are those of Lookup, *NotOwnerError, and runtime.ErrUnavailable for a runtime that this server does not have.
func (s *Conversations) Sources(ctx context.Context, sessionID string) (session.Sources, error) {
	sess, adapter, err := s.owned(ctx, sessionID)
	if err != nil {
		return session.Sources{}, err
	}
	implicit, began, known, err := store.ReadSources(ctx, s.db.Read(), sessionID)
	if err != nil {
		return session.Sources{}, err
	}
	choices := runtime.CapabilitiesOf(adapter).ImplicitSources
	if !known && len(choices) > 0 {
		implicit = choices[0]
	}
	now, err := registry.SourcesAt(adapter, sessionID, cmp.Or(sess.Cwd, s.root), implicit)
	if err != nil {
		return session.Sources{}, err
	}
	out := session.Sources{Implicit: implicit, Choices: append([]string{}, choices...), Files: []session.SourceNow{}}
	of := func(list []runtime.Source, path string) *runtime.Source {
		if i := slices.IndexFunc(list, func(one runtime.Source) bool { return one.Path == path }); i >= 0 {
			return &list[i]
		}
		return nil
	}
	for _, one := range now {
		file := session.SourceNow{Source: one, State: session.SourceUnknown, Began: of(began, one.Path)}
		switch {
		case !known:
		case file.Began == nil:
			file.State = session.SourceAdded
		case file.Began.SHA256 != one.SHA256 || file.Began.Reason != one.Reason:
			file.State = session.SourceChanged
		default:
			file.State = session.SourceSame
		}
		out.Files = append(out.Files, file)
	}
	for i, one := range began {
		if of(now, one.Path) == nil {
			out.Files = append(out.Files, session.SourceNow{Source: one, State: session.SourceRemoved, Began: &began[i]})
		}
	}
	return out, nil
}
