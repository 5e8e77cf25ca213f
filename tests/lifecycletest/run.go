package lifecycletest

import (
	"context"
	"testing"
	"time"
)

// Part is a component that starts and stops with a test.
type Part interface {
	Start(ctx context.Context) error
	Stop(ctx context.Context) error
}

// Run starts a part and stops it at the end of the test. The test fails if either fails.
func Run(t testing.TB, part Part) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := part.Stop(ctx); err != nil {
			t.Errorf("stop %T: %v", part, err)
		}
	})
	if err := part.Start(t.Context()); err != nil {
		t.Fatalf("start %T: %v", part, err)
	}
}
