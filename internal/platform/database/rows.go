package database

import (
	"context"
	"fmt"
)

// Row is a row of a result, to be scanned. *sql.Row, *sql.Rows and the rows of pgx implement it.
type Row interface{ Scan(dest ...any) error }

// ReadEach calls scan with each row of a query, in the query's order. Its error starts with what.
func ReadEach(ctx context.Context, q Querier, what string, scan func(Row) error, query string, args ...any) error {
	if conn, isConn := q.(Conn); isConn {
		if err := conn.readEach(ctx, scan, query, args...); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		return nil
	}
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// ReadAll returns the result of scan for each row of a query, an empty list for none.
func ReadAll[T any](ctx context.Context, q Querier, what string, scan func(Row) (T, error), query string, args ...any) (
	all []T, err error) {
	all = []T{}
	err = ReadEach(ctx, q, what, func(row Row) error {
		one, err := scan(row)
		all = append(all, one)
		return err
	}, query, args...)
	if err != nil {
		return nil, err
	}
	return all, nil
}

// ReadTexts reads a query's only column of encoded texts, and decodes them.
func ReadTexts(ctx context.Context, q Querier, what, query string, args ...any) ([]string, error) {
	return ReadAll(ctx, q, what, func(row Row) (text string, err error) {
		err = row.Scan(&text)
		return DecodeText(text), err
	}, query, args...)
}
