package reading

import (
	"context"
	"database/sql"
	"strconv"
	"strings"

	"harness/internal/platform/database"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
	"harness/transcript"
)

// openingOf is SQL for a column of the first message of a session of the outer query. It looks among the first 10
// entries.
func openingOf(column string) string {
	return `(select ` + column + ` from (select role, content, ` + transcript.CheckedEntry + ` as stored from transcript_entries
		where session_id = sessions.id and place >= 0 order by place, ordinal limit 10) e where role = 'user' limit 1)`
}

// fillNames names who archived sessions, and names the sessions without a name after their first messages: those that
// are older than automatic names, and those that began outside this server.
func fillNames(ctx context.Context, q database.Querier, sessions ...*session.Session) error {
	if err := store.NameArchivers(ctx, q, sessions...); err != nil {
		return err
	}
	unnamed := map[string]*session.Session{}
	var args []any
	var marks []string
	for _, one := range sessions {
		if one.Name == "" {
			unnamed[one.ID] = one
			args = append(args, database.EncodeText(one.ID))
			marks = append(marks, "$"+strconv.Itoa(len(args)))
		}
	}
	if len(args) == 0 {
		return nil
	}
	return database.ReadEach(ctx, q, "read first messages", func(row database.Row) error {
		var id string
		var content, stored sql.NullString
		if err := row.Scan(&id, &content, &stored); err != nil {
			return err
		}
		unnamed[database.DecodeText(id)].Name = session.TitleOf(beginning(transcript.ContentOf(content.String, stored)))
		return nil
	}, `select id, `+openingOf("content")+`, `+openingOf("stored")+` from sessions where id in (`+strings.Join(marks, ", ")+`)`, args...)
}
