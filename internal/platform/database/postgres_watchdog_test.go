package database

import (
	"net"
	"testing"

	"github.com/jackc/pgx/v5"
)

// The owner of an abandoned connection closes it a second time, which is not an error.
func TestACutLineIsClosedTwice(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }() // it never answers
	config, err := pgx.ParseConfig("postgres://" + listener.Addr().String() + "/none")
	if err != nil {
		t.Fatal(err)
	}
	lines := guard(config)
	defer lines.close()
	conn, err := config.DialFunc(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	lines.cutIdle()
	if _, err := conn.Write([]byte("x")); err == nil {
		t.Error("the line was not cut")
	}
	if err := conn.Close(); err != nil {
		t.Errorf("closed once more: %v", err)
	}
}
