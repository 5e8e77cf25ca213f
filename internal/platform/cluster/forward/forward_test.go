package forward

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/platform/auth"
	"harness/internal/platform/cluster"
	"harness/internal/platform/database"
	"harness/tests/certtest"
	"harness/tests/dbtest"
)

// node is a node whose port answers every accepted request, and records its principal.
type node struct {
	*Identity
	address  string
	lease    *cluster.Lease
	received chan auth.Principal
}

// breaksOff is a path whose requests are received but not answered.
const breaksOff = "/breaks-off"

// newNode starts a node; beat is the interval at which it renews its lease.
func newNode(t *testing.T, db *database.DB, id string, files Files, beat time.Duration) *node {
	t.Helper()
	identity, err := NewIdentity(id, files)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &node{Identity: identity, address: listener.Addr().String(), received: make(chan auth.Principal, 10)}
	accept := &Acceptor{Identity: identity, DB: db, Logger: zerolog.Nop()}
	server := accept.Server(accept.Guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == breaksOff {
			panic(http.ErrAbortHandler)
		}
		who, _ := auth.PrincipalFrom(r.Context())
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		n.received <- who
		w.Header().Set("Retry-After", "7")
		w.Header().Set("Set-Cookie", "a=b")
		w.WriteHeader(http.StatusAccepted)
		_, _ = fmt.Fprintf(w, "%s %s %s", r.Method, r.RequestURI, body)
	})))
	served := make(chan error, 1)
	go func() { served <- server.ServeTLS(listener, "", "") }()
	n.lease, err = cluster.Acquire(t.Context(), cluster.Options{DB: db, NodeID: id, Lost: func(err error) { t.Error(err) },
		Address: n.address, Certificate: identity.Fingerprint(), Beat: beat, Grace: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(server.Close(), n.lease.Release(context.WithoutCancel(t.Context()))); err != nil {
			t.Error(err)
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return n
}

func (n *node) client(t *testing.T, db *database.DB) *Client {
	c := &Client{Identity: n.Identity, DB: db}
	t.Cleanup(c.Close)
	return c
}

func asked(t *testing.T, who auth.Principal) *http.Request {
	ctx := WithAgent(auth.WithPrincipal(t.Context(), who), Agent{Session: "s", Turn: "t", Write: true})
	return httptest.NewRequestWithContext(ctx, http.MethodPost, "/api/x%2Fy?z=1", nil)
}

func issue(ca *certtest.Authority, id string) Files {
	return Files(ca.Issue(id, time.Now().Add(time.Hour)))
}

// answerOf returns the answer to a request with a principal.
func answerOf(t *testing.T, c *Client, owner string, who auth.Principal) (status int, body string, err error) {
	t.Helper()
	answer, err := c.Ask(asked(t, who), owner, "hello")
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	w := httptest.NewRecorder()
	if err := relayed(w, answer); err != nil {
		t.Fatal(err)
	}
	if w.Header().Get("Retry-After") != "7" || w.Header().Get("Set-Cookie") != "" {
		t.Errorf("the headers are %v", w.Header())
	}
	return w.Code, w.Body.String(), nil
}

var operator = auth.Principal{Actor: "ann", Role: auth.RoleOperator, TokenID: "t-1", Projects: auth.LimitTo("p", "q")}

// The owner gets the request unchanged, with its principal, with generated and with configured certificates.
func TestOwnerGetsRequestAndPrincipal(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		ca := certtest.New(t)
		for name, files := range map[string][2]Files{"made": {}, "given": {issue(ca, "a"), issue(ca, "b")}} {
			a, b := newNode(t, db, name+"-a", files[0], 0), newNode(t, db, name+"-b", files[1], 0)
			client := b.client(t, db)
			for _, who := range []auth.Principal{operator, {Actor: "token", Role: auth.RoleOwner}, auth.AgentPrincipal("s"),
				{Actor: "jwt:x", Role: auth.RoleMember, Signed: true, Projects: auth.LimitTo()}, {Actor: "ci", Role: auth.RoleCI}} {
				status, body, err := answerOf(t, client, name+"-a", who)
				if err != nil || status != http.StatusAccepted || body != "POST /api/x%2Fy?z=1 hello" {
					t.Fatalf("%s: %d %q %v", name, status, body, err)
				}
				if received := <-a.received; !reflect.DeepEqual(received, who) {
					t.Errorf("%s: received %+v, sent %+v", name, received, who)
				}
			}
		}
	})
}

