package manager

import (
	"errors"
	"slices"
	"testing"
	"time"

	"harness/internal/runtime"
	"harness/internal/services/session"
)

// A stop returns when the turn has ended. A message sent in between waits for that, and starts a new turn.
func TestAMessageAfterAStopIsNoPartOfTheStoppedTurn(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		k.fake.deaf = true
		first := k.send(s.ID)
		stopped, sent := make(chan error, 1), make(chan string, 1)
		go func() {
			_, err := k.Interrupt(t.Context(), s.ID, "")
			stopped <- err
		}()
		k.eventually("the runtime is asked to end the turn", func() bool { return k.index.IsStopping(s.ID) })
		if err := k.Steer(t.Context(), s.ID, first, "more"); !errors.Is(err, session.ErrNoActiveTurn) {
			t.Errorf("steer a turn that is being stopped: %v", err)
		}
		go func() {
			turn, err := turnOf(k.Send(t.Context(), s.ID, session.Message{Text: "hi"}))
			if err != nil {
				t.Error(err)
			}
			sent <- turn
		}()
		k.eventually("the message waits", func() bool { return k.locks.Users()[s.ID] == 2 })
		select {
		case err := <-stopped:
			t.Fatalf("the stop answered %v while the turn ran", err)
		case turn := <-sent:
			t.Fatalf("the message is turn %s while the turn is being stopped", turn)
		default:
		}
		k.fake.end(s.ID, first, runtime.TurnInterrupted)
		k.do(<-stopped)
		if second := <-sent; second == first || k.turn(s.ID, first).Status != runtime.TurnInterrupted {
			t.Errorf("the message is turn %s, the stopped one %+v", second, k.turn(s.ID, first))
		}
	})
}

// RA-34: a stop that comes while a message is being sent ends the turn of that message.
func TestAStopComesBeforeItsTurn(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		for name, stop := range map[string]func(sessionID string) (string, error){
			"interrupt": func(id string) (string, error) { return k.Interrupt(t.Context(), id, "") },
			"stop": func(id string) (string, error) {
				stopped, err := k.StopSession(t.Context(), id, false)
				return stopped.TurnID, err
			},
		} {
			s := k.create()
			stopped := make(chan string, 1)
			k.fake.onTurn = func(in runtime.StartTurn, turnID string) (runtime.StartedTurn, error) {
				go func() {
					turn, err := stop(in.ThreadID)
					if err != nil {
						t.Errorf("%s: %v", name, err)
					}
					stopped <- turn
				}()
				k.eventually("the stop waits", func() bool { return k.locks.Users()[s.ID] == 2 || len(stopped) == 1 })
				return runtime.StartedTurn{TurnID: turnID}, nil
			}
			sent := k.send(s.ID)
			if turn := <-stopped; turn != sent || k.turn(s.ID, sent).Status != runtime.TurnInterrupted {
				t.Errorf("%s: stopped is turn %q, want %q: %+v", name, turn, sent, k.turn(s.ID, sent))
			}
		}
	})
}

// Two concurrent stops both return when the turn has ended.
func TestTwoStopsAtOnce(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		k.fake.deaf = true
		turn := k.send(s.ID)
		stopped := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := k.Interrupt(t.Context(), s.ID, turn)
				stopped <- err
			}()
		}
		k.eventually("both are under way", func() bool { return k.index.IsStopping(s.ID) && k.locks.Users()[s.ID] == 2 })
		k.fake.end(s.ID, turn, runtime.TurnInterrupted)
		if err := errors.Join(<-stopped, <-stopped); err != nil {
			t.Error(err)
		}
	})
}

// If an agent does not end its turn, its process is ended, unless it also runs turns of other sessions.
func TestAnAgentThatDoesNotStop(t *testing.T) {
	eachPair(t, func(t *testing.T, p pair) {
		p.stopPatience = 20 * time.Millisecond
		p.other.deaf, p.fake.deaf = true, true
		alone, beside := p.session("a"), p.session("b")
		turn := p.send(alone.ID)
		p.send(beside.ID)
		if _, err := p.Interrupt(t.Context(), alone.ID, ""); err != nil {
			t.Fatal(err)
		}
		if ended := p.turn(alone.ID, turn); ended.Status != runtime.TurnInterrupted || !slices.Equal(p.other.ended, []string{alone.ID}) {
			t.Errorf("its turn is %+v, ended were %v", ended, p.other.ended)
		}
		if p.running(beside) == "" {
			t.Error("the turn of another session ended with it")
		}
		one, other := p.create(), p.create()
		p.send(one.ID)
		second := p.send(other.ID)
		var runs *session.NotStoppedError
		if _, err := p.Interrupt(t.Context(), one.ID, ""); !errors.As(err, &runs) || runs.Others != 1 || len(p.fake.ended) > 0 {
			t.Errorf("in a process that others use: %v, ended were %v", err, p.fake.ended)
		}
		p.fake.end(other.ID, second, runtime.TurnDone)
		if _, err := p.Interrupt(t.Context(), one.ID, ""); err != nil || !slices.Equal(p.fake.ended, []string{one.ID}) {
			t.Errorf("in a process that others use no more: %v, ended were %v", err, p.fake.ended)
		}
	})
}
