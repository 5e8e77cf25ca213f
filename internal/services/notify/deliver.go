package notify

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"harness/internal/platform/database"
)

const (
	// patience is the maximum pause between polls of the store.
	patience = 5 * time.Second
	// slowest is the maximum pause between two attempts to send a message.
	slowest = 15 * time.Minute
	// maxTitle is the maximum number of characters of a title in a message.
	maxTitle = 200
)

// stored is a pending message.
type stored struct {
	Message
	target        string
	due, attempts int64
}

// deliver sends the messages of one lane, one at a time.
func (n *Notifier) deliver(ctx context.Context, l *lane) {
	log := n.opts.Logger.With().Str("target", l.name).Logger()
	failing := false
	for ctx.Err() == nil {
		wait, sent, err := n.step(ctx, l)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !failing:
			log.Warn().Err(err).Msg("cannot deliver a notification; retrying for a day")
		case sent && failing:
			log.Info().Msg("notifications are delivered again")
		}
		failing = err != nil || failing && !sent
		if err != nil {
			wait = max(wait, n.opts.Pause)
		}
		if wait == 0 {
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-l.wake:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// step sends the message that is due first, and returns the wait until the next one. It stores the time of the next
// attempt before it sends. No other process sends the message before that time, and after a crash one sends it then.
func (n *Notifier) step(ctx context.Context, l *lane) (wait time.Duration, sent bool, err error) {
	m, err := n.first(ctx, l)
	if errors.Is(err, sql.ErrNoRows) {
		return patience, false, nil
	}
	if err != nil {
		return patience, false, fmt.Errorf("read the messages to send: %w", err)
	}
	now := n.opts.Clock()
	if early := time.UnixMilli(m.due).Sub(now); early > 0 {
		return min(early, patience), false, nil
	}
	if now.Sub(time.UnixMilli(m.At)) > maxAge {
		return 0, false, n.end(ctx, l, m, Dropped)
	}
	if m.Kind.waits() {
		waits, err := n.opts.Waits(ctx, m.News)
		if err != nil {
			return patience, false, fmt.Errorf("read whether a request still waits: %w", err)
		}
		if !waits {
			return 0, false, n.forget(ctx, m)
		}
	}
	target, err := l.targetOf(ctx, m)
	if err != nil {
		return patience, false, err
	}
	if target == nil {
		return 0, false, n.forget(ctx, m)
	}
	if taken, err := n.take(ctx, m, now); err != nil || !taken {
		return 0, false, err
	}
	if err := n.complete(ctx, &m.Message); err != nil {
		return 0, false, err
	}
	if err := n.send(ctx, target, m.Message); err != nil {
		n.opts.Ended(l.name, Failed)
		if l.gone != nil && isGone(err) {
			return 0, false, l.gone(ctx, m)
		}
		return 0, false, err
	}
	return 0, true, n.end(ctx, l, m, Delivered)
}

func (n *Notifier) first(ctx context.Context, l *lane) (m stored, err error) {
	var news string
	err = n.opts.DB.Read().QueryRowContext(ctx, `select id, target, at, due, attempts, news from notify_messages
		where `+l.where+` order by due, id limit 1`, l.arg).Scan(&m.ID, &m.target, &m.At, &m.due, &m.attempts, &news)
	if err == nil {
		err = json.Unmarshal([]byte(news), &m.News)
	}
	return m, err
}

// take reserves a message for one process with a compare-and-set.
func (n *Notifier) take(ctx context.Context, m stored, now time.Time) (taken bool, err error) {
	again := min(n.opts.Retry<<min(m.attempts, 20), slowest)
	err = n.opts.DB.Update(ctx, func(tx database.Tx) error {
		result, err := tx.ExecContext(ctx, `update notify_messages set attempts = attempts + 1, due = $1
			where id = $2 and attempts = $3`, now.Add(again).UnixMilli(), m.ID, m.attempts)
		if err != nil {
			return err
		}
		rows, err := result.RowsAffected()
		taken = rows == 1
		return err
	})
	if err != nil {
		return false, fmt.Errorf("take a notification: %w", err)
	}
	return taken, nil
}

func (n *Notifier) end(ctx context.Context, l *lane, m stored, outcome Outcome) error {
	err := n.forget(ctx, m)
	if err == nil {
		n.opts.Ended(l.name, outcome)
	}
	return err
}

func (n *Notifier) forget(ctx context.Context, m stored) error {
	ctx = context.WithoutCancel(ctx) // a sent message must be deleted, or it is sent again
	err := n.opts.DB.Update(ctx, func(tx database.Tx) error {
		_, err := tx.ExecContext(ctx, `delete from notify_messages where id = $1`, m.ID)
		return err
	})
	if err != nil {
		return fmt.Errorf("forget a notification: %w", err)
	}
	return nil
}

// complete adds the session's current title, and its link.
func (n *Notifier) complete(ctx context.Context, m *Message) (err error) {
	if m.Title, err = Title(ctx, n.opts.DB, m.SessionID); err != nil {
		return err
	}
	if m.RequestID != "" {
		asked, err := database.ReadTexts(ctx, n.opts.DB.Read(), "read what a request asks",
			`select summary from interactive_requests where id = $1`, database.EncodeText(m.RequestID))
		if err != nil {
			return err
		}
		m.Summary = oneLine(strings.Join(asked, ""))
	}
	if n.opts.DecideLink != nil {
		m.Decide = n.opts.DecideLink(m.News)
	}
	switch {
	case n.opts.PublicURL == "":
	case m.SessionID == "":
		m.Link = n.opts.PublicURL + "/jobs"
	default:
		m.Link = n.opts.PublicURL + "/s/" + url.PathEscape(m.SessionID)
	}
	return nil
}

// Title returns a session's title in one line, "" if the session is not stored.
func Title(ctx context.Context, db *database.DB, sessionID string) (string, error) {
	titles, err := database.ReadTexts(ctx, db.Read(), "read a title", `select case name when '' then 'New session' else name end
		from sessions where id = $1`,
		database.EncodeText(sessionID))
	return oneLine(strings.Join(titles, "")), err
}

func oneLine(text string) string {
	line := []rune(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text))
	return strings.TrimSpace(string(line[:min(len(line), maxTitle)]))
}

// send sends a message; its error does not name the URL, which may be a secret.
func (n *Notifier) send(ctx context.Context, target Target, m Message) error {
	request, err := target.Request(ctx, m)
	if err != nil {
		return err
	}
	request.Header.Set("User-Agent", "harness")
	response, err := n.client.Do(request)
	if err != nil {
		var about *url.Error
		if errors.As(err, &about) {
			err = about.Err
		}
		return fmt.Errorf("%s did not answer: %w", target.Name(), err)
	}
	defer response.Body.Close()
	_, err = io.CopyN(io.Discard, response.Body, 1<<16)
	if code := response.StatusCode; code < http.StatusOK || code >= http.StatusMultipleChoices {
		return &answeredError{target.Name(), code}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s did not end its answer: %w", target.Name(), err)
	}
	return nil
}

// answeredError is a response that refuses a message.
type answeredError struct {
	target string
	code   int
}

// Error implements error.
func (e *answeredError) Error() string {
	return fmt.Sprintf("%s answered %d%s", e.target, e.code, remedy(e.code))
}

// isGone reports whether a push service no longer knows a browser (RFC 8030, section 7.3).
func isGone(err error) bool {
	var answered *answeredError
	return errors.As(err, &answered) && (answered.code == http.StatusNotFound || answered.code == http.StatusGone)
}

func remedy(code int) string {
	switch {
	case code >= 300 && code < 400:
		return ", which is not followed: name the place it leads to"
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return ": it does not take the token or the signature; check the secret"
	case code == http.StatusNotFound || code == http.StatusGone:
		return ": check its URL"
	}
	return ""
}
