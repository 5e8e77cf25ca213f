package opencode

import (
	"slices"
	"time"

	"harness/internal/runtime/wire"
)

// state is all the translator has to remember from one line to the next, about conversations in a turn only. It
// is stored with the signals of the lines, so that the next reader knows what was published.
type state struct {
	// Talks are the conversations in a turn, by OpenCode's own id.
	Conversations map[string]*conversation `json:"talks,omitempty"`
	// Ended are the messages that began the last turns that are over: OpenCode may describe such a message once more.
	Ended []string `json:"ended,omitempty"`
}

// Bounds of what is remembered: more is nothing a real turn needs.
const (
	// maxEnded bounds state.Ended, maxConversations state.Conversations: beyond it no turn is published.
	maxEnded, maxConversations = 8, 256
	// maxUsers bounds conversation.Users and conversation.AwaitingText, maxDone conversation.Done, of which the
	// oldest are dropped; maxOpen bounds conversation.Open, whose oldest is ended for another one; maxAsked
	// bounds conversation.Asked: further requests are ignored, and their tools wait until the turn is
	// interrupted; maxChildren bounds conversation.Children.
	maxUsers, maxDone, maxOpen, maxAsked, maxChildren = 256, 1024, 256, 256, 256
	// maxID is how long (bytes) an id of OpenCode's, or a tool's name, may be, which take 30: what has a longer one is not
	// taken. Those of calls are the model's and can be longer (runtime.KnownID).
	maxID = 128
	// maxWords bounds the texts of a failure, and a title, in bytes.
	maxWords = 16 << 10
	// maxTalk is what a talk takes as JSON at most (bytes), whatever OpenCode says: the bounds above and maxDiff, each of
	// whose bytes JSON may write with six.
	maxTalk = 6 << 20
)

// fit reports whether ids and names are short enough to be remembered.
func fit(ids ...string) bool {
	return !slices.ContainsFunc(ids, func(id string) bool { return len(id) > maxID })
}

// keepLast is a list that forgets what came first.
func keepLast(list []string, one string, most int) []string {
	if list = append(list, one); len(list) > most {
		list = slices.Delete(list, 0, len(list)-most)
	}
	return list
}

// cut is the beginning of a text, as much as is remembered.
func cut(text string) string { return text[:min(len(text), maxWords)] }

// conversation is a conversation in a turn.
type conversation struct {
	// Thread is the session's id, Dir the folder.
	Thread string `json:"thread"`
	Dir    string `json:"dir,omitempty"`
	Title  string `json:"title,omitempty"`
	// Turn is the message that began the turn, Started when (ms).
	Turn    string `json:"turn"`
	Started int64  `json:"started"`
	// Users are the turn's messages of a person, AwaitingText those whose text has not come yet.
	Users        []string `json:"users"`
	AwaitingText []string `json:"untold,omitempty"`
	// Message is the agent's last message, Done its parts that are over. Finished says that it is; parts of it may come
	// even so: OpenCode writes an event down when it is sent, and says then how things are by now.
	Message  string   `json:"message,omitempty"`
	Finished bool     `json:"finished,omitempty"`
	Done     []string `json:"done,omitempty"`
	// Answers is the newest of the turn's messages that the agent has answered.
	Answers string `json:"answers,omitempty"`
	// Busy says that the agent went to work. Idle counts how often it was idle since then though its last message had no end.
	Busy bool   `json:"busy,omitempty"`
	Idle int    `json:"idle,omitempty"`
	Open []item `json:"open,omitempty"`
	// Asked are the requests that wait, Children the conversations of its sub-agents.
	Asked    []asked  `json:"asked,omitempty"`
	Children []string `json:"children,omitempty"`
	// Base is what the conversation had used before the turn, Used what the turn has.
	Base  wire.Tokens `json:"base"`
	Used  wire.Tokens `json:"used"`
	Retry int         `json:"retry,omitempty"`
	// Diff is what the turn has changed so far, in files.
	Diff string `json:"diff,omitempty"`
	// Failure is why the turn is going to end badly, nil when it is not. Silent is why it was to end when the agent said
	// nothing in it.
	Failure *failure `json:"failure,omitempty"`
	Silent  string   `json:"silent,omitempty"`
	// lastOutput is when something was last sent in it, zero when no server read it yet.
	lastOutput time.Time
	// pictures are the images of messages in AwaitingText, as data URLs. They are too large for the stored
	// state: a process that ends between the images of a message and its text loses them.
	pictures map[string][]string
}

// maxPictures bounds the images of a message that are shown.
const maxPictures = 20

// item is one that is open: known, and perhaps not begun yet.
type item struct {
	// ID is the part's, Call the call it is of, Tool the tool ("" for a text) or kindReasoning.
	ID    string `json:"id"`
	Call  string `json:"call,omitempty"`
	Tool  string `json:"tool,omitempty"`
	Begun bool   `json:"begun,omitempty"`
	// Published is how much (bytes) of its text was published, and Sum the checksum of that. Stale says that it
	// grew while no server read it.
	Published int    `json:"told,omitempty"`
	Sum       uint64 `json:"sum,omitempty"`
	Stale     bool   `json:"stale,omitempty"`
	// Declined says that a person refused the call.
	Declined bool `json:"declined,omitempty"`
}

// asked is a request that waits.
type asked struct {
	ID   string `json:"id"`
	Call string `json:"call,omitempty"`
}

// failure is why a turn ends as it does.
type failure struct {
	Name       string `json:"name"`
	Message    string `json:"message"`
	Status     int    `json:"status,omitempty"`
	RetryAfter string `json:"retryAfter,omitempty"`
}

// picture keeps an image of a message of a person until its text comes.
func (t *conversation) picture(message, url string) {
	if t.pictures == nil {
		t.pictures = map[string][]string{}
	}
	if len(t.pictures[message]) < maxPictures {
		t.pictures[message] = append(t.pictures[message], url)
	}
}

// find is an open item by its id, nil when there is none.
func (t *conversation) find(id string) *item {
	i := slices.IndexFunc(t.Open, func(one item) bool { return one.ID == id })
	if i < 0 {
		return nil
	}
	return &t.Open[i]
}

// ofCall is the open item of a call, nil when there is none.
func (t *conversation) ofCall(call string) *item {
	i := slices.IndexFunc(t.Open, func(one item) bool { return call != "" && one.Call == call })
	if i < 0 {
		return nil
	}
	return &t.Open[i]
}

// over notes that an item has ended: nothing more of it is published.
func (t *conversation) over(id string) {
	t.Open = slices.DeleteFunc(t.Open, func(one item) bool { return one.ID == id })
	t.Done = keepLast(t.Done, id, maxDone)
}

// in is where the turn is.
func (t *conversation) in() wire.Place { return wire.Place{ThreadID: t.Thread, TurnID: t.Turn} }

// newText returns what was added to a text since it was last published, and counts it as published. It returns
// nothing when the text is another one now.
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

// sum goes on adding up a text (FNV-1a, 64 bits; from 0 it begins).
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
