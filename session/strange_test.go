package session

import (
	"context"
	"os"
	"strings"
	"testing"

	"harness/database"
	"harness/internal/dbtest"
	"harness/runtime"
	"harness/runtime/runtimetest/scripted"
)

func TestMain(m *testing.M) {
	if !scripted.Play() {
		os.Exit(m.Run())
	}
}

// openScripted is a kit with a second runtime that is a real process, and the first one a fake.
func openScripted(t *testing.T, db *database.DB) *kit {
	t.Helper()
	var k *kit
	options := scripted.Site{Dir: t.TempDir()}.Options(t)
	options.Sink = func(batch runtime.Batch) { k.Sink(scripted.Name)(batch) }
	options.Resume = func(context.Context, string) (runtime.Resumption, error) { return runtime.Resumption{}, nil }
	agent := scripted.New(options)
	k = openWith(t, db, "node", func(o *Options) { o.Runtimes = append(o.Runtimes, agent) })
	k.do(agent.Start(t.Context()))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := agent.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return k
}

// An agent that asks in the name of a session that is not its own, of a deleted one or of none is told no, and its turn goes on; nobody is
// asked, and no session is changed but by its own words.
func TestAStrangeRequestIsAnswered(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		k := openScripted(t, db)
		network, sandbox := "enabled", "danger-full-access"
		own, err := k.Create(t.Context(), Create{Runtime: scripted.Name, NetworkAccess: &network, FilesystemSandbox: &sandbox})
		k.do(err)
		foreign := k.create()
		gone := k.create()
		_, err = k.Delete(t.Context(), gone.ID)
		k.do(err)
		for _, named := range []string{foreign.ID, gone.ID} {
			turnID, err := k.Send(t.Context(), own.ID, Message{Text: "STRAY[" + named + "]"})
			k.do(err)
			k.eventually("the turn goes on", func() bool { return k.turn(own.ID, turnID).status == runtime.TurnDone })
			var said string
			for _, entry := range k.stored(own.ID) {
				if entry.TurnID == turnID && entry.Role == "assistant" {
					said = entry.Content
				}
			}
			if !strings.HasPrefix(said, "then not: ") {
				t.Errorf("it was told %q", said)
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
