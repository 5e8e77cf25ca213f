package sessions

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/semaphore"

	"harness/api/compress"
	"harness/api/rest"
	"harness/internal/lib/spool"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

// Waiting requests get slots in order of arrival. A request that waits too long is refused with a retry.
func TestSlotsAreGivenInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		places := semaphore.NewWeighted(4)
		leave, err := acquire(t.Context(), places, 4, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		order := make(chan int64, 2)
		for _, share := range []int64{4, 1} {
			go func() {
				left, err := acquire(t.Context(), places, share, time.Minute)
				if err != nil {
					t.Error(err)
					return
				}
				order <- share
				left()
			}()
			synctest.Wait()
		}
		began := time.Now()
		if _, err := acquire(t.Context(), places, 1, memoryWait); !errors.Is(err, errBusy) || time.Since(began) != memoryWait {
			t.Errorf("refused after %v with %v", time.Since(began), err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := acquire(gone, places, 1, time.Minute); !errors.Is(err, context.Canceled) {
			t.Errorf("a canceled request gets %v", err)
		}
		leave()
		if first, second := <-order, <-order; first != 4 || second != 1 {
			t.Errorf("%d came before %d", first, second)
		}
	})
}

// A long response to a GET beyond the budget is refused. One that reports a change, or is short, is not.
func TestLongAnswerBeyondBudgetIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		long := NewLongAnswers("")
		leave, err := acquire(t.Context(), long.memory, sentBytes, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		send := func(method string, size int) (refused rest.Failure, sent bool) {
			reply := rest.Reply{Body: rest.Encoded(bytes.Repeat([]byte{'1'}, size))}
			left, err := long.MakeRoom(t.Context(), &rest.Route{Method: method}, &reply)
			if err != nil {
				refused, _ = Failures(err, nil, nil)
				return refused, false
			}
			left()
			return rest.Failure{}, true
		}
		got, sent := send(http.MethodGet, longFrom)
		body, _ := got.Body.(rest.ErrorBody)
		if sent || got.Status != http.StatusServiceUnavailable || !got.Retry || got.RetryAfter != "1" ||
			body.Code != "too_many_long_answers" || !strings.Contains(body.Message, "?limit=100") {
			t.Errorf("got %t %+v", sent, got)
		}
		for method, size := range map[string]int{http.MethodPost: longFrom, http.MethodGet: longFrom - 1} {
			if got, sent := send(method, size); !sent {
				t.Errorf("%s of %d bytes: %+v", method, size, got)
			}
		}
		leave()
		if got, sent := send(http.MethodGet, sentBytes+1); !sent {
			t.Errorf("a single one got %+v", got)
		}
	})
}

// The error for a full data directory names it and the remedy.
func TestFullDataDirectoryIsNamed(t *testing.T) {
	t.Parallel()
	file := spool.NewFolder(t.TempDir()+"/none", 1<<20, 0).New()
	defer file.Close()
	read := &wholeRead{into: file, items: map[int][]part{}}
	err := read.Entries(bytes.Repeat([]byte{'1'}, 100_000))
	f, known := Failures(fmt.Errorf("read: %w", err), nil, nil)
	body, err := json.Marshal(f.Body)
	if err != nil {
		t.Fatal(err)
	}
	if !known || f.Status != http.StatusServiceUnavailable || !f.Retry || !strings.Contains(string(body), "no such file") {
		t.Errorf("%t %d %s", known, f.Status, body)
	}
	if f, _ := Failures(spool.ErrFull, nil, nil); f.Status != http.StatusServiceUnavailable || f.RetryAfter != "1" {
		t.Errorf("beyond the bound of files: %+v", f)
	}
}

