package manager

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/internal/services/session"
	"harness/internal/services/session/entryof"
	"harness/internal/services/session/store"
	"harness/stream"
)

// askToEdit makes the runtime ask for a file change, in the request itself or in an item sent before it.
func (k *kit) askToEdit(s session.Session, turnID string, n int, inItem bool, params string, paths ...string) session.Request {
	k.t.Helper()
	var edits []wire.FileEdit
	for _, path := range paths {
		edits = append(edits, wire.FileEdit{Path: path, Kind: "update"})
	}
	id, item := json.RawMessage(fmt.Sprint(n)), fmt.Sprint("edit-", n)
	signal := wire.ApproveFileChange(id, wire.Asking{Place: wire.Place{ThreadID: s.ID, TurnID: turnID}, ItemID: item},
		edits, nil)
	if inItem {
		k.fake.emit(wire.ItemStarted(wire.Place{ThreadID: s.ID, TurnID: turnID}, wire.FileChange(item, "inProgress", edits...), 1))
		params = `{"threadId":"` + s.ID + `","turnId":"` + turnID + `","itemId":"` + item + `","grantRoot":null}`
	}
	if params != "" {
		signal.Params = json.RawMessage(params)
	}
	k.fake.emit(signal)
	k.flush()
	events := k.events(stream.EventRequest)
	request, err := store.ReadRequest(k.t.Context(), k.db.Read(), metaOf(k.t, events[len(events)-1]).Request.ID,
		runtime.RequestApproval)
	k.do(err)
	return request.Request
}

