package doors

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"sync"
	"testing"

	"harness/internal/runtime"
)

// decider is a client that decides a request. It returns who won by what it got, "" for itself.
type decider func() (winner string, err error)

// FE-80: of 64 deciders on one request, 16 at each of four protocols, one wins, the others learn it, and the agent
// gets one answer.
func TestOneOf64DecidersOfFourProtocolsWins(t *testing.T) {
	t.Parallel()
	s := open(t)
	session := s.NewSession()
	tuis, editors := make([]*socket, 16), make([]*socket, 16)
	for n := range 16 {
		tuis[n], editors[n] = s.tui(fmt.Sprintf("tui-%d", n)), s.editor(fmt.Sprintf("editor-%d", n))
		s.call(tuis[n], "thread/resume", `{"threadId":"`+session+`","excludeTurns":true}`)
		s.call(tuis[n], "thread/items/list", `{"threadId":"`+session+`","limit":100,"sortDirection":"desc"}`)
		s.call(editors[n], "session/resume", `{"sessionId":"`+session+`","cwd":"/"}`)
	}
	turn := s.Say(session, "RUN[echo once >> "+s.Path("ran.txt")+"]")
	asked := s.Asked(session)
	var deciders []decider
	for n := range 16 {
		deciders = append(deciders, s.tuiDecides(tuis[n], asked.ID, n), s.editorDecides(editors[n], asked.ID, n),
			s.restDecides(asked.ID, n), s.rpcDecides(asked.ID, n))
	}
	gate, winners := make(chan struct{}), make([]string, len(deciders))
	var group sync.WaitGroup
	for n, decide := range deciders {
		group.Go(func() {
			<-gate
			var err error
			if winners[n], err = decide(); err != nil {
				t.Errorf("decider %d: %v", n, err)
			}
		})
	}
	close(gate)
	group.Wait()
	s.Ended(session, turn)

	settled, err := s.Site.Request(t.Context(), asked.ID, runtime.RequestApproval)
	if err != nil {
		t.Fatal(err)
	}
	won := 0
	for n, winner := range winners {
		switch winner {
		case "":
			won++
		case settled.DecidedBy, "another": // an editor may learn only that it was another
		default:
			t.Errorf("decider %d learned that %q won, not %q", n, winner, settled.DecidedBy)
		}
	}
	if won != 1 {
		t.Errorf("%d deciders won: %q", won, winners)
	}
	text, err := os.ReadFile(s.Path("ran.txt"))
	if accepted := settled.Reply.Decision == "accept"; accepted && string(text) != "once\n" || !accepted && !os.IsNotExist(err) {
		t.Errorf("after %s the command wrote %q, %v", settled.Reply.Decision, text, err)
	}
}

var byWhom = regexp.MustCompile(`Already \w+ by ([\w-]+)\.`)

// learns reads until a client that decided learns who won. The winner learns it with the end of the request.
func (s *site) learns(c *socket, actor, request string, ended, withdrawn func(f frame) bool) (winner string, err error) {
	over := false
	_, err = c.until(func(f frame) bool {
		if found := byWhom.FindSubmatch(f.Params); found != nil {
			winner = string(found[1])
		} else if withdrawn(f) {
			winner = "another"
		}
		over = over || ended(f)
		return winner != "" || over && s.decidedBy(request) == actor
	})
	return winner, err
}

func (s *site) decidedBy(request string) string {
	settled, err := s.Site.Request(context.Background(), request, runtime.RequestApproval)
	if err != nil {
		s.t.Error(err)
	}
	return settled.DecidedBy
}

// tuiDecides answers the request that a client of codex's app-server is asked.
func (s *site) tuiDecides(c *socket, request string, n int) decider {
	s.t.Helper()
	asked, err := c.until(func(f frame) bool { return f.Method == "item/commandExecution/requestApproval" })
	if err != nil {
		s.t.Fatal(err)
	}
	return func() (winner string, err error) {
		err = c.send(`{"id":` + string(asked.ID) + `,"result":{"decision":"` + []string{"accept", "decline"}[n%2] + `"}}`)
		if err != nil {
			return "", err
		}
		return s.learns(c, fmt.Sprintf("tui-%d", n), request, func(f frame) bool { return f.Method == "turn/completed" },
			func(frame) bool { return false })
	}
}

// editorDecides answers the permission that a client of ACP is asked.
func (s *site) editorDecides(c *socket, request string, n int) decider {
	s.t.Helper()
	asked, err := c.until(func(f frame) bool { return f.Method == "session/request_permission" })
	if err != nil {
		s.t.Fatal(err)
	}
	return func() (winner string, err error) {
		err = c.send(`{"jsonrpc":"2.0","id":` + string(asked.ID) + `,"result":{"outcome":{"outcome":"selected","optionId":"` +
			[]string{"accept", "decline"}[n%2] + `"}}}`)
		if err != nil {
			return "", err
		}
		ended := regexp.MustCompile(`"status":"(completed|failed)"`)
		return s.learns(c, fmt.Sprintf("editor-%d", n), request, func(f frame) bool { return ended.Match(f.Params) },
			func(f frame) bool { return f.Method == "$/cancel_request" })
	}
}

func (s *site) restDecides(request string, n int) decider {
	return func() (string, error) {
		status, answer, err := s.post(fmt.Sprintf("rest-%d", n), "/api/approvals/"+request+"/decision",
			`{"decision":"`+[]string{"accept", "decline"}[n%2]+`"}`)
		if err != nil || status == http.StatusOK {
			return "", err
		}
		var late struct{ Resolution struct{ DecidedBy string } }
		err = json.Unmarshal(answer, &late)
		return late.Resolution.DecidedBy, err
	}
}

func (s *site) rpcDecides(request string, n int) decider {
	return func() (string, error) {
		_, answer, err := s.post(fmt.Sprintf("rpc-%d", n), "/rpc", `{"jsonrpc":"2.0","id":1,"method":"permission/respond",`+
			`"params":{"tool_use_id":"`+request+`","decision":"`+[]string{"allow", "deny"}[n%2]+`"}}`)
		if err != nil {
			return "", err
		}
		var said struct {
			Result struct {
				Success    bool
				Resolution struct {
					DecidedBy string `json:"decided_by"`
				}
			}
		}
		if err = json.Unmarshal(answer, &said); err != nil || said.Result.Success {
			return "", err
		}
		return said.Result.Resolution.DecidedBy, nil
	}
}