// The items of turns are inserted at their places in the description, in any read order. The result is the same from
// memory, from a file and compressed.
func TestWholeReadIsAssembledInOrder(t *testing.T) {
	t.Parallel()
	s := &sessions{long: NewLongAnswers(t.TempDir()), coder: &compress.Coder{}}
	detail := &session.Detail{Pos: 7, Thread: []runtime.DescribedPart{
		{JSON: []byte(`{"id":"x","turns":[{"items":[`), Items: true, Turn: 1},
		{JSON: []byte(`]},{"items":[`), Items: true, Turn: 0}, {JSON: []byte(`]}]}`)}}}
	long := strings.Repeat("z", 100_000)
	const tricky = `"transcript":[],"thread":null,"transcript":[]`
	fill := func(into kept) []part {
		read := &wholeRead{into: into, items: map[int][]part{}}
		for i, err := range []error{
			read.Item(0, []byte(`{"n": 1}`)), read.Item(1, []byte(`"b"`)), read.Entries([]byte(`{"e":1},{"e":"\u2028"}`)),
			read.Item(0, []byte(`"c"`)), read.Entries([]byte(`"` + long + `"`)),
		} {
			if err != nil {
				t.Fatal(i, err)
			}
		}
		parts, err := read.parts(sessionDetail{Session: sessionView{Title: tricky}, Thread: json.RawMessage(`{}`), Pos: detail.Pos}, detail)
		if err != nil {
			t.Fatal(err)
		}
		return parts
	}
	short := &memory{}
	whole, err := inMemory(fill(short), short)
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := bytes.Cut(whole, []byte(`,"thread":{`))
	want := `"id":"x","turns":[{"items":["b"]},{"items":[{"n":1},"c"]}]},"transcript":[{"e":1},{"e":"` + "\u2028" + `"},"` + long + `"],"pos":7}`
	if string(shown) != want || !json.Valid(whole) {
		t.Errorf("put together: %s", whole)
	}
	for _, coding := range []string{"identity", "gzip"} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Header.Set("Accept-Encoding", coding)
		file := s.long.folder.New()
		answer, err := s.finish(s.coder.Wanted(r), fill(file), file)
		if err != nil {
			t.Fatal(err)
		}
		recorder := httptest.NewRecorder()
		answer.Send(t.Context(), recorder, http.StatusOK)
		s.long.Release(rest.Reply{Body: answer})
		length, body := fmt.Sprint(recorder.Body.Len()), io.Reader(recorder.Body)
		if recorder.Header().Get("Content-Encoding") == "gzip" {
			if body, err = gzip.NewReader(body); err != nil {
				t.Fatal(err)
			}
		}
		got, err := io.ReadAll(body)
		if err != nil || !bytes.Equal(got, whole) || recorder.Header().Get("Content-Length") != length {
			t.Errorf("%s: %d bytes of %d, %v", coding, len(got), len(whole), err)
		}
	}
}

// Concurrent requests for an answer share it until its last reader has finished.
func TestReadersShareAnAnswer(t *testing.T) {
	t.Parallel()
	long := NewLongAnswers(t.TempDir())
	file := long.folder.New()
	if _, err := file.Write(bytes.Repeat([]byte{'1'}, 100_000)); err != nil {
		t.Fatal(err)
	}
	if err := file.Seal(); err != nil {
		t.Fatal(err)
	}
	answer := &LongAnswer{parts: []part{{to: file.Size()}}, spool: file, size: file.Size(), readers: 1}
	if long.share("v", answer); long.join("other") != nil {
		t.Error("there is an answer of another name")
	}
	const readers = 4
	var group sync.WaitGroup
	for range readers {
		group.Go(func() {
			same := long.join("v")
			recorder := httptest.NewRecorder()
			same.Send(t.Context(), recorder, http.StatusOK)
			if recorder.Body.Len() != 100_000 {
				t.Errorf("%d bytes were sent", recorder.Body.Len())
			}
			long.leave(same)
		})
	}
	group.Wait()
	another := &LongAnswer{spool: long.folder.New(), readers: 1}
	if long.share("v", another); long.join("v") != answer {
		t.Error("the first one is not shared any more")
	}
	long.leave(another)
	long.leave(answer)
	if long.leave(answer); long.join("v") != nil {
		t.Error("an answer without readers is shared")
	}
}
