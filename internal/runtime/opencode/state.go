package opencode

import (
	"slices"
	"time"

	"harness/internal/runtime/wire"
)

// state is the data from earlier lines that the translator needs, only about conversations in a turn. It is stored
// with the signals of the lines, so that the next reader knows what was published.
type state struct {
	// Conversations are those in a turn, by OpenCode's own id.
	Conversations map[string]*conversation `json:"talks,omitempty"`
	// Ended are the first messages of the last ended turns: OpenCode may describe such a message again.
	Ended []string `json:"ended,omitempty"`
}

// Bounds of the state; a real turn needs no more.
const (
	// maxEnded bounds state.Ended, maxConversations state.Conversations: beyond it the translator publishes no turn.
	maxEnded, maxConversations = 8, 256
	// maxUsers bounds conversation.Users and conversation.AwaitingText, maxDone conversation.Done: the oldest entries
	// are dropped. maxOpen bounds conversation.Open: the oldest item ends to make room. maxAsked bounds
	// conversation.Asked: the translator ignores further requests, and their tools wait until the turn is
	// interrupted. maxChildren bounds conversation.Children.
	maxUsers, maxDone, maxOpen, maxAsked, maxChildren = 256, 1024, 256, 256, 256
	// maxID bounds an id of OpenCode or a tool's name in bytes. They have 30; the translator ignores longer ones. The
	// model makes the ids of calls, which can be longer (runtime.KnownID).
	maxID = 128
	// maxWords bounds the texts of a failure, and a title, in bytes.
	maxWords = 16 << 10
	// maxConversation bounds a conversation as JSON in bytes, for any output of OpenCode. It follows from the bounds
	// above and maxDiff. JSON may escape each byte with six.
	maxConversation = 6 << 20
)

// fit reports whether ids and names are within bounds.
func fit(ids ...string) bool {
	return !slices.ContainsFunc(ids, func(id string) bool { return len(id) > maxID })
}

// keepLast adds to a list and keeps only its last elements.
func keepLast(list []string, one string, most int) []string {
	if list = append(list, one); len(list) > most {
		list = slices.Delete(list, 0, len(list)-most)
	}
	return list
}

// cut returns the beginning of a text within the limit.
func cut(text string) string { return text[:min(len(text), maxWords)] }

// conversation is a conversation in a turn.
type conversation struct {
	// Thread is the session's id, Dir the folder.
	Thread string `json:"thread"`
	Dir    string `json:"dir,omitempty"`
	Title  string `json:"title,omitempty"`
	// Turn is the first message of the turn, Started its start time (ms).
	Turn    string `json:"turn"`
	Started int64  `json:"started"`
	// Users are the user's messages in the turn, AwaitingText those without their text so far.
	Users        []string `json:"users"`
	AwaitingText []string `json:"untold,omitempty"`
	// Message is the agent's last message, Done its completed parts. Finished means that it is complete. Its parts
	// may follow even so: an event of OpenCode has the state at the time of sending.
	Message  string   `json:"message,omitempty"`
	Finished bool     `json:"finished,omitempty"`
	Done     []string `json:"done,omitempty"`
	// Answers is the newest message of the turn that the agent has answered.
	Answers string `json:"answers,omitempty"`
	// Busy means that the agent started to work. Idle is the number of times it was idle since then without the end
	// of its last message.
	Busy bool   `json:"busy,omitempty"`
	Idle int    `json:"idle,omitempty"`
	Open []item `json:"open,omitempty"`
	// Asked are the open requests, Children the conversations of its sub-agents.
	Asked    []asked  `json:"asked,omitempty"`
	Children []string `json:"children,omitempty"`
	// Base is the usage of the conversation before the turn, Used the usage of the turn.
	Base  wire.Tokens `json:"base"`
	Used  wire.Tokens `json:"used"`
	Retry int         `json:"retry,omitempty"`
	// Diff has the changes of the turn so far, by file.
	Diff string `json:"diff,omitempty"`
	// Failure is why the turn will fail, otherwise nil. Silent is why the server ended it without output of the
	// agent.
	Failure      *failure `json:"failure,omitempty"`
	Unresponsive string   `json:"silent,omitempty"`
	// lastOutput is the time of its last output, zero if no server read any yet.
	lastOutput time.Time
	// pictures are the images of messages in AwaitingText, as data URLs. They are too large for the stored state: a
	// process that exits between the images of a message and its text loses them.
	pictures map[string][]string
}

// maxPictures bounds the displayed images of a message.
const maxPictures = 20

// item is a known item without an end, perhaps without a published start.
type item struct {
	// ID is the part's id, Call its call, Tool the tool ("" for a text) or kindReasoning.
	ID    string `json:"id"`
	Call  string `json:"call,omitempty"`
	Tool  string `json:"tool,omitempty"`
	Begun bool   `json:"begun,omitempty"`
	// Published is the number of published bytes of its text, and Sum their checksum. Stale means that it grew while
	// no server read it.
	Published int    `json:"told,omitempty"`
	Sum       uint64 `json:"sum,omitempty"`
	Stale     bool   `json:"stale,omitempty"`
	// Declined means that a user refused the call.
	Declined bool `json:"declined,omitempty"`
}

// asked is an open request.
type asked struct {
	ID   string `json:"id"`
	Call string `json:"call,omitempty"`
}

// failure is why a turn fails.
type failure struct {
	Name       string `json:"name"`
	Message    string `json:"message"`
	Status     int    `json:"status,omitempty"`
	RetryAfter string `json:"retryAfter,omitempty"`
}

// picture keeps an image of a user's message until its text arrives.
func (t *conversation) picture(message, url string) {
	if t.pictures == nil {
		t.pictures = map[string][]string{}
	}
	if len(t.pictures[message]) < maxPictures {
		t.pictures[message] = append(t.pictures[message], url)
	}
}

// find returns an open item by its id, nil when there is none.
func (t *conversation) find(id string) *item {
	i := slices.IndexFunc(t.Open, func(one item) bool { return one.ID == id })
	if i < 0 {
		return nil
	}
	return &t.Open[i]
}

// ofCall returns the open item of a call, nil when there is none.
func (t *conversation) ofCall(call string) *item {
	i := slices.IndexFunc(t.Open, func(one item) bool { return call != "" && one.Call == call })
	if i < 0 {
		return nil
	}
	return &t.Open[i]
}

// over records the end of an item: no more of it is published.
func (t *conversation) over(id string) {
	t.Open = slices.DeleteFunc(t.Open, func(one item) bool { return one.ID == id })
	t.Done = keepLast(t.Done, id, maxDone)
}

// in returns the place of the turn.
func (t *conversation) in() wire.Place { return wire.Place{ThreadID: t.Thread, TurnID: t.Turn} }

// newText returns the unpublished addition to a text, and counts it as published. It returns "" when the text has
// changed otherwise.
func (i *item) newText(full string) string {
	if len(full) <= i.Published || sum(0, full[:i.Published]) != i.Sum && i.Published > 0 {
		return ""
	}
	added := full[i.Published:]
	i.notePublished(added)
	return added
}

func (i *item) notePublished(added string) {
	i.Sum = sum(i.Sum, added)
	i.Published += len(added)
}

// sum continues the checksum of a text (FNV-1a, 64 bits; 0 starts one).
func sum(so uint64, text string) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	if so == 0 {
		so = offset
	}
	for i := range len(text) {
		so = (so ^ uint64(text[i])) * prime
	}
	return so
}
