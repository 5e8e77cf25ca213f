package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"harness/internal/platform/database"
	"harness/internal/runtime/wire"
	"harness/internal/services/session"
	"harness/internal/services/session/entryof"
	"harness/transcript"
)

// NoteActor stores the name of an actor, if the author has one of its own.
func NoteActor(ctx context.Context, tx database.Tx, author session.Author) error {
	if author.Name == "" {
		return nil
	}
	_, err := tx.ExecContext(ctx, `insert into actors (actor, name) values ($1, $2)
		on conflict (actor) do update set name = excluded.name where actors.name <> excluded.name`,
		database.EncodeText(author.Actor), database.EncodeText(author.Name))
	if err != nil {
		return fmt.Errorf("store the name of %s: %w", author.Actor, err)
	}
	return nil
}

// AddMessageAuthor stores the author of the next message of a turn, and returns the message's number in the turn.
func AddMessageAuthor(ctx context.Context, tx database.Tx, sessionID, turnID, text string, author session.Author) (
	number int64, err error) {
	keys := []any{database.EncodeText(sessionID), database.EncodeText(turnID)}
	err = tx.QueryRowContext(ctx, `select coalesce(max(number), 0) + 1 from message_authors where session_id = $1 and turn_id = $2`, keys...).
		Scan(&number)
	if err == nil {
		_, err = tx.ExecContext(ctx, `insert into message_authors (session_id, turn_id, number, actor, text_hash, sent_at)
			values ($1, $2, $3, $4, $5, $6)`, append(keys, number, database.EncodeText(author.Actor), textHash(text), author.At)...)
	}
	if err != nil {
		return 0, fmt.Errorf("store the author of a message of turn %s: %w", turnID, err)
	}
	return number, NoteActor(ctx, tx, author)
}

func textHash(text string) string {
	sum := sha256.Sum256([]byte(strings.TrimSpace(text)))
	return hex.EncodeToString(sum[:])
}

// AuthorsOf returns the authors of entries by message id: of messages, of clients' entries, of decisions and of stops.
func AuthorsOf(ctx context.Context, q database.Querier, sessionID string, entries []transcript.Entry) (map[string]session.Author, error) {
	all := map[string]session.Author{}
	err := errors.Join(messageAuthors(ctx, q, sessionID, entries, all), entryAuthors(ctx, q, sessionID, entries, all),
		deciders(ctx, q, entries, all))
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return all, nameAuthors(ctx, q, all)
}

// messageAuthors finds the authors of users' messages by their texts. A runtime may have changed a text: its author is
// known if the turn has only one.
func messageAuthors(ctx context.Context, q database.Querier, sessionID string, entries []transcript.Entry,
	into map[string]session.Author) error {
	type sent struct {
		session.Author
		hash string
		used bool
	}
	turns := map[string][]*sent{}
	var ids []string
	for _, e := range entries {
		if _, known := turns[e.TurnID]; !known && e.Type == wire.ItemUserMessage {
			turns[e.TurnID] = nil
			ids = append(ids, database.EncodeText(e.TurnID))
		}
	}
	err := inQuery{"read the authors of messages", `select turn_id, actor, text_hash, sent_at from message_authors
		where session_id = $1 and turn_id in (`,
		`) order by turn_id, number`, sessionID, ids}.each(ctx, q, func(row database.Row) error {
		var turn string
		one := &sent{}
		err := row.Scan(&turn, &one.Actor, &one.hash, &one.At)
		one.Actor, turn = database.DecodeText(one.Actor), database.DecodeText(turn)
		turns[turn] = append(turns[turn], one)
		return err
	})
	if err != nil {
		return err
	}
	for _, e := range entries {
		of := turns[e.TurnID]
		if e.Type != wire.ItemUserMessage || len(of) == 0 {
			continue
		}
		hash, same := textHash(e.Content), true
		for _, one := range of {
			same = same && one.Actor == of[0].Actor
			if one.hash == hash && !one.used {
				one.used, into[e.MessageID] = true, one.Author
				break
			}
		}
		if _, found := into[e.MessageID]; !found && same {
			into[e.MessageID] = session.Author{Actor: of[0].Actor}
		}
	}
	return nil
}

