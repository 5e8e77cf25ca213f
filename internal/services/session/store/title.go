package store

import (
	"context"

	"harness/internal/platform/database"
	"harness/internal/services/session"
)

// SetTitle stores the title that a client gave a session.
func SetTitle(ctx context.Context, tx database.Tx, id, title string, source session.TitleSource) error {
	if !session.Names(title) { // the automatic name stays
		return UpdateSession(ctx, tx, id, `title = $2, title_source = ''`, database.EncodeText(title))
	}
	text := database.EncodeText(title)
	return UpdateSession(ctx, tx, id, `title = $2, name = $3, title_source = $4`, text, text, string(source))
}

// SetReportedTitle stores the title that a runtime reported. It may repeat a client's, which then keeps its source.
func SetReportedTitle(ctx context.Context, tx database.Tx, id, title string) error {
	text := database.EncodeText(title)
	if !session.Names(title) {
		return UpdateSession(ctx, tx, id, `title = $2`, text)
	}
	return UpdateSession(ctx, tx, id, `title_source = case when title = $2 then title_source else $4 end, title = $2, name = $3`,
		text, text, string(session.TitleAgent))
}

// NameSession stores the automatic name of a session without one.
func NameSession(ctx context.Context, tx database.Tx, id, name string) error {
	return UpdateSession(ctx, tx, id, `name = $2, title_source = $3`, database.EncodeText(name), string(session.TitleAuto))
}
