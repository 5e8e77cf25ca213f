package manager

import (
	"testing"

	"harness/internal/lib/ids"
	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
	"harness/stream"
)

// RA-18: a session without a user declines each request immediately and answers the runtime, even if the server died
// in between. A client's tool is called as usual. Every other session asks its user, with any policy.
func TestWhatIsAskedIsDeclinedWithoutAPerson(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s, err := k.Create(t.Context(), session.Create{NonInteractive: true})
		k.do(err)
		n := 0
		ask := func(k *kit, kind runtime.RequestKind, method string) session.Request {
			n++
			k.fake.ask(s.ID, k.send(s.ID), n, kind, method, `{}`)
			k.flush()
			events := k.events(stream.EventRequest)
			request, err := store.ReadRequest(t.Context(), k.db.Read(), metaOf(t, events[len(events)-1]).Request.ID, kind)
			k.do(err)
			return request.Request
		}
		refused := func(request session.Request) {
			t.Helper()
			if request.Status != session.RequestResolved || request.DecidedBy != session.DecidedByNonInteractive || request.Reply == nil ||
				request.Reply.Decision != "decline" {
				t.Errorf("it is %+v", request)
			}
		}
		question := ask(k, runtime.RequestToolInput, wire.MethodAskUser)
		refused(question)
		k.eventually("the runtime is answered", func() bool { return k.deliveredAt(question.ID) != 0 })
		if entries := k.stored(s.ID); entries[len(entries)-1].Details == nil {
			t.Errorf("the transcript ends with %+v", entries[len(entries)-1])
		}
		if call := ask(k, runtime.RequestToolCall, wire.MethodCallTool); call.Status != session.RequestPending {
			t.Errorf("a client's tool is %+v", call)
		}

		k.fake.mu.Lock()
		k.fake.answerErr = runtime.ErrUnavailable
		k.fake.mu.Unlock()
		question = ask(k, runtime.RequestToolInput, wire.MethodElicit)
		refused(question)
		k.eventually("it is not answered", k.answersTo(2))
		generation := k.fake.generation
		k.close()
		k = open(t, k.db, k.opts.NodeID, generation)
		k.eventually("the runtime is answered after a restart", func() bool { return k.deliveredAt(question.ID) != 0 })

		if approval := ask(k, runtime.RequestApproval, wire.MethodApproveCommand); approval.Status != session.RequestResolved ||
			approval.DecidedBy != session.DecidedByNonInteractive {
			t.Errorf("an approval is %+v", approval)
		}
		never := "never"
		s, err = k.Create(t.Context(), session.Create{ApprovalPolicy: &never})
		k.do(err)
		if question := ask(k, runtime.RequestToolInput, wire.MethodAskUser); question.Status != session.RequestPending {
			t.Errorf("with a person it is %+v", question)
		}
	})
}

// RA-18: a fork of a session without a user has no user either, and has the controls of its source. A fork of any
// other session has the controls that codex-manager gives one.
func TestAForkHasNoPersonToAskEither(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		fork := func(of session.Session) session.Session {
			id := ids.New()
			k.fake.notify(id, "", "thread/started", nil)
			k.flush()
			made, err := k.Service.Conversations.forked(t.Context(), of.ID, runtime.Thread{ID: id})
			k.do(err)
			return made
		}
		full := "danger-full-access"
		alone, err := k.Create(t.Context(), session.Create{NonInteractive: true, FilesystemSandbox: &full})
		k.do(err)
		attended, err := k.Create(t.Context(), session.Create{FilesystemSandbox: &full})
		k.do(err)
		if made := fork(alone); !made.Controls.Equal(alone.Controls) {
			t.Errorf("a fork of %+v has %+v", alone.Controls, made.Controls)
		}
		if made := fork(attended); made.Controls.NonInteractive || made.Controls.Equal(attended.Controls) {
			t.Errorf("a fork of a session with a person has %+v", made.Controls)
		}
	})
}
