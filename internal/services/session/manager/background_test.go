package manager

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/tests/dbtest"
	"harness/transcript"
)

func (f *fake) ListBackground(_ context.Context, in runtime.ResumeThread) ([]runtime.BackgroundTask, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.late {
		return nil, nil
	}
	return slices.Clone(f.background[in.ThreadID]), nil
}

func (f *fake) EndBackground(_ context.Context, in runtime.ResumeThread, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if id == f.stuck {
		return &runtime.UnsupportedError{Runtime: f.Name(), Operation: runtime.OpTerminals}
	}
	tasks := f.background[in.ThreadID]
	left := slices.DeleteFunc(slices.Clone(tasks), func(one runtime.BackgroundTask) bool { return one.ID == id })
	if f.late || len(left) == len(tasks) {
		return runtime.ErrNoBackground
	}
	f.background[in.ThreadID] = left
	return nil
}

// works makes commands run in the background of a session from now on.
func (f *fake) works(sessionID string, ids ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.background == nil {
		f.background = map[string][]runtime.BackgroundTask{}
	}
	for _, id := range ids {
		f.background[sessionID] = append(f.background[sessionID], runtime.BackgroundTask{ID: id, Kind: runtime.BackgroundCommand,
			Command: "sleep " + id, CanEnd: true})
	}
}

func idsOf(tasks []session.BackgroundTask) (ids []string) {
	for _, task := range tasks {
		ids = append(ids, task.ID)
	}
	slices.Sort(ids)
	return ids
}

// working returns the ids of the background work that a session shows.
func (k *kit) working(sessionID string) []string {
	k.t.Helper()
	shown, err := k.Shown(k.t.Context(), sessionID)
	k.do(err)
	return idsOf(shown.Activity.Background)
}

// Work that a turn leaves running shows in the session with the turn and its start time. One event reports each
// change.
func TestBackgroundWorkShows(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		turnID := k.send(s.ID)
		k.fake.works(s.ID, "1")
		k.end(s.ID, turnID)
		k.eventually("the background work shows", func() bool { return slices.Equal(k.working(s.ID), []string{"1"}) })
		shown, err := k.Shown(t.Context(), s.ID)
		k.do(err)
		task := shown.Activity.Background[0]
		if task.TurnID != turnID || task.StartedAt == 0 || task.Command != "sleep 1" || !task.CanEnd {
			t.Errorf("the task is %+v", task)
		}
		if shown.Activity.State != session.StateIdle {
			t.Errorf("the session is %s", shown.Activity.State)
		}
		k.fake.emit(runtime.Signal{Kind: runtime.SignalNotification, ThreadID: s.ID, Change: runtime.BackgroundChanged{
			Tasks: []runtime.BackgroundTask{{ID: "1", Kind: runtime.BackgroundCommand, Command: "sleep 1", CanEnd: true}}}})
		k.flush()
		k.fake.emit(runtime.Signal{Kind: runtime.SignalNotification, ThreadID: s.ID, Change: runtime.BackgroundChanged{}})
		k.flush()
		if left := k.working(s.ID); left != nil {
			t.Errorf("%v still shows", left)
		}
		events := k.events(session.EventBackground)
		if len(events) != 2 {
			t.Fatalf("%d events", len(events))
		}
		var said struct {
			Activity struct {
				Turn       *string
				Background []struct{ ID, Command, StartedAt, TurnID string }
			}
		}
		k.do(json.Unmarshal(events[0].Payload, &said))
		if now := said.Activity; len(now.Background) != 1 || now.Background[0].TurnID != turnID || now.Turn != nil {
			t.Errorf("the event says %s", events[0].Payload)
		}
	})
}