// entryAuthors finds who wrote the entries of clients, and who stopped turns.
func entryAuthors(ctx context.Context, q database.Querier, sessionID string, entries []transcript.Entry,
	into map[string]session.Author) error {
	var ids []string
	for _, e := range entries {
		var stop struct {
			StoppedBy string
			StoppedAt time.Time
		}
		if e.Type == session.EntryTurnStopped && e.Details != nil && json.Unmarshal([]byte(*e.Details), &stop) == nil && stop.StoppedBy != "" {
			into[e.MessageID] = session.Author{Actor: stop.StoppedBy, At: stop.StoppedAt.UnixMilli()}
			continue
		}
		if e.Type != wire.ItemUserMessage && entryof.RequestOf(e.MessageID) == "" {
			ids = append(ids, database.EncodeText(e.MessageID))
		}
	}
	return inQuery{"read the authors of entries", `select message_id, author, written
		from (select e.message_id, coalesce(nullif(e.author, ''), j.actor, '') as author, coalesce(j.time, 0) as written
			from transcript_entries e left join journal_events j on j.pos = e.event_pos
			where e.session_id = $1 and e.message_id in (`,
		`)) a where author <> ''`, sessionID, ids}.each(ctx, q, func(row database.Row) error {
		var id string
		var author session.Author
		err := row.Scan(&id, &author.Actor, &author.At)
		author.Actor = database.DecodeText(author.Actor)
		into[database.DecodeText(id)] = author
		return err
	})
}

// deciders finds who decided requests.
func deciders(ctx context.Context, q database.Querier, entries []transcript.Entry, into map[string]session.Author) error {
	messages := map[string]string{}
	var ids []string
	for _, e := range entries {
		if id := entryof.RequestOf(e.MessageID); id != "" {
			messages[id] = e.MessageID
			ids = append(ids, database.EncodeText(id))
		}
	}
	return inQuery{"read who decided", `select id, decided_by, settled_at from interactive_requests
		where status = $1 and decided_by <> '' and id in (`,
		`)`, string(session.RequestResolved), ids}.each(ctx, q, func(row database.Row) error {
		var id string
		var author session.Author
		err := row.Scan(&id, &author.Actor, &author.At)
		author.Actor = database.DecodeText(author.Actor)
		into[messages[database.DecodeText(id)]] = author
		return err
	})
}

// Decider returns who decided a request.
func Decider(ctx context.Context, q database.Querier, request Request) (session.Author, error) {
	all := map[string]session.Author{request.ID: {Actor: request.DecidedBy, At: request.SettledAt}}
	err := nameAuthors(ctx, q, all)
	return all[request.ID], err
}

// nameAuthors fills in the names of authors.
func nameAuthors(ctx context.Context, q database.Querier, all map[string]session.Author) error {
	names, actors := map[string]string{}, []string{}
	for _, author := range all {
		if _, known := names[author.Actor]; !known {
			names[author.Actor] = ""
			actors = append(actors, database.EncodeText(author.Actor))
		}
	}
	err := inQuery{"read the names of actors", `select actor, name from actors where actor <> $1 and actor in (`,
		`)`, "", actors}.each(ctx, q, func(row database.Row) error {
		var actor, name string
		err := row.Scan(&actor, &name)
		names[database.DecodeText(actor)] = database.DecodeText(name)
		return err
	})
	for id, author := range all {
		author.Name = names[author.Actor]
		all[id] = author.Named()
	}
	return err
}

// inQuery is a query of the rows whose key is among some, in two parts. first is its first argument.
type inQuery struct {
	what, query, rest, first string
	among                    []string
}

// each reads the rows, some hundred keys at a time.
func (in inQuery) each(ctx context.Context, q database.Querier, row func(database.Row) error) error {
	const most = 400
	for ids := in.among; len(ids) > 0; {
		some := ids[:min(len(ids), most)]
		ids = ids[len(some):]
		args, marks := []any{database.EncodeText(in.first)}, make([]string, len(some))
		for i, id := range some {
			args = append(args, id)
			marks[i] = "$" + strconv.Itoa(len(args))
		}
		if err := database.ReadEach(ctx, q, in.what, row, in.query+strings.Join(marks, ", ")+in.rest, args...); err != nil {
			return err
		}
	}
	return nil
}

// SetArchived stores that an author archived a session.
func SetArchived(ctx context.Context, tx database.Tx, id string, by session.Author, at int64) error {
	return errors.Join(NoteActor(ctx, tx, by), UpdateSession(ctx, tx, id,
		`archived_at = case when archived = 1 and archived_at > 0 then archived_at else $2 end,
		archived_by = case when archived = 1 then archived_by else $3 end, archived = 1`, at, database.EncodeText(by.Actor)))
}

// NameArchivers fills in who archived sessions.
func NameArchivers(ctx context.Context, q database.Querier, sessions ...*session.Session) error {
	by := map[string]session.Author{}
	for _, one := range sessions {
		if one.ArchivedBy.Actor != "" {
			by[one.ID] = one.ArchivedBy
		}
	}
	if err := nameAuthors(ctx, q, by); err != nil {
		return err
	}
	for _, one := range sessions {
		if author, is := by[one.ID]; is {
			one.ArchivedBy = author
		}
	}
	return nil
}
