package api

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
	// longFrom is the size from which an answer is long: it takes its share of LongAnswers.
	longFrom = 64 << 10
	// longestInMemory is how long a whole transcript may be to be answered from memory.
	longestInMemory = 256 << 10
	// madeAtOnce is how many longer ones are read from the store at once: SQLite has four readers for everybody.
	madeAtOnce = 3
	// spooledBytes bounds those that wait for their readers in files, spooledMemory in memory; sentBytes bounds all other long
	// answers, in memory.
	spooledBytes  = 1 << 30
	spooledMemory = 1 << 20
	sentBytes     = 64 << 20
	// A request waits that long for its turn to have a long answer made, and for room in memory.
	makingWait = 30 * time.Second
	memoryWait = 2 * time.Second
)

// LongAnswers bounds what long answers take of the server. Those that wait for a place get it in the order they came in.
type LongAnswers struct {
	folder         *spool.Folder
	making, memory *semaphore.Weighted

	mu sync.Mutex
	// shared are the answers that are being sent, by version and coding: who asks for one meanwhile gets the same.
	shared map[string]*longAnswer
}

// NewLongAnswers has the longest answers kept in files without names in a folder until they are sent.
func NewLongAnswers(folder string) *LongAnswers {
	return &LongAnswers{folder: spool.NewFolder(folder, spooledBytes, spooledMemory), making: semaphore.NewWeighted(madeAtOnce),
		memory: semaphore.NewWeighted(sentBytes), shared: map[string]*longAnswer{}}
}

// join is the answer of that name that is being sent, nil for none.
func (l *LongAnswers) join(name string) *longAnswer {
	l.mu.Lock()
	defer l.mu.Unlock()
	answer := l.shared[name]
	if answer != nil {
		answer.readers++
	}
	return answer
}

// share lets others join an answer that is going to be sent.
func (l *LongAnswers) share(name string, answer *longAnswer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shared[name] == nil {
		l.shared[name], answer.name = answer, name
	}
}

// leave gives up an answer for one of its readers.
func (l *LongAnswers) leave(answer *longAnswer) {
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

// errCrowded refuses a long answer for which there is no room.
var errCrowded = errors.New("too many long answers are under way")

// acquire waits for a share until a moment has passed: errCrowded.
func acquire(ctx context.Context, of *semaphore.Weighted, share int64, patience time.Duration) (release func(), err error) {
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := of.Acquire(waiting, share); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, errCrowded
	}
	return func() { of.Release(share) }, nil
}

// makeRoom waits for room in memory for what a long answer to a GET takes while it is sent. An answer to anything else
// tells what was done, and is not refused.
func (s *server) makeRoom(ctx context.Context, rt *rest.Route, answer *rest.Reply) (leave func(), err error) {
	if _, spooled := answer.Body.(*longAnswer); spooled || answer.Body == nil || rt.Method != http.MethodGet {
		return func() {}, nil
	}
	body, err := rest.Encode(answer.Body)
	if err != nil {
		return func() {}, nil //nolint:nilerr // who writes it tells that it cannot be encoded
	}
	answer.Body = rest.Encoded(body)
	if len(body) < longFrom {
		return func() {}, nil
	}
	return acquire(ctx, s.Long.memory, min(int64(len(body)), sentBytes), memoryWait)
}

// longFailures are long answers for which there is no room.
func longFailures(err error, _ *rest.Route, _ *rest.Input) (rest.Failure, bool) {
	const remedy = "; ask again in a moment, or read the transcript in windows (?limit=100)"
	var disk *fs.PathError
	var f rest.Failure
	switch {
	case errors.Is(err, errCrowded), errors.Is(err, spool.ErrFull):
		f = rest.Problem(http.StatusServiceUnavailable, "too_many_long_answers",
			"this server sends as many long answers as it has room for"+remedy)
		f.RetryAfter = "1"
	case errors.As(err, &disk) && errors.Is(err, errNotKept):
		f = rest.Problem(http.StatusServiceUnavailable, "long_answer_not_kept",
			"the server cannot keep a long answer in its data directory ("+disk.Err.Error()+"): make room there"+remedy)
	default:
		return rest.Failure{}, false
	}
	f.Retry = true
	return f, true
}

// notKept is an error of keeping an answer.
func notKept(err error) error {
	if errors.Is(err, errLong) || errors.Is(err, spool.ErrFull) {
		return err
	}
	return errors.Join(errNotKept, err)
}

// errNotKept marks errors of the folder of spools.
var errNotKept = errors.New("a long answer cannot be kept")
