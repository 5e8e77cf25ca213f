package database

import "context"

// Row is a row of a result, to be scanned. *sql.Row and *sql.Rows are rows.
type Row interface{ Scan(dest ...any) error }

// ReadAll returns what scan makes of each row of a query, in the query's order; nil when there is none.
func ReadAll[T any](ctx context.Context, q Querier, scan func(Row) (T, error), query string, args ...any) ([]T, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var all []T
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// ReadTexts returns a query's only column of encoded texts, decoded.
func ReadTexts(ctx context.Context, q Querier, query string, args ...any) ([]string, error) {
	return ReadAll(ctx, q, func(row Row) (text string, err error) {
		err = row.Scan(&text)
		return DecodeText(text), err
	}, query, args...)
}
