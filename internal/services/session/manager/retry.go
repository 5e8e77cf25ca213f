package manager

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
	"harness/transcript"
)

// Retry sends the messages of a session's last turn again, in a new turn whose id it returns. The end of the runtime
// or the server must have cut the turn off, and no tool may have run. Otherwise it returns *NotRetryableError with the
// reason. It works like Send of a message with this key (Message.Key).
func (s *Service) Retry(ctx context.Context, sessionID, turnID, key string) (string, error) {
	sent, err := s.Send(ctx, sessionID, session.Message{Retries: turnID, Key: key})
	return sent.TurnID, err
}

// again returns the message that retries a turn. The session is locked.
func (s *Service) again(ctx context.Context, sessionID, turnID, key string) (session.Message, error) {
	refuse := func(reason string) (session.Message, error) {
		return session.Message{}, &session.NotRetryableError{SessionID: sessionID, TurnID: turnID, Reason: reason}
	}
	if s.index.ActiveTurn(sessionID) != "" {
		return refuse("a turn runs in its session")
	}
	var last, input string
	var turn store.Turn
	ran := false
	err := s.db.Snapshot(ctx, func(q database.Querier) (err error) {
		var known bool
		if turn, known, err = store.ReadTurn(ctx, q, sessionID, turnID); err != nil || !known {
			return err
		}
		if last, err = lastTurn(ctx, q, sessionID); err != nil {
			return err
		}
		if input, err = inputOf(ctx, q, sessionID, turnID); err != nil {
			return err
		}
		ran, err = toolsRan(ctx, q, sessionID, turnID)
		return err
	})
	switch {
	case err != nil:
		return session.Message{}, err
	case turn.TurnID == "":
		return refuse("the session has no such turn")
	case last != turnID:
		return refuse("it is not the last turn of its session")
	case turn.Status != runtime.TurnInterrupted:
		return refuse("it was not interrupted, its status is " + string(turn.Status))
	case ran:
		return refuse("a tool has run in it, and would run a second time")
	case input == "":
		return refuse("it was not cut off, or what it was asked is not known")
	}
	message := session.Message{Alone: true, Retries: turnID, Key: key}
	for line := range strings.Lines(input) {
		var one session.TurnInput
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			return session.Message{}, fmt.Errorf("read what turn %s was asked: %w", turnID, err)
		}
		message.Input, message.Effort, message.CollaborationMode = append(message.Input, one.Input...), one.Effort, one.Mode
	}
	return message, nil
}

// lastTurn returns the last turn of a session that was not rolled back; "" for none.
func lastTurn(ctx context.Context, q database.Querier, sessionID string) (string, error) {
	var last string
	err := q.QueryRowContext(ctx, `select turn_id from turns t where session_id = $1
		and not exists (select 1 from rolled_back_turns b where b.session_id = t.session_id and b.turn_id = t.turn_id)
		order by started_at desc, turn_id desc limit 1`, database.EncodeText(sessionID)).Scan(&last)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return database.DecodeText(last), err
}

func inputOf(ctx context.Context, q database.Querier, sessionID, turnID string) (input string, err error) {
	err = q.QueryRowContext(ctx, `select input from turns where session_id = $1 and turn_id = $2`,
		database.EncodeText(sessionID), database.EncodeText(turnID)).Scan(&input)
	return database.DecodeText(input), err
}

// settleInput deletes the input of a cut-off turn that must not be retried.
func settleInput(ctx context.Context, tx database.Tx, turn store.Turn) error {
	if !turn.CutOff {
		return nil
	}
	ran, err := toolsRan(ctx, tx, turn.SessionID, turn.TurnID)
	if err != nil || !ran {
		return err
	}
	if _, err := tx.ExecContext(ctx, `update turns set input = '' where session_id = $1 and turn_id = $2`,
		database.EncodeText(turn.SessionID), database.EncodeText(turn.TurnID)); err != nil {
		return fmt.Errorf("forget what turn %s was asked: %w", turn.TurnID, err)
	}
	return nil
}

// harmless lists the types of entries that involve no tool.
func harmless() []string {
	return []string{wire.ItemUserMessage, wire.ItemAgentMessage, wire.ItemReasoning, wire.ItemPlan, "turn.error", retryEntry,
		session.EntryTurnStopped, wire.ItemCleared, "approval.request", "approval.resolved", "tool_input.request", "tool_input.resolved"}
}

// toolsRan reports whether a tool may have run in a turn. Any entry counts except messages and calls that were not
// approved.
func toolsRan(ctx context.Context, q database.Querier, sessionID, turnID string) (bool, error) {
	entries, err := transcript.Store{}.ListTurn(ctx, q, sessionID, turnID)
	if err != nil {
		return false, err
	}
	unanswered, err := store.QueryRequests(ctx, q,
		`where session_id = $1 and turn_id = $2 and kind = 'approval' and status = 'expired'`,
		database.EncodeText(sessionID), database.EncodeText(turnID))
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(entries, func(entry transcript.Entry) bool {
		return !slices.Contains(harmless(), entry.Type) &&
			!slices.ContainsFunc(unanswered, func(r store.Request) bool { return r.ItemID == entry.MessageID })
	}), nil
}
