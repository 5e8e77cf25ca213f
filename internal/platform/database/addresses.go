package database

import (
	"fmt"
	"net"
	"path/filepath"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// Addresses returns the HOST:PORT pairs of a DATABASE_URL, in order; none for SQLite ("") and for Unix sockets.
func Addresses(url string) (all []string, err error) {
	if url == "" {
		return nil, nil
	}
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("DATABASE_URL is not a Postgres URL like postgres://user:password@host:5432/name: %w", redact(err))
	}
	add := func(host string, port uint16) {
		if !filepath.IsAbs(host) {
			all = append(all, net.JoinHostPort(host, strconv.Itoa(int(port))))
		}
	}
	add(config.Host, config.Port)
	for _, other := range config.Fallbacks {
		add(other.Host, other.Port)
	}
	return all, nil
}
