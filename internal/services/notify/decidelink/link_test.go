package decidelink

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// waiting are approvals by id; deciding one settles it.
type waiting map[string]Approval

func (w waiting) Find(_ context.Context, id string) (Approval, error) {
	approval, is := w[id]
	if !is {
		return approval, ErrGone
	}
	approval.ID = id
	return approval, nil
}

func (w waiting) Decide(_ context.Context, id string, accept bool) (string, error) {
	approval := w[id]
	if approval.Settled != "" {
		return approval.Settled, nil
	}
	approval.Settled = fmt.Sprintf("link said %t.", accept)
	w[id] = approval
	return "", nil
}

type kit struct {
	t        *testing.T
	now      time.Time
	signer   *Signer
	handler  *Handler
	requests waiting
}

func newKit(t *testing.T, requests waiting) *kit {
	k := &kit{t: t, now: time.Unix(1_800_000_000, 0), requests: requests}
	signer, err := NewSigner(NewKey(), func() time.Time { return k.now })
	if err != nil {
		t.Fatal(err)
	}
	k.signer, k.handler = signer, NewHandler(signer, requests, zerolog.Nop())
	return k
}

func (k *kit) do(method, path, decision string) (int, string) {
	k.t.Helper()
	request := httptest.NewRequestWithContext(k.t.Context(), method, path, strings.NewReader(
		url.Values{"decision": {decision}}.Encode()))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer := httptest.NewRecorder()
	k.handler.ServeHTTP(answer, request)
	policy := answer.Header().Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") ||
		answer.Header().Get("Cache-Control") != "no-store" {
		k.t.Errorf("%s has the headers %v", path, answer.Header())
	}
	return answer.Code, answer.Body.String()
}

func (k *kit) want(status int, method, path, decision, words string) {
	k.t.Helper()
	if got, body := k.do(method, path, decision); got != status || !strings.Contains(body, words) {
		k.t.Errorf("%s %s: %d %s\nwant %d with %q", method, decision, got, body, status, words)
	}
}

// Viewing a link decides nothing, however often. A POST decides, and the response to a second one names the first
// decision.
func TestALinkDecidesOnce(t *testing.T) {
	t.Parallel()
	k := newKit(t, waiting{"r1": {Title: "A <title>", Shown: "rm -rf \u202e/tmp\x1b[2J", Whole: true}, "r2": {Whole: true}})
	link := k.signer.PathOf("r1")
	for _, method := range []string{http.MethodGet, http.MethodGet, http.MethodHead} {
		k.want(http.StatusOK, method, link, "accept", `rm -rf \u{202e}/tmp\u{1b}[2J`)
	}
	k.want(http.StatusOK, http.MethodGet, link, "", "A &lt;title&gt;")
	k.want(http.StatusBadRequest, http.MethodPost, link, "perhaps", "Approve or Decline")
	k.want(http.StatusMethodNotAllowed, http.MethodPut, link, "accept", "in a browser")
	if k.requests["r1"].Settled != "" {
		t.Fatal("it was decided by looking")
	}
	k.want(http.StatusOK, http.MethodPost, link, "accept", "Approved")
	k.want(http.StatusGone, http.MethodPost, link, "decline", "link said true.")
	k.want(http.StatusGone, http.MethodGet, link, "", "link said true.")
	if k.requests["r2"].Settled != "" {
		t.Error("another approval was decided")
	}
	k.want(http.StatusOK, http.MethodPost, k.signer.PathOf("r2"), "decline", "Declined")
}

// Invisible characters are escaped, whatever their Unicode category, including in the title and the summary.
func TestNothingIsHiddenOnThePage(t *testing.T) {
	t.Parallel()
	for _, hidden := range []rune{0x3164, 0x2800, 0x034f, 0xfe0f, 0xfe00, 0xe0100, 0x115f, 0x1160, 0xffa0, 0x17b4, 0x180b, 0x200b, 0x200d,
		0x2060, 0x2064, 0x00ad, 0xfeff, 0x202e, 0x2066, 0xe0041, 0x00a0, 0x2003, 0x3000, 0x061c, 0x1d173, 0x7f, 0x9b, '\t', '\r'} {
		k := newKit(t, waiting{"r1": {Title: "t" + string(hidden) + "t", Summary: "s" + string(hidden) + "s",
			Shown: "ls" + string(hidden) + "-a", Whole: true}})
		spelled := fmt.Sprintf(`\u{%x}`, hidden)
		for _, want := range []string{"t" + spelled + "t", "s" + spelled + "s", "ls" + spelled + "-a"} {
			k.want(http.StatusOK, http.MethodGet, k.signer.PathOf("r1"), "", want)
		}
	}
	const shown = "é 한글 ไทย नमस्ते 日本 😀"
	k := newKit(t, waiting{"r1": {Shown: shown, Whole: true}})
	k.want(http.StatusOK, http.MethodGet, k.signer.PathOf("r1"), "", shown)
}

// A link is valid only if it was made here, is unchanged, and is at most an hour old.
func TestALinkThatDoesNotCount(t *testing.T) {
	t.Parallel()
	k := newKit(t, waiting{"r1": {Whole: true}})
	link := k.signer.PathOf("r1")
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(link, Path))
	if err != nil {
		t.Fatal(err)
	}
	for i := range raw {
		raw[i] ^= 1
		k.want(http.StatusNotFound, http.MethodPost, Path+base64.RawURLEncoding.EncodeToString(raw), "accept", "changed on its way")
		raw[i] ^= 1
	}
	for _, path := range []string{Path, Path + "r1", link[:len(link)-2], link + "A", link + "/x"} {
		k.want(http.StatusNotFound, http.MethodPost, path, "accept", "Not decided")
	}
	other := newKit(t, k.requests)
	k.want(http.StatusNotFound, http.MethodPost, other.signer.PathOf("r1"), "accept", "Not decided")
	k.want(http.StatusGone, http.MethodPost, k.signer.PathOf("gone"), "accept", "no longer exists")
	k.now = k.now.Add(lifetime + time.Second)
	k.want(http.StatusGone, http.MethodPost, link, "accept", "expired")
	if k.requests["r1"].Settled != "" {
		t.Error("it was decided")
	}
}

// The page allows only declining a request that it cannot show in full.
func TestWhatIsNotShownIsNotApproved(t *testing.T) {
	t.Parallel()
	k := newKit(t, waiting{"part": {Shown: "some"}, "long": {Shown: strings.Repeat("x", maxShown+1), Whole: true}})
	for id := range k.requests {
		link := k.signer.PathOf(id)
		if status, page := k.do(http.MethodGet, link, ""); status != http.StatusOK || strings.Contains(page, `value="accept"`) ||
			!strings.Contains(page, "too long for this page") {
			t.Errorf("%s: %d %.300s", id, status, page)
		}
		k.want(http.StatusBadRequest, http.MethodPost, link, "accept", "can only be approved in the console")
		k.want(http.StatusOK, http.MethodPost, link, "decline", "Declined")
	}
}

func TestADamagedKey(t *testing.T) {
	t.Parallel()
	if _, err := NewSigner("short", time.Now); err == nil || !strings.Contains(err.Error(), "notify_keys") {
		t.Errorf("it is said: %v", err)
	}
}