// A stop ends the work that its turn started and reports the work that continues; work to keep continues.
func TestAStopEndsWhatItsTurnBegan(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		first := k.send(s.ID)
		k.fake.works(s.ID, "1")
		k.end(s.ID, first)
		k.eventually("the first turn's work shows", func() bool { return len(k.working(s.ID)) == 1 })
		second := k.send(s.ID)
		k.fake.works(s.ID, "2")
		stopped, err := k.StopTurn(t.Context(), s.ID, "", false)
		k.do(err)
		if stopped.TurnID != second || !slices.Equal(idsOf(stopped.Ended), []string{"2"}) ||
			!slices.Equal(idsOf(stopped.GoesOn), []string{"1"}) {
			t.Errorf("the stop says %+v", stopped)
		}
		k.send(s.ID)
		k.fake.works(s.ID, "3")
		stopped, err = k.StopTurn(t.Context(), s.ID, "", true)
		k.do(err)
		if stopped.Ended != nil || !slices.Equal(idsOf(stopped.GoesOn), []string{"1", "3"}) {
			t.Errorf("the stop that keeps says %+v", stopped)
		}
		if _, err := k.StopTurn(t.Context(), s.ID, "", false); !errors.Is(err, session.ErrNoActiveTurn) {
			t.Errorf("a stop without a turn: %v", err)
		}
	})
}

// A stopped agent does not continue by itself until it receives a message.
func TestAStoppedAgentDoesNotGoOnByItself(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		wakes := func(turnID string) {
			k.fake.notify(s.ID, turnID, "turn/started", runtime.TurnStarted{TurnID: turnID, Own: true})
		}
		k.send(s.ID)
		_, err := k.StopTurn(t.Context(), s.ID, "", false)
		k.do(err)
		wakes("own-1")
		k.eventually("the turn it began is stopped", func() bool {
			return k.turn(s.ID, "own-1").Status == runtime.TurnInterrupted && slices.ContainsFunc(k.stored(s.ID), func(e transcript.Entry) bool {
				return e.Type == "turn.quiet" && e.TurnID == "own-1"
			})
		})
		k.end(s.ID, k.send(s.ID))
		wakes("own-2")
		k.flush()
		if turn := k.turn(s.ID, "own-2"); turn.Status != runtime.TurnInProgress {
			t.Errorf("after a message its own turn is %s", turn.Status)
		}
	})
}

// Background work can be ended one task at a time or all at once.
func TestBackgroundWorkIsEnded(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		k.fake.works(s.ID, "1", "2", "3")
		k.end(s.ID, k.send(s.ID))
		k.do(k.EndBackground(t.Context(), s.ID, "2"))
		if left := k.working(s.ID); !slices.Equal(left, []string{"1", "3"}) {
			t.Errorf("%v is left", left)
		}
		if err := k.EndBackground(t.Context(), s.ID, "2"); !errors.Is(err, runtime.ErrNoBackground) {
			t.Errorf("again: %v", err)
		}
		k.fake.stuck = "3"
		ended, err := k.EndAllBackground(t.Context(), s.ID)
		if !errors.Is(err, runtime.ErrUnsupported) || !slices.Equal(idsOf(ended), []string{"1"}) {
			t.Errorf("with one that stays: %v, %v", idsOf(ended), err)
		}
		k.fake.stuck = ""
		ended, err = k.EndAllBackground(t.Context(), s.ID)
		k.do(err)
		if left := k.working(s.ID); !slices.Equal(idsOf(ended), []string{"3"}) || left != nil {
			t.Errorf("ended %v, left %v", idsOf(ended), left)
		}
		if err := k.EndBackground(t.Context(), "nobody", "1"); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("an unknown session: %v", err)
		}
	})
}

