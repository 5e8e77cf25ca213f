package database

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// ErrNoChannels means that the engine has no notifications between processes: a SQLite file belongs to one process.
var ErrNoChannels = errors.New("only processes on one Postgres can notify each other")

// Channel is a connection over which the processes on one store notify each other (LISTEN and NOTIFY of Postgres). It
// is for one goroutine. A NOTIFY without a listener is lost, so a notification can only request a poll.
type Channel struct {
	conn *pgx.Conn
	name string
}

// OpenChannel connects to the channel of this store's schema. It returns ErrNoChannels on SQLite.
func (db *DB) OpenChannel(ctx context.Context) (*Channel, error) {
	if db.engine != Postgres {
		return nil, ErrNoChannels
	}
	conn, err := pgx.ConnectConfig(ctx, db.watchdog.config) // not monitored, because it is mostly idle
	if err != nil {
		return nil, fmt.Errorf("open a channel to other nodes: %w", redact(err))
	}
	c := &Channel{conn: conn}
	// A notification writes no rows, so there is no need to wait for the disk or a standby.
	if _, err = conn.Exec(ctx, "set synchronous_commit = off"); err == nil {
		err = conn.QueryRow(ctx, "select 'harness_' || md5(current_schema()), "+
			"set_config('application_name', 'harness bus ' || md5(current_schema()), false)").Scan(&c.name, nil)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open a channel to other nodes: %w", err), c.Close(ctx))
	}
	return c, nil
}

// Notify sends a text to every listener, including this process.
func (c *Channel) Notify(ctx context.Context, word string) error {
	if _, err := c.conn.Exec(ctx, "select pg_notify($1, $2)", c.name, word); err != nil {
		return fmt.Errorf("notify other nodes: %w", err)
	}
	return nil
}

// Listen subscribes to notifications; they queue up for Receive.
func (c *Channel) Listen(ctx context.Context) error {
	if _, err := c.conn.Exec(ctx, "listen "+pgx.Identifier{c.name}.Sanitize()); err != nil {
		return fmt.Errorf("listen to other nodes: %w", err)
	}
	return nil
}

// Receive waits for the next notification. When ctx ends first the channel stays usable.
func (c *Channel) Receive(ctx context.Context) (string, error) {
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
