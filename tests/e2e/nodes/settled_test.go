package nodes

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// A node with a node port does not respond with data that only the primary has. It waits for the standby, but no longer
// than writes do. Requests that need no rows get a response during that time.
func TestAnswersWaitForTheStandby(t *testing.T) {
	t.Parallel()
	pair := dbtest.NewPair(t)
	site := programtest.New(t, programtest.WithDatabase(pair.URL(pair.Primary())), withPort(),
		programtest.WithEnv("HARNESS_LIMITS=store-wait-ms=300"))
	node := site.Start()
	node.WaitRuntime()
	session := node.CreateSession(nil)

	hasty, err := url.Parse(pair.URL(pair.Primary()))
	if err != nil {
		t.Fatal(err)
	}
	query := hasty.Query()
	query.Set("synchronous_commit", "local")
	hasty.RawQuery = query.Encode()
	other := journal.New(dbtest.Connect(t, database.Options{URL: hasty.String()}), journal.Options{})
	if err := other.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	pair.Alone(func() error {
		_, err := other.Commit(t.Context(), func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
			_, err := tx.ExecContext(ctx, `update sessions set title = 'of another node', name = 'of another node' where id = $1`, session)
			return []journal.Event{{SessionID: session, Type: "test"}}, err
		})
		return err
	})
	if err := other.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}

	rpc := programtest.Object{"jsonrpc": "2.0", "id": 1, "method": "session/list"}
	asked := []struct {
		method, path string
		body         any
		refused      int
	}{
		{http.MethodGet, "/api/sessions", nil, http.StatusServiceUnavailable},
		{http.MethodGet, "/api/sessions/" + session, nil, http.StatusServiceUnavailable},
		{http.MethodGet, "/v1/sessions", nil, http.StatusServiceUnavailable},
		{http.MethodGet, "/v1/sessions/" + session, nil, http.StatusServiceUnavailable},
		{http.MethodPost, "/rpc", rpc, http.StatusOK}, // the refusal is in it
	}
	for _, one := range asked {
		status, raw, err := node.Try(one.method, one.path, one.body)
		if err != nil || status != one.refused || !strings.Contains(string(raw), "store_unavailable") {
			t.Errorf("%s %s is answered %d %.300s: %v", one.method, one.path, status, raw, err)
		}
		if strings.Contains(string(raw), "of another node") {
			t.Errorf("%s %s shows what the standby does not have: %.300s", one.method, one.path, raw)
		}
	}
	node.Want(http.StatusOK, http.MethodGet, "/api/health", nil)
	pair.Rejoin()
	for _, one := range asked {
		node.Eventually(fmt.Sprintf("%s %s shows it", one.method, one.path), func() bool {
			status, raw, err := node.Try(one.method, one.path, one.body)
			return err == nil && status == http.StatusOK && strings.Contains(string(raw), "of another node")
		})
	}
}