// A signature that is not for this request, this node and this time is refused.
func TestWhatWasNotSignedIsRefused(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	a, b, c := newNode(t, db, "a", Files{}, 0), newNode(t, db, "b", Files{}, 0), newNode(t, db, "c", Files{}, 0)
	client := b.client(t, db)
	peer, err := cluster.FindPeer(t.Context(), db, "a")
	if err != nil {
		t.Fatal(err)
	}
	honest := ask{from: "b", to: "a", method: http.MethodPost, uri: "/api/x", body: []byte("hello"), now: peer.Now}
	with := func(change func(*ask)) ask {
		changed := honest
		change(&changed)
		return changed
	}
	of := func(session string) ask {
		return with(func(a *ask) { a.agent = &Agent{Session: session, Write: true} })
	}
	for name, test := range map[string]struct {
		signer *node
		ask    ask
		who    auth.Principal
	}{
		"another node's signature": {c, with(func(a *ask) { a.from = "c" }), operator},
		"in another node's name":   {b, with(func(a *ask) { a.from = "c" }), operator},
		"signed by another key":    {c, honest, operator},
		"an unknown name":          {b, with(func(a *ask) { a.from = "unknown" }), operator},
		"to another node":          {b, with(func(a *ask) { a.to = "c" }), operator},
		"another method":           {b, with(func(a *ask) { a.method = http.MethodDelete }), operator},
		"another path":             {b, with(func(a *ask) { a.uri = "/api/y" }), operator},
		"another body":             {b, with(func(a *ask) { a.body = []byte("hello!") }), operator},
		"too old":                  {b, with(func(a *ask) { a.now = a.now.Add(-lifetime - skew - time.Second) }), operator},
		"of the future":            {b, with(func(a *ask) { a.now = a.now.Add(time.Minute) }), operator},
		"an agent":                 {b, honest, auth.AgentPrincipal("s")},
		"an agent of no session":   {b, of(""), auth.AgentPrincipal("")},
		"another session's agent":  {b, of("t"), auth.AgentPrincipal("s")},
		"an agent as a person":     {b, of("s"), operator},
		"an agent as the owner":    {b, of("s"), auth.Principal{Actor: "agent:s", Role: auth.RoleOwner}},
		"an unknown role":          {b, honest, auth.Principal{Actor: "x", Role: "root"}},
		"no principal":             {b, honest, auth.Principal{Role: auth.RoleOwner}},
		"as it should be":          {b, honest, operator},
	} {
		signature, err := test.signer.sign(test.ask, test.who)
		if err != nil {
			t.Fatal(err)
		}
		want := http.StatusForbidden
		if name == "as it should be" {
			want = http.StatusAccepted
		}
		if status := send(t, client, peer, signature); status != want {
			t.Errorf("%s: answered %d, want %d", name, status, want)
		}
	}
	genuine, err := b.sign(honest, operator)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(genuine, ".")
	claims, mark, _ := strings.Cut(rest, ".")
	for name, signatures := range map[string][]string{
		"none": nil, "two": {genuine, genuine}, "no token": {"x"}, "changed": {head + "." + claims[:len(claims)-2] + "AA." + mark},
		"unsigned": {"eyJhbGciOiJub25lIn0." + claims + "."}, "half": {head + "." + claims + "."},
	} {
		if status := send(t, client, peer, signatures...); status != http.StatusForbidden {
			t.Errorf("%s: answered %d", name, status)
		}
	}
	if len(a.received) != 1 {
		t.Errorf("the owner has received %d requests, want the valid one", len(a.received))
	}
}

// send sends a request to a node with signatures.
func send(t *testing.T, c *Client, to cluster.Peer, signatures ...string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+to.Address+"/api/x", strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	request.Header[whoHeader] = signatures
	answer, err := c.transport(to, false).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil || answer.ProtoMajor != 2 {
		t.Errorf("answered by %s: %v", answer.Proto, err)
	}
	return answer.StatusCode
}