// In a session that accepts edits, file changes that its sandbox allows are approved together with the request. The
// actor is the mode, and every client can read the approval. Other requests still wait for a user. The mode belongs to
// the session: it survives a restart, and ends with the session's approval policy.
func TestEditsAreAccepted(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		folder, elsewhere := t.TempDir(), t.TempDir()
		for from, to := range map[string]string{"out": elsewhere, "lost": filepath.Join(elsewhere, "nothing"),
			"in": folder} {
			k.do(os.Symlink(to, filepath.Join(folder, from)))
		}
		policy, sandbox := session.PolicyOnRequest, "workspace-write"
		s, err := k.Create(t.Context(), session.Create{Cwd: folder, ApprovalPolicy: &policy, FilesystemSandbox: &sandbox,
			AcceptEdits: true})
		k.do(err)
		turnID := k.send(s.ID)
		n := 0
		check := func(k *kit, what string, accepted bool, request session.Request) {
			t.Helper()
			want := session.RequestPending
			if accepted {
				want = session.RequestResolved
				k.eventually("the runtime gets the answer", func() bool { return k.deliveredAt(request.ID) != 0 })
				if request.DecidedBy != session.DecidedByAcceptEdits || request.Reply == nil || request.Reply.Decision != "accept" ||
					request.Reply.Scope != "turn" {
					t.Errorf("%s: %+v", what, request)
				}
			}
			if request.Status != want {
				t.Errorf("%s is %s, want %s", what, request.Status, want)
			}
		}
		for _, one := range []struct {
			what     string
			accepted bool
			paths    []string
		}{
			{"a file of the session's folder", true, []string{filepath.Join(folder, "a.go")}},
			{"one in a folder that is not there yet", true, []string{"new/deep/b.go"}},
			{"one through a link that stays", true, []string{"in/c.go"}},
			{"one beside the folder", false, []string{folder + "-beside/a.go"}},
			{"one of another folder", false, []string{filepath.Join(elsewhere, "a.go")}},
			{"one that climbs", false, []string{"../a.go"}},
			{"one of two", false, []string{"a.go", "/etc/passwd"}},
			{"one through a link that leaves", false, []string{"out/a.go"}},
			{"one through a link that leads nowhere", false, []string{"lost"}},
			{"a hidden one", false, []string{".git/hooks/pre-commit"}},
			{"the folder", false, []string{"."}},
			{"none", false, nil},
		} {
			for _, inItem := range []bool{false, true} {
				n++
				check(k, fmt.Sprint(one.what, ", in its item ", inItem), one.accepted,
					k.askToEdit(s, turnID, n, inItem, "", one.paths...))
			}
		}
		for what, params := range map[string]string{
			"more than a change": `{"changes":[{"path":"a.go"}],"grantRoot":"` + folder + `"}`,
			"a move out":         `{"changes":[{"path":"a.go","kind":{"type":"update","move_path":"/etc/a.go"}}]}`,
			"an old form":        `{"fileChanges":{"a.go":{}}}`,
		} {
			n++
			check(k, what, false, k.askToEdit(s, turnID, n, false, params))
		}
		n++
		k.fake.ask(s.ID, turnID, n, runtime.RequestApproval, wire.MethodApproveCommand, `{"command":"touch a.go"}`)
		if pending := k.pending(s.ID, runtime.RequestApproval); pending[len(pending)-1].Method != wire.MethodApproveCommand {
			t.Error("a command is not asked about")
		}

		n++
		request := k.askToEdit(s, turnID, n, false, "", "answered.go")
		events := k.events(entryof.EventApprovalResolved)
		last := events[len(events)-1]
		if asked := k.events(stream.EventRequest); last.Actor != session.DecidedByAcceptEdits || last.Pos <= asked[len(asked)-1].Pos ||
			string(last.Payload) != `{"approvalId":"`+request.ID+`","status":"resolved","decision":"accept",`+
				`"scope":"turn","decidedBy":"mode:acceptEdits"}` {
			t.Errorf("published by %s at %d: %s", last.Actor, last.Pos, last.Payload)
		}
		entries := k.stored(s.ID)
		if entry := entries[len(entries)-1]; entry.Type != "approval.resolved" || entry.Content != "Approval resolved (accept)" {
			t.Errorf("its entry is %+v", entry)
		}

		k = k.reopenKnown()
		turnID = k.send(s.ID)
		check(k, "after a restart", true, k.askToEdit(s, turnID, 1, true, "", "a.go"))
		edit := func(change func(session.Controls) session.Controls) {
			t.Helper()
			_, err := k.EditControls(t.Context(), s.ID, session.ControlEdit{Edit: change})
			k.do(err)
		}
		edit(func(c session.Controls) session.Controls { c.FilesystemSandbox = "read-only"; return c })
		check(k, "read-only", false, k.askToEdit(s, turnID, 2, true, "", "a.go"))
		edit(func(c session.Controls) session.Controls { return c.WithSandbox(session.SandboxFullAccess) })
		check(k, "without a sandbox", true, k.askToEdit(s, turnID, 3, true, "", "/etc/a.conf"))
		edit(func(c session.Controls) session.Controls { c.ApprovalPolicy = "untrusted"; return c })
		edit(func(c session.Controls) session.Controls { c.ApprovalPolicy = session.PolicyOnRequest; return c })
		check(k, "after another policy", false, k.askToEdit(s, turnID, 4, true, "", "a.go"))
		controls, _, err := k.Controls(t.Context(), s.ID)
		if err != nil || controls.AcceptEdits {
			t.Errorf("%+v, %v", controls, err)
		}
	})
}

// The server died after it accepted an edit and before it sent the answer. It sends the answer to the runtime when it
// attaches again.
func TestAcceptedEditIsDeliveredAfterRestart(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		policy, sandbox := session.PolicyOnRequest, session.SandboxFullAccess
		s, err := k.Create(t.Context(), session.Create{ApprovalPolicy: &policy, FilesystemSandbox: &sandbox, AcceptEdits: true})
		k.do(err)
		turnID := k.send(s.ID)
		k.fake.mu.Lock()
		k.fake.answerErr = runtime.ErrUnavailable
		k.fake.mu.Unlock()
		request := k.askToEdit(s, turnID, 1, true, "", "a.go")
		k.eventually("it is refused", k.answersTo(1))
		generation := k.fake.generation
		k.close()
		k = open(t, k.db, k.opts.NodeID, generation)
		k.eventually("the runtime gets the answer", func() bool { return k.deliveredAt(request.ID) != 0 })
		_, answers := k.fake.seen()
		if !slices.EqualFunc(answers, []string{"accept"}, func(r runtime.Reply, want string) bool { return r.Decision == want }) {
			t.Errorf("delivered %+v", answers)
		}
	})
}