// A task that its runtime cannot place belongs to the session that had a turn when the task started. It does not while
// that turn runs. If two sessions had a turn in the same folder, the task shows in both, and cannot be ended.
func TestATaskThatItsRuntimeCannotPlace(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		one, other := k.create(), k.create()
		begins := func(id string) {
			for _, s := range []session.Session{one, other} {
				k.fake.works(s.ID, id)
				k.fake.mu.Lock()
				task := &k.fake.background[s.ID][len(k.fake.background[s.ID])-1]
				task.Found, task.Shared, task.Dir, task.StartedAt = true, true, s.Cwd, time.Now().UnixMilli()
				k.fake.mu.Unlock()
			}
		}
		lists := func(s session.Session) []session.BackgroundTask {
			tasks, err := k.Background(t.Context(), s.ID)
			k.do(err)
			return tasks
		}
		ends := func(sessionID, turn string) { // like runtimes, in whole seconds
			k.fake.notify(sessionID, turn, "turn/completed", runtime.TurnCompleted{TurnID: turn, Status: runtime.TurnDone,
				CompletedAt: time.Now().Add(-900 * time.Millisecond).UnixMilli()})
			k.flush()
		}
		turn := k.send(one.ID)
		begins("1")
		if tasks := lists(one); tasks != nil {
			t.Errorf("while its turn runs: %+v", tasks)
		}
		ends(one.ID, turn)
		if tasks := lists(one); len(tasks) != 1 || !tasks[0].CanEnd || tasks[0].TurnID != turn {
			t.Errorf("the session of the turn has %+v", tasks)
		}
		if tasks := lists(other); tasks != nil {
			t.Errorf("the other one has %+v", tasks)
		}
		turns := map[string]string{one.ID: k.send(one.ID), other.ID: k.send(other.ID)}
		begins("2")
		for id, turn := range turns {
			ends(id, turn)
		}
		for _, s := range []session.Session{one, other} {
			tasks := lists(s)
			if len(tasks) == 0 || tasks[len(tasks)-1].ID != "2" || tasks[len(tasks)-1].CanEnd {
				t.Errorf("a session whose turn ran beside another one's has %+v", tasks)
			}
			if err := k.EndBackground(t.Context(), s.ID, "2"); !errors.Is(err, runtime.ErrUnsupported) {
				t.Errorf("end a task that may be another session's: %v", err)
			}
		}
	})
}

// After kill -9, the rows keep the last state until the runtime lists its work again; they are removed when its
// process ends.
func TestBackgroundWorkOutlivesTheServer(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		k := open(t, db, "node")
		s := k.create()
		k.fake.works(s.ID, "1", "2")
		k.end(s.ID, k.send(s.ID))
		k.eventually("the background work shows", func() bool { return len(k.working(s.ID)) == 2 })
		generation := k.fake.generation
		k.close()
		k = openWith(t, db, "node", func(o *Options) {
			o.Surviving = []string{generation}
			o.Runtimes.Adapters[0].(*fake).works(s.ID, "2")
		})
		k.eventually("the runtime lists anew", func() bool { return slices.Equal(k.working(s.ID), []string{"2"}) })
		k.fake.exited()
		k.flush()
		if left := k.working(s.ID); left != nil {
			t.Errorf("after the process's end %v shows", left)
		}
		k.stopSession(s.ID)
	})
}

// A client that ends stored work right after a restart waits until the server has attached to the work's process.
func TestBackgroundWorkEndsOnceItsProcessIsAttached(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		k := open(t, db, "node")
		s := k.create()
		k.fake.works(s.ID, "1", "2")
		k.end(s.ID, k.send(s.ID))
		k.eventually("the background work shows", func() bool { return len(k.working(s.ID)) == 2 })
		generation := k.fake.generation
		k.close()
		k = openWith(t, db, "node", func(o *Options) {
			o.Surviving = []string{generation}
			codex := o.Runtimes.Adapters[0].(*fake)
			codex.works(s.ID, "1", "2")
			codex.late = true
		})
		one, all := make(chan error, 1), make(chan error, 1)
		go func() { one <- k.EndBackground(t.Context(), s.ID, "2") }()
		go func() {
			_, err := k.EndAllBackground(t.Context(), s.ID)
			all <- err
		}()
		select {
		case err := <-one:
			t.Fatalf("before the process is attached, the end of a task returns %v", err)
		case err := <-all:
			t.Fatalf("before the process is attached, the end of all tasks returns %v", err)
		case <-time.After(200 * time.Millisecond):
		}
		k.fake.mu.Lock()
		k.fake.late = false
		k.fake.mu.Unlock()
		k.fake.started(generation)
		if err := <-one; err != nil && !errors.Is(err, runtime.ErrNoBackground) {
			t.Error(err)
		}
		k.do(<-all)
		if left := k.working(s.ID); left != nil {
			t.Errorf("%v is left", left)
		}
		k.stopSession(s.ID)
	})
}
