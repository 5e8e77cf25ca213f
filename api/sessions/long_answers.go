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
	// longFrom is the minimum size of a long answer, which takes a share of LongAnswers.
	longFrom = 64 << 10
	// longestInMemory is the maximum size of a whole transcript that is built in memory.
	longestInMemory = 256 << 10
	// madeAtOnce limits how many longer ones are read from the store at once: SQLite has four readers in total.
	madeAtOnce = 3
	// spooledBytes limits finished answers that wait in files, spooledMemory those in memory; sentBytes limits all
	// other long answers, in memory.
	spooledBytes  = 1 << 30
	spooledMemory = 1 << 20
	sentBytes     = 64 << 20
	// How long a request waits for a slot to build a long answer, and for room in memory.
	makingWait = 30 * time.Second
	memoryWait = 2 * time.Second
)

// LongAnswers limits the resources of long answers. Waiting requests get slots in order of arrival.
type LongAnswers struct {
	folder         *spool.Folder
	making, memory *semaphore.Weighted

	mu sync.Mutex
	// shared has the answers that are being sent, by version and coding, so that concurrent requests share them.
	shared map[string]*LongAnswer
}

// NewLongAnswers stores the longest answers in unnamed files in a directory until they are sent.
func NewLongAnswers(folder string) *LongAnswers {
	return &LongAnswers{folder: spool.NewFolder(folder, spooledBytes, spooledMemory), making: semaphore.NewWeighted(madeAtOnce),
		memory: semaphore.NewWeighted(sentBytes), shared: map[string]*LongAnswer{}}
}

// join returns the answer with that name that is being sent, nil for none.
func (l *LongAnswers) join(name string) *LongAnswer {
	l.mu.Lock()
	defer l.mu.Unlock()
	answer := l.shared[name]
	if answer != nil {
		answer.readers++
	}
	return answer
}

// share lets others join an answer that is about to be sent.
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

// acquire waits for a share for a limited time: errBusy.
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

// MakeRoom waits for memory for a long response to a GET while it is sent. A response to any other method reports a
// change, and is not refused.
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

// Failures are long answers without room.
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

// notKept is an error of storing an answer.
func notKept(err error) error {
	if errors.Is(err, errLong) || errors.Is(err, spool.ErrFull) {
		return err
	}
	return errors.Join(errNotKept, err)
}

// errNotKept wraps errors of the spool directory.
var errNotKept = errors.New("a long response cannot be stored")
