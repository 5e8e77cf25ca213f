package database

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// ErrNoChannels says that the engine has no way for processes to tell each other something: a file of SQLite belongs to
// one of them.
var ErrNoChannels = errors.New("only processes on one Postgres can tell each other something")

// Channel is a connection over which the processes on one store tell each other a word (LISTEN and NOTIFY of Postgres).
// It is for one goroutine. A word that is told while nobody listens is heard by nobody, so it can only say that there is
// something to look at.
type Channel struct {
	conn *pgx.Conn
	name string
}

// OpenChannel connects to the channel of this store's schema. It returns ErrNoChannels on SQLite.
func (db *DB) OpenChannel(ctx context.Context) (*Channel, error) {
	if db.engine != Postgres {
		return nil, ErrNoChannels
	}
	conn, err := pgx.ConnectConfig(ctx, db.silent.config) // not a guarded one: it is silent most of the time
	if err != nil {
		return nil, fmt.Errorf("open a channel to other nodes: %w", redact(err))
	}
	c := &Channel{conn: conn}
	// Telling something changes nothing, so nobody has to wait for the disk or a standby.
	if _, err = conn.Exec(ctx, "set synchronous_commit = off"); err == nil {
		err = conn.QueryRow(ctx, "select 'harness_' || md5(current_schema()), "+
			"set_config('application_name', 'harness bus ' || md5(current_schema()), false)").Scan(&c.name, nil)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open a channel to other nodes: %w", err), c.Close(ctx))
	}
	return c, nil
}

// Tell has everybody who listens hear a word, also this process.
func (c *Channel) Tell(ctx context.Context, word string) error {
	if _, err := c.conn.Exec(ctx, "select pg_notify($1, $2)", c.name, word); err != nil {
		return fmt.Errorf("tell other nodes: %w", err)
	}
	return nil
}

// Listen begins to keep what is told for Hear.
func (c *Channel) Listen(ctx context.Context) error {
	if _, err := c.conn.Exec(ctx, "listen "+pgx.Identifier{c.name}.Sanitize()); err != nil {
		return fmt.Errorf("listen to other nodes: %w", err)
	}
	return nil
}

// Hear waits for the next word. When ctx ends first the channel is as good as before.
func (c *Channel) Hear(ctx context.Context) (string, error) {
	said, err := c.conn.WaitForNotification(ctx)
	if err != nil {
		return "", fmt.Errorf("listen to other nodes: %w", err)
	}
	return said.Payload, nil
}

// Check reports whether Postgres answers.
func (c *Channel) Check(ctx context.Context) error {
	if err := c.conn.Ping(ctx); err != nil {
		return fmt.Errorf("listen to other nodes: %w", err)
	}
	return nil
}

// Close ends the connection.
func (c *Channel) Close(ctx context.Context) error { return c.conn.Close(ctx) }
