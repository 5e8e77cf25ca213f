package sessions

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"harness/api/rest"
	"harness/internal/lib/spool"
)

const (
	// longFrom is the minimum size in bytes of a long answer, which takes a share of LongAnswers.
	longFrom = 64 << 10
	// longestInMemory is the maximum size in bytes of a whole transcript built in memory.
	longestInMemory = 256 << 10
	// madeAtOnce limits how many larger transcripts are read from the store concurrently. SQLite has four readers in
	// total.
	madeAtOnce = 3
	// spooledBytes limits finished answers that wait in files, and spooledMemory those in memory. sentBytes limits the
	// memory of all other long answers.
	spooledBytes  = 1 << 30
	spooledMemory = 1 << 20
	sentBytes     = 64 << 20
	// How long a request waits for a slot to build a long answer, and for memory.
	makingWait = 30 * time.Second
	memoryWait = 2 * time.Second
)

// LongAnswers limits the resources of long answers. Waiting requests get slots in order of arrival.
type LongAnswers struct {
	folder         *spool.Folder
	making, memory *semaphore.Weighted

	mu sync.Mutex
	// shared holds the answers in transmission, by version and coding, so that concurrent requests share them.
	shared map[string]*LongAnswer
}

// NewLongAnswers creates a LongAnswers. It stores the longest answers in unnamed files in folder until they are sent.
func NewLongAnswers(folder string) *LongAnswers {
	return &LongAnswers{folder: spool.NewFolder(folder, spooledBytes, spooledMemory), making: semaphore.NewWeighted(madeAtOnce),
		memory: semaphore.NewWeighted(sentBytes), shared: map[string]*LongAnswer{}}
}

// join returns the answer in transmission with that name, or nil for none.
func (l *LongAnswers) join(name string) *LongAnswer {
	l.mu.Lock()
	defer l.mu.Unlock()
	answer := l.shared[name]
	if answer != nil {
		answer.readers++
	}
	return answer
}

// share lets other readers join an answer before it is sent.
func (l *LongAnswers) share(name string, answer *LongAnswer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shared[name] == nil {
		l.shared[name], answer.name = answer, name
	}
}

// leave releases an answer for one of its readers.
func (l *LongAnswers) leave(answer *LongAnswer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if answer.readers--; answer.readers > 0 {
		return
	}
	if answer.name != "" {
		delete(l.shared, answer.name)
	}
	answer.spool.Close()
}

// errBusy refuses a long answer for which there is no room.
var errBusy = errors.New("too many long answers are in progress")

// acquire waits for a share for a limited time, then returns errBusy.
func acquire(ctx context.Context, of *semaphore.Weighted, share int64, patience time.Duration) (release func(), err error) {
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := of.Acquire(waiting, share); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, errBusy
	}
	return func() { of.Release(share) }, nil
}

// MakeRoom waits for memory for a long response to a GET and holds it until the response is sent. A response to any
// other method reports a change and is never refused.
func (l *LongAnswers) MakeRoom(ctx context.Context, rt *rest.Route, answer *rest.Reply) (leave func(), err error) {
	if _, spooled := answer.Body.(*LongAnswer); spooled || answer.Body == nil || rt.Method != http.MethodGet {
		return func() {}, nil
	}
	body, err := rest.Encode(answer.Body)
	if err != nil {
		return func() {}, nil //nolint:nilerr // the writer reports that it cannot be encoded
	}
	answer.Body = rest.Encoded(body)
	if len(body) < longFrom {
		return func() {}, nil
	}
	return acquire(ctx, l.memory, min(int64(len(body)), sentBytes), memoryWait)
}

// Failures maps the errors of long answers.
func Failures(err error, _ *rest.Route, _ *rest.Input) (rest.Failure, bool) {
	const remedy = "; ask again in a moment, or read the transcript in windows (?limit=100)"
	var disk *fs.PathError
	var f rest.Failure
	switch {
	case errors.Is(err, errBusy), errors.Is(err, spool.ErrFull):
		f = rest.Problem(http.StatusServiceUnavailable, "too_many_long_answers",
			"this server has no room for another long response"+remedy)
		f.RetryAfter = "1"
	case errors.As(err, &disk) && errors.Is(err, errNotKept):
		f = rest.Problem(http.StatusServiceUnavailable, "long_answer_not_kept",
			"the server cannot store a long response in its data directory ("+disk.Err.Error()+"): free some space there"+remedy)
	default:
		return rest.Failure{}, false
	}
	f.Retry = true
	return f, true
}

// notKept wraps an error of storing an answer.
func notKept(err error) error {
	if errors.Is(err, errLong) || errors.Is(err, spool.ErrFull) {
		return err
	}
	return errors.Join(errNotKept, err)
}

// errNotKept marks errors of the spool directory.
var errNotKept = errors.New("a long response cannot be stored")
