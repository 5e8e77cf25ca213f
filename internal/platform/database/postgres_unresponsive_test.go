package database

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
)

// Only the callers that are already connecting to an address wait for it when it does not answer. Later callers do not
// wait until it answers again; a refusal is an answer.
func TestUnresponsiveAddressIsWaitedForOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		config, err := pgx.ParseConfig("postgres://127.0.0.1:1,127.0.0.1:2/none")
		if err != nil {
			t.Fatal(err)
		}
		var refuses atomic.Bool
		config.DialFunc = func(ctx context.Context, _, at string) (net.Conn, error) {
			if at == "127.0.0.1:2" || refuses.Load() {
				return nil, syscall.ECONNREFUSED
			}
			<-ctx.Done()
			return nil, ctx.Err()
		}
		lines := guard(config)
		defer lines.close()
		took := func(at string, want error) time.Duration {
			began := time.Now()
			if _, err := config.DialFunc(t.Context(), "tcp", at); !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", at, err, want)
			}
			return time.Since(began)
		}
		late := make(chan time.Duration)
		go func() {
			<-time.After(silence - time.Second)
			late <- took("127.0.0.1:1", errUnresponsive)
		}()
		if first, second := took("127.0.0.1:1", errUnresponsive), <-late; first != silence || second != time.Second {
			t.Errorf("they waited %s and %s", first, second)
		}
		if more := took("127.0.0.1:1", errUnresponsive) + took("127.0.0.1:2", syscall.ECONNREFUSED); more != 0 {
			t.Errorf("others waited %s", more)
		}
		refuses.Store(true)
		<-time.After(probeTimeout + 2*again)
		took("127.0.0.1:1", syscall.ECONNREFUSED)
	})
}
