package codex

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
)

// page is one page of a list.
type page[T any] struct {
	Data       []T    `json:"data"`
	NextCursor string `json:"nextCursor"`
}

// asking makes a call of codex and waits for its answer.
type asking func(ctx context.Context, method string, params object) (json.RawMessage, error)

func pageOf[T any](ctx context.Context, ask asking, method string, params object) (listed page[T], err error) {
	result, err := ask(ctx, method, params)
	if err != nil {
		return listed, err
	}
	if err := json.Unmarshal(result, &listed); err != nil {
		return listed, fmt.Errorf("read codex's answer to %s: %w", method, err)
	}
	return listed, nil
}

// pages iterates over a paged list until an error.
func pages[T any](ctx context.Context, ask asking, method string, params object) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for cursor := ""; ; {
			listed, err := pageOf[T](ctx, ask, method, params.with("cursor", cursor))
			if err != nil {
				yield(*new(T), err)
				return
			}
			for _, one := range listed.Data {
				if !yield(one, nil) {
					return
				}
			}
			if listed.NextCursor == "" || listed.NextCursor == cursor {
				return
			}
			cursor = listed.NextCursor
		}
	}
}
