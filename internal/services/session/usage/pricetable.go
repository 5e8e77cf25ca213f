package usage

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"harness/internal/lib/ids"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/session"
)

// Journal events about prices; the audit log includes them.
const (
	EventPriceSet     = "price.set"
	EventPriceRemoved = "price.removed"
)

// day is the length of a day in ms.
const day = 24 * 60 * 60 * 1000

// Prices is the table of prices that people set. All fields are required.
type Prices struct {
	Journal *journal.Journal
	DB      *database.DB
	Clock   func() time.Time
}

const priceColumns = `id, model, since, input, cached, output, actor`

func scanPrice(row database.Row) (p session.Price, err error) {
	err = row.Scan(&p.ID, &p.Model, &p.Since, &p.Input, &p.Cached, &p.Output, &p.Actor)
	p.Model, p.Actor = database.DecodeText(p.Model), database.DecodeText(p.Actor)
	return p, err
}

func readPrices(ctx context.Context, q database.Querier) ([]session.Price, error) {
	return database.ReadAll(ctx, q, "read the prices", scanPrice, `select `+priceColumns+` from prices order by model, since desc`)
}

// Prices returns the prices that people set and the built-in ones, by model, the newest first.
func (t *Prices) Prices(ctx context.Context) ([]session.Price, error) {
	own, err := readPrices(ctx, t.DB.Read())
	all := append(own, BuiltIn()...)
	slices.SortStableFunc(all, func(a, b session.Price) int {
		return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(b.Since, a.Since))
	})
	return all, err
}

// SetPrice sets the price of a model from the day of Since on. It replaces the price of the same model and day.
func (t *Prices) SetPrice(ctx context.Context, p session.Price) (session.Price, error) {
	p.ID, p.Since = ids.New(), p.Since-p.Since%day
	err := t.Journal.Do(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		stored, err := scanPrice(tx.QueryRowContext(ctx, `insert into prices (`+priceColumns+`, created_at)
			values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (model, since) do update set input = excluded.input,
				cached = excluded.cached, output = excluded.output, actor = excluded.actor, created_at = excluded.created_at
			returning `+priceColumns, p.ID, database.EncodeText(p.Model), p.Since, p.Input, p.Cached, p.Output,
			database.EncodeText(p.Actor), t.Clock().UnixMilli()))
		if err != nil {
			return nil, fmt.Errorf("store the price of %s: %w", p.Model, err)
		}
		p = stored
		return priceEvent(EventPriceSet, p)
	})
	return p, err
}

// RemovePrice removes a price that people set; false if there is none with this id.
func (t *Prices) RemovePrice(ctx context.Context, id string) (found bool, err error) {
	err = t.Journal.Do(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		rows, err := database.ReadAll(ctx, tx, "remove a price", scanPrice, `delete from prices where id = $1 returning `+priceColumns,
			database.EncodeText(id))
		if found = len(rows) > 0; err != nil || !found {
			return nil, err
		}
		return priceEvent(EventPriceRemoved, rows[0])
	})
	return found, err
}

func priceEvent(kind string, p session.Price) ([]journal.Event, error) {
	payload, err := json.Marshal(struct {
		Model  string `json:"model"`
		From   string `json:"from"`
		Input  int64  `json:"inputMicros"`
		Cached int64  `json:"cachedInputMicros"`
		Output int64  `json:"outputMicros"`
	}{p.Model, time.UnixMilli(p.Since).UTC().Format(time.DateOnly), p.Input, p.Cached, p.Output})
	return []journal.Event{{Type: kind, Source: "prices", Payload: payload}}, err
}
