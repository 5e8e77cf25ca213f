package access

import (
	"encoding/json"
	"net/http"
	"sync"
	"testing"

	"harness/internal/platform/database"
	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// SE-10, SE-11: of 64 deciders on one approval one wins, the others get the winner's name, and the runtime
// gets exactly one answer.
func TestOneOf64DecidersWins(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			s := programtest.New(t, programtest.WithEngine(engine), programtest.WithRaceDetector(database.SQLite))
			server := s.Start()
			session := server.CreateSession(programtest.Object{"approvalPolicy": "untrusted"})
			events := server.Follow("threadId=" + session)
			turn := server.Send(session, "MOCK_CMD[echo once >> ran.txt]")
			id := programtest.Text(events.WaitType("approval").Decoded(), "approvalId")

			type outcome struct {
				status int
				body   []byte
				err    error
			}
			outcomes := make(chan outcome, 64)
			gate := make(chan struct{})
			var group sync.WaitGroup
			for n := range 64 {
				decision := []string{"accept", "decline"}[n%2]
				group.Go(func() {
					<-gate
					status, body, err := server.Try(http.MethodPost, "/api/approvals/"+id+"/decision", programtest.Object{"decision": decision})
					outcomes <- outcome{status, body, err}
				})
			}
			close(gate)
			group.Wait()
			close(outcomes)

			winners, answers := 0, map[string]int{}
			for out := range outcomes {
				if out.err != nil {
					t.Fatal(out.err)
				}
				if out.status == http.StatusOK {
					winners++
					continue
				}
				var body struct {
					Resolution struct{ Status, Decision, DecidedBy string }
				}
				if err := json.Unmarshal(out.body, &body); err != nil || out.status != http.StatusNotFound {
					t.Fatalf("a loser got %d %s", out.status, out.body)
				}
				answers[body.Resolution.Status+" "+body.Resolution.Decision+" by "+body.Resolution.DecidedBy]++
			}
			if winners != 1 || len(answers) != 1 {
				t.Fatalf("%d winners; losers got %v", winners, answers)
			}
			resolved := events.WaitType("approval_resolved").Decoded()
			if want := "resolved " + programtest.Text(resolved, "decision") + " by local"; answers[want] != 63 {
				t.Errorf("losers got %v, want 63 times %q", answers, want)
			}
			if status := events.WaitTurn(turn); status != "completed" {
				t.Errorf("the turn ended %s", status)
			}
			if outputs := s.Model.Outputs(); len(outputs) != 1 {
				t.Errorf("the model saw %d outcomes of the command: %v", len(outputs), outputs)
			}
			again := 0
			for _, f := range events.All() {
				if f.Type == "approval_resolved" {
					again++
				}
			}
			if again != 1 {
				t.Errorf("announced %d times", again)
			}
		})
	}
}
