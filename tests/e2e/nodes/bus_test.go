package nodes

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"harness/tests/programtest"
)

// busLimit is the maximum median delay until another node shows an event, on a busy machine. With polling only, the
// delay is 125 ms.
const busLimit = 40 * time.Millisecond

// Another node shows a committed event long before its poll would find it.
func TestAnotherNodeShowsEventsAtOnce(t *testing.T) {
	n := newNodes(t, withPort())
	session := n.a.CreateSession(nil)
	own, other := n.a.Follow("threadId="+session), n.b.Follow("threadId="+session)
	const rounds = 60
	var early, late []time.Duration
	for round := range rounds {
		title := fmt.Sprintf("round %d of them", round)
		named := func(f programtest.Frame) bool { return strings.Contains(f.Raw, title) }
		began := time.Now()
		n.a.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/rename", programtest.Object{"title": title})
		own.Find("the title at its owner", named)
		early = append(early, time.Since(began))
		other.Find("the title at the other node", named)
		late = append(late, time.Since(began))
	}
	slices.Sort(early)
	slices.Sort(late)
	t.Logf("a title is shown by its owner after p50 %v p90 %v, by the other node after p50 %v p90 %v",
		early[rounds/2], early[rounds*9/10], late[rounds/2], late[rounds*9/10])
	if more := late[rounds/2] - early[rounds/2]; more > busLimit {
		t.Errorf("the other node shows it %v later in the median, want %v at most", more, busLimit)
	}
}
