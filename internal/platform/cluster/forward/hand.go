package forward

import (
	"context"
	"errors"
)

// Hand passes a request that was refused here to another node. The refusal's DoneBy names that node; "" means the first
// of takers that answers. Hand returns ErrClientsTurn if the refusal names none, or if no other node answers. Other
// errors are those of do and takers.
func Hand(ctx context.Context, refused error, takers func(context.Context) ([]string, error), do func(node string) error) error {
	var elsewhere interface {
		error
		DoneBy() string
	}
	if !errors.As(refused, &elsewhere) {
		return ErrClientsTurn
	}
	if node := elsewhere.DoneBy(); node != "" {
		return do(node)
	}
	nodes, err := takers(ctx)
	if err != nil {
		return err
	}
	for _, node := range nodes {
		err := do(node)
		if unreachable := (*UnreachableError)(nil); !errors.As(err, &unreachable) && !errors.Is(err, ErrClientsTurn) {
			return err
		}
	}
	return ErrClientsTurn
}
