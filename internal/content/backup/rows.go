package backup

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"harness/internal/platform/database"
	"harness/migrations"
)

// tablesOf lists the tables of a store with their columns, each after the tables it refers to.
func tablesOf(ctx context.Context, q database.Querier, schema int64) (tables []Table, err error) {
	names, err := migrations.Tables(schema)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if name == nodesTable || name == objectsTable {
			continue
		}
		columns, err := columnsOf(ctx, q, name)
		if err != nil {
			return nil, err
		}
		tables = append(tables, Table{Name: name, Columns: columns})
	}
	return tables, nil
}

func columnsOf(ctx context.Context, q database.Querier, table string) (columns []string, err error) {
	rows, err := q.QueryContext(ctx, `select * from `+table+` where 1 = 0`)
	if err != nil {
		return nil, fmt.Errorf("look at the table %s: %w", table, err)
	}
	defer func() { _ = rows.Close() }()
	if columns, err = rows.Columns(); err != nil {
		return nil, fmt.Errorf("look at the table %s: %w", table, err)
	}
	return columns, rows.Err()
}

// eachRow calls do with the rows of a table: texts, int64 and nil. The parts of an artifact are in order.
func eachRow(ctx context.Context, q database.Querier, table Table, do func(row []any) error) error {
	query := `select ` + database.QuoteNames(table.Columns...) + ` from ` + database.QuoteNames(table.Name)
	if table.Name == partsTable {
		query += ` order by hash, number`
	}
	row := make([]any, len(table.Columns))
	into := make([]any, len(row))
	for i := range row {
		into[i] = &row[i]
	}
	return database.ReadEach(ctx, q, "read the table "+table.Name, func(stored database.Row) error {
		if err := stored.Scan(into...); err != nil {
			return err
		}
		for i, value := range row {
			if raw, is := value.([]byte); is {
				row[i] = string(raw)
			}
		}
		return do(row)
	}, query)
}

// inexact is a text that JSON would change because it is not UTF-8.
type inexact struct {
	Base64 string `json:"base64"`
}

// encodeRow writes a row as a line.
func encodeRow(out *json.Encoder, row []any) error {
	for i, value := range row {
		switch value := value.(type) {
		case nil, int64:
		case string:
			if !utf8.ValidString(value) {
				row = slices.Clone(row)
				row[i] = inexact{base64.StdEncoding.EncodeToString([]byte(value))}
			}
		default:
			return fmt.Errorf("a column has a %T, which no archive keeps", value)
		}
	}
	return out.Encode(row)
}

// decodeRow is the inverse of encodeRow.
func decodeRow(line []byte, columns int) (row []any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.UseNumber()
	if err := decoder.Decode(&row); err != nil {
		return nil, err
	}
	if len(row) != columns {
		return nil, fmt.Errorf("a row has %d values for %d columns", len(row), columns)
	}
	for i, value := range row {
		switch value := value.(type) {
		case nil, string:
		case json.Number:
			if row[i], err = value.Int64(); err != nil {
				return nil, err
			}
		case map[string]any:
			text, _ := value["base64"].(string)
			raw, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				return nil, err
			}
			row[i] = string(raw)
		default:
			return nil, fmt.Errorf("a value is a %T", value)
		}
	}
	return row, nil
}
