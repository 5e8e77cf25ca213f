package audit_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/platform/database"
	"harness/internal/services/audit"
	"harness/tests/dbtest"
	"harness/tests/polling"
)

// rows reads the rows of requests.
func (s *site) rows() (all []audit.Row) {
	s.t.Helper()
	err := audit.Each(s.t.Context(), s.db.Read(), "", func(row audit.Row) error {
		if row.Kind == audit.KindCall {
			all = append(all, row)
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return all
}

// Each call has a row, and equal calls in a short interval share one row with a count. The rows are sealed with those
// of events, and take no position in the journal.
func TestCallsHaveRows(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s := open(t, db)
		var now atomic.Int64
		now.Store(5000)
		calls := audit.NewRecorder(s, func() time.Time { return time.UnixMilli(now.Load()) }, zerolog.Nop())
		call := audit.Call{Actor: "ann", Role: "operator", SessionID: "s\x00", Protocol: "rest",
			Route: "POST /api/sessions/{sessionId}/archive", Params: `{"sessionId":"s"}`, Outcome: "ok", Status: 200}
		refused := audit.Call{Actor: "anonymous", Protocol: "rest", Route: "POST /api/projects", Outcome: "refused", Status: 401}
		s.act(1)
		before := s.Head()
		for i := range 3 {
			now.Store(5000 + int64(i))
			calls.Record(call, "trace")
		}
		calls.Record(refused, "")
		for range 2 { // the second time there is nothing to write
			if err := calls.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		s.act(1)
		if got := s.Head() - before; got != 2 {
			t.Errorf("the journal has %d events more, want the two that were appended", got)
		}
		rows := s.rows()
		if len(rows) != 2 {
			t.Fatalf("there are %d rows, want 2: %+v", len(rows), rows)
		}
		found := map[string]string{}
		for _, row := range rows {
			found[row.Actor] = row.Role + " " + string(row.Detail)
			if row.Pos != before {
				t.Errorf("the row has position %d, want %d", row.Pos, before)
			}
		}
		if want := `operator {"protocol":"rest","route":"POST /api/sessions/{sessionId}/archive","params":{"sessionId":"s"},` +
			`"status":200,"outcome":"ok","count":3,"first_at":5000,"trace_id":"trace"}`; found["ann"] != want {
			t.Errorf("the row is %s\nwant       %s", found["ann"], want)
		}
		if want := ` {"protocol":"rest","route":"POST /api/projects","status":401,"outcome":"refused"}`; found["anonymous"] != want {
			t.Errorf("the row is %s\nwant       %s", found["anonymous"], want)
		}
		if v := s.verify(); len(v.Faults) > 0 || v.Rows != 4 {
			t.Errorf("the log is not whole: %+v", v)
		}
	})
}

// Rows are written soon without a flush; calls within a second after an equal call wait until that second is over.
func TestRowsAreWrittenTogether(t *testing.T) {
	s := open(t, dbtest.Open(t, database.SQLite))
	var now atomic.Int64
	calls := audit.NewRecorder(s, func() time.Time { return time.UnixMilli(now.Load()) }, zerolog.Nop())
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		calls.Run(ctx)
	}()
	call := audit.Call{Actor: "ci", Protocol: "rest", Route: "POST /api/sessions/{sessionId}/transcript/upsert", Outcome: "ok"}
	await := func(n int) {
		t.Helper()
		if !polling.Until(10*time.Second, func() bool { return len(s.rows()) == n }) {
			t.Fatalf("there are %d rows, want %d", len(s.rows()), n)
		}
	}
	calls.Record(call, "")
	await(1)
	for range 50 {
		calls.Record(call, "")
	}
	other := call
	other.SessionID = "another"
	calls.Record(other, "")
	await(2) // only the different call; the 50 equal ones wait
	now.Store(1001)
	await(3)
	calls.Record(call, "")
	end()
	<-ended
	if err := calls.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	rows := s.rows()
	var detail struct{ Count int }
	if len(rows) != 4 || json.Unmarshal(rows[2].Detail, &detail) != nil || detail.Count != 50 {
		t.Errorf("the rows are %+v", rows)
	}
}

// A flood of different calls is bounded: beyond the bound they are recorded without their distinguishing fields.
func TestCallsThatWaitAreBounded(t *testing.T) {
	s := open(t, dbtest.Open(t, database.SQLite))
	calls := audit.NewRecorder(s, nil, zerolog.Nop())
	const flood = 10_000
	for i := range flood {
		calls.Record(audit.Call{Actor: "ann", Protocol: "rest", Route: "POST /x/{id}", Outcome: "ok",
			Params: `{"id":"` + strings.Repeat("x", i%7) + time.Duration(i).String() + `"}`}, "")
	}
	if err := calls.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	total, rows := 0, s.rows()
	for _, row := range rows {
		var detail struct{ Count int }
		if err := json.Unmarshal(row.Detail, &detail); err != nil {
			t.Fatal(err)
		}
		total += max(detail.Count, 1)
	}
	if total != flood || len(rows) > 4097 {
		t.Errorf("%d calls are recorded in %d rows, want %d in 4097 at most", total, len(rows), flood)
	}
}
