package manager

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
	"harness/tests/dbtest"
	"harness/tests/lifecycletest"
	"harness/tests/runtimetest/scripted"
)

func TestMain(m *testing.M) { scripted.Main(m) }

// openScripted opens a kit with two runtimes: a fake, and a real process with a folder.
func openScripted(t *testing.T, db *database.DB) (k *kit, dir string) {
	t.Helper()
	dir = t.TempDir()
	options := scripted.Site{Dir: dir}.Options(t)
	options.Sink = func(batch runtime.Batch) { k.Sink(scripted.Name)(batch) }
	options.Resume = func(context.Context, string) (runtime.Resumption, error) { return runtime.Resumption{}, nil }
	agent := scripted.New(options)
	k = openWith(t, db, "node", func(o *Options) { o.Runtimes.Adapters = append(o.Runtimes.Adapters, agent) })
	lifecycletest.Run(t, agent)
	return k, dir
}

// scripted opens a session of the scripted agent.
func (k *kit) scripted() session.Session {
	k.t.Helper()
	network, sandbox := "enabled", "danger-full-access"
	own, err := k.Create(k.t.Context(),
		session.Create{Runtime: scripted.Name, NetworkAccess: &network, FilesystemSandbox: &sandbox})
	k.do(err)
	return own
}

// An agent's request for another session, for a deleted one or for none is refused, and the agent's turn continues. No
// client is asked, and only an agent's own requests change its session.
func TestAStrangeRequestIsAnswered(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		k, _ := openScripted(t, db)
		own := k.scripted()
		foreign := k.create()
		gone := k.create()
		_, err := k.Delete(t.Context(), gone.ID)
		k.do(err)
		for _, named := range []string{foreign.ID, gone.ID} {
			turnID, err := turnOf(k.Send(t.Context(), own.ID, session.Message{Text: "STRAY[" + named + "]"}))
			k.do(err)
			k.eventually("the turn goes on", func() bool { return k.turn(own.ID, turnID).Status == runtime.TurnDone })
			var said string
			for _, entry := range k.stored(own.ID) {
				if entry.TurnID == turnID && entry.Role == "assistant" {
					said = entry.Content
				}
			}
			if !strings.HasPrefix(said, "then not: ") {
				t.Errorf("it received %q", said)
			}
			if entries, asked := k.stored(named), k.pending(named, runtime.RequestApproval); len(entries)+len(asked) != 0 {
				t.Errorf("a session of another runtime holds %+v, asked %+v", entries, asked)
			}
		}
		if refused := k.events(eventRuntimeRefused); len(refused) == 0 {
			t.Error("the journal does not say what was refused")
		}
	})
}

// An agent whose names are too long for the store gets them back in full, from every adapter.
func TestLongNamesAreGivenBack(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		k, dir := openScripted(t, db)
		k.do(os.WriteFile(filepath.Join(dir, scripted.LongIDs), nil, 0o600))
		own := k.scripted()
		ends := func(text string, meanwhile func(turnID string)) store.Turn {
			t.Helper()
			turnID, err := turnOf(k.Send(t.Context(), own.ID, session.Message{Text: text}))
			k.do(err)
			if !runtime.StandsForLonger(turnID) {
				t.Fatalf("the turn is known by %q", turnID)
			}
			meanwhile(turnID)
			k.eventually("the turn ends", func() bool { return k.turn(own.ID, turnID).Status != runtime.TurnInProgress })
			return k.turn(own.ID, turnID)
		}
		interrupt := func(turnID string) {
			k.eventually("the turn is known to run", func() bool {
				return k.turn(own.ID, turnID).Status == runtime.TurnInProgress
			})
			_, err := k.Interrupt(t.Context(), own.ID, turnID)
			k.do(err)
		}
		if turn := ends("HOLD[a]", interrupt); turn.Status != runtime.TurnInterrupted {
			t.Errorf("the turn that was interrupted ended %s", turn.Status)
		}
		turn := ends("RUN[true]", func(string) {
			k.eventually("it asks", func() bool { return len(k.pending(own.ID, runtime.RequestApproval)) == 1 })
			_, err := k.Settle(t.Context(), k.pending(own.ID, runtime.RequestApproval)[0].ID, runtime.RequestApproval,
				runtime.Reply{Decision: "accept"}, "")
			k.do(err)
		})
		if turn.Status != runtime.TurnDone {
			t.Errorf("the turn that asked ended %s", turn.Status)
		}
	})
}