// A request of a node without a user principal reaches no route of clients.
func TestNodeRequestReachesNoClientRoute(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	a, b := newNode(t, db, "a", Files{}, 0), newNode(t, db, "b", Files{}, 0)
	client := b.client(t, db)
	answer, err := client.Open(t.Context(), "a", "/api/sessions", strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusForbidden || len(a.received) != 0 {
		t.Errorf("answered %d, %v, with %d received", answer.StatusCode, err, len(a.received))
	}
	change(t, db, `update nodes set lease_until = 1 where node_id = 'a'`)
	if answer, err := client.Open(t.Context(), "a", "/api/sessions", strings.NewReader("")); err == nil {
		t.Errorf("a node whose lease is over answered %d, %v", answer.StatusCode, answer.Body.Close())
	}
}

// A peer that is not the node named in the store is refused, on either side, before any request is handled.
func TestStrangersAreTurnedAway(t *testing.T) {
	t.Parallel()
	db, elsewhere := dbtest.Open(t, database.Postgres), dbtest.Open(t, database.Postgres)
	ours, theirs := certtest.New(t), certtest.New(t)
	made := newNode(t, db, "made", Files{}, 0)
	given := newNode(t, db, "given", issue(ours, "given"), 0)
	other := newNode(t, db, "other", issue(theirs, "other"), 0)
	stranger := newNode(t, elsewhere, "made-too", Files{}, 0)
	for name, test := range map[string]struct {
		from  *node
		owner string
	}{
		"a node of another store":             {stranger, "made"},
		"a certificate of another CA":         {other, "given"},
		"no certificate of the CA":            {made, "given"},
		"an owner with one of another CA":     {given, "other"},
		"an owner without one of the CA":      {given, "made"},
		"as another node, with one of the CA": {&node{Identity: identity(t, "given", issue(ours, "given"))}, "given"},
	} {
		var unreachable *UnreachableError
		if _, _, err := answerOf(t, test.from.client(t, db), test.owner, operator); !errors.As(err, &unreachable) ||
			unreachable.RetryAfter <= 0 || unreachable.NodeID != test.owner {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The owner is another server than its row names.
	change(t, db, `update nodes set certificate = 'another' where node_id = 'other'`)
	var unreachable *UnreachableError
	if _, _, err := answerOf(t, other.client(t, db), "other", operator); !errors.As(err, &unreachable) {
		t.Errorf("an owner that shows another certificate: %v", err)
	}
	if received := len(made.received) + len(given.received) + len(other.received); received > 0 {
		t.Errorf("%d requests were received", received)
	}
}

func identity(t *testing.T, id string, files Files) *Identity {
	t.Helper()
	made, err := NewIdentity(id, files)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func change(t *testing.T, db *database.DB, statement string) {
	t.Helper()
	if err := db.Update(t.Context(), func(tx database.Tx) error {
		_, err := tx.ExecContext(t.Context(), statement)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// The error shows whether an unavailable owner will return by itself, and whether the request was not sent or its
// answer was lost.
func TestOwnersThatAreAway(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	asker, owner := newNode(t, db, "asker", Files{}, 0), newNode(t, db, "owner", Files{}, time.Hour)
	client := asker.client(t, db)
	var lost *LostAnswerError
	_, err := client.Ask(httptest.NewRequestWithContext(auth.WithPrincipal(t.Context(), operator), http.MethodPost, breaksOff, nil),
		"owner", "hello")
	if !errors.As(err, &lost) || lost.NodeID != "owner" {
		t.Errorf("an answer that is lost: %v", err)
	}
	var unreachable *UnreachableError
	for _, test := range []struct {
		name, statement string
		turn            bool
		atLeast, atMost time.Duration
	}{
		{"nothing listens", `update nodes set address = '127.0.0.1:1' where node_id = 'owner'`, false, time.Second, 4 * time.Hour},
		{"its lease is over", `update nodes set lease_until = lease_until - 4 * 3600 * 1000 - 1000 where node_id = 'owner'`, false,
			time.Second, cluster.Patience},
		{"its grace is over", `update nodes set grace = 0 where node_id = 'owner'`, true, 0, 0},
		{"it has no port", `update nodes set address = '', lease_until = lease_until + 99999999 where node_id = 'owner'`, true, 0, 0},
		{"it was ended", `update nodes set process = '' where node_id = 'owner'`, true, 0, 0},
		{"there never was one", `delete from nodes where node_id = 'owner'`, true, 0, 0},
	} {
		change(t, db, test.statement)
		_, _, err := answerOf(t, client, "owner", operator)
		if test.turn != errors.Is(err, ErrClientsTurn) {
			t.Errorf("%s: %v", test.name, err)
		}
		if !test.turn && (!errors.As(err, &unreachable) || unreachable.RetryAfter < test.atLeast || unreachable.RetryAfter > test.atMost) {
			t.Errorf("%s: %v, again after %v", test.name, err, unreachable)
		}
	}
	client.Sure = func() error { return errors.New("not sure") }
	if _, _, err := answerOf(t, client, "asker", operator); !errors.As(err, &unreachable) || !strings.Contains(err.Error(), "not sure") {
		t.Errorf("a node that is not sure of itself: %v", err)
	}
	for _, who := range []auth.Principal{{}, {Actor: "agent:s", Role: auth.RoleAgent}} {
		if _, _, err := answerOf(t, client, "asker", who); !errors.Is(err, ErrClientsTurn) {
			t.Errorf("in the name of %+v: %v", who, err)
		}
	}
	if len(owner.received) > 0 {
		t.Error("the owner has received a request")
	}
}

// An incomplete certificate, and one that other nodes would refuse, are reported at the start.
func TestCertificatesThatAreOfNoUse(t *testing.T) {
	t.Parallel()
	ours, theirs := certtest.New(t), certtest.New(t)
	good, foreign := issue(ours, "a"), issue(theirs, "a")
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, files := range map[string]Files{
		"no key": {good.Certificate, "", good.CA}, "no CA": {good.Certificate, good.Key, ""}, "no file": {"/none", good.Key, good.CA},
		"another's key": {good.Certificate, foreign.Key, good.CA}, "another CA": {good.Certificate, good.Key, foreign.CA},
		"an empty CA": {good.Certificate, good.Key, empty}, "an expired one": Files(ours.Issue("a", time.Now().Add(-time.Hour))),
	} {
		if _, err := NewIdentity("a", files); err == nil || !strings.Contains(err.Error(), "HARNESS_NODE_TLS_DIR") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
