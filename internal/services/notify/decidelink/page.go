package decidelink

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"unicode"

	"github.com/rs/zerolog"
)

// maxShown bounds a request on the page (bytes); a longer one needs the console.
const maxShown = 64 << 10

// Approval is the approval to decide.
type Approval struct {
	ID, Title, Summary string
	// Shown is the approved content as text; Whole is false if it is incomplete.
	Shown string
	Whole bool
	// Settled is the decision, "" while the request is pending.
	Settled string
}

// ErrGone means that the approval no longer exists.
var ErrGone = errors.New("the request no longer exists")

// Approvals has the methods for requests that the page needs.
type Approvals interface {
	// Find reads an approval. ErrGone.
	Find(ctx context.Context, id string) (Approval, error)
	// Decide settles the approval once; settled names an earlier decision.
	Decide(ctx context.Context, id string, accept bool) (settled string, err error)
}

// Handler serves the page of links.
type Handler struct {
	signer    *Signer
	approvals Approvals
	log       zerolog.Logger
	policy    string
}

// NewHandler makes the handler of paths below Path.
func NewHandler(signer *Signer, approvals Approvals, log zerolog.Logger) *Handler {
	sum := sha256.Sum256([]byte(style))
	return &Handler{signer: signer, approvals: approvals, log: log, policy: "default-src 'none'; style-src 'sha256-" +
		base64.StdEncoding.EncodeToString(sum[:]) + "'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"}
}

const style = `body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:44rem;padding:0 1rem}` +
	`pre{background:#8882;padding:1rem;white-space:pre-wrap;overflow-wrap:anywhere}` +
	`button{font:inherit;padding:.6rem 1.4rem;margin-right:1rem}:root{color-scheme:light dark}`

// view is the content of the page: an approval to decide, or a text about its outcome.
type view struct {
	Heading, Words string
	Approval       *Approval
}

func page() (*template.Template, error) {
	return template.New("page").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex"><title>{{.Heading}}</title><style>` + style + `</style></head><body>
<main><h1>{{.Heading}}</h1>{{with .Words}}<p>{{.}}</p>{{end}}{{with .Approval}}<p>{{.Title}}</p><p>{{.Summary}}</p>
<pre>{{.Shown}}</pre>{{if not .Whole}}<p>It is too long for this page. To approve it, open it in the console.</p>{{end}}
<form method="post">{{if .Whole}}<button name="decision" value="accept">Approve</button>{{end}}
<button name="decision" value="decline">Decline</button></form>{{end}}</main></body></html>
`)
}

// ServeHTTP shows an approval (GET), or decides it (POST).
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status, shown := h.answer(w, r)
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Security-Policy", h.policy)
	header.Set("X-Content-Type-Options", "nosniff")
	// Not no-referrer: with it, browsers do not mark a form as submitted from this page's origin.
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Robots-Tag", "noindex")
	parsed, err := page()
	if err != nil {
		h.log.Error().Err(err).Msg("cannot render the page of a decide link")
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.WriteHeader(status)
	if err := parsed.Execute(w, shown); err != nil {
		h.log.Debug().Err(err).Msg("page of a decide link not read to its end")
	}
}

func (h *Handler) answer(w http.ResponseWriter, r *http.Request) (int, view) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodPost {
		w.Header().Set("Allow", "GET, HEAD, POST")
		return http.StatusMethodNotAllowed, view{Heading: "Not decided", Words: "Open this link in a browser."}
	}
	id, err := h.signer.requestOf(strings.TrimPrefix(r.URL.Path, Path))
	if err != nil {
		status := http.StatusNotFound
		if errors.Is(err, errExpired) {
			status = http.StatusGone
		}
		return status, view{Heading: "Not decided", Words: sentence(err) + " Open the session in the console."}
	}
	approval, err := h.approvals.Find(r.Context(), id)
	switch {
	case errors.Is(err, ErrGone):
		return http.StatusGone, view{Heading: "Not decided", Words: sentence(err)}
	case err != nil:
		return h.failed(err)
	case approval.Settled != "":
		return http.StatusGone, view{Heading: "Already decided", Words: approval.Settled}
	}
	approval.Title, approval.Summary, approval.Shown = plain(approval.Title), plain(approval.Summary), plain(approval.Shown)
	approval.Whole = approval.Whole && len(approval.Shown) <= maxShown
	approval.Shown = strings.ToValidUTF8(approval.Shown[:min(len(approval.Shown), maxShown)], "")
	if r.Method != http.MethodPost {
		return http.StatusOK, view{Heading: "Approve this?", Approval: &approval}
	}
	return h.decide(w, r, approval)
}

func (h *Handler) decide(w http.ResponseWriter, r *http.Request, approval Approval) (int, view) {
	r.Body = http.MaxBytesReader(w, r.Body, 1<<10)
	decision := r.PostFormValue("decision")
	if decision != "decline" && (decision != "accept" || !approval.Whole) {
		return http.StatusBadRequest, view{Heading: "Not decided", Approval: &approval,
			Words: "Choose Approve or Decline. A request that doesn’t fit on this page can only be approved in the console."}
	}
	settled, err := h.approvals.Decide(r.Context(), approval.ID, decision == "accept")
	switch {
	case err != nil:
		return h.failed(err)
	case settled != "":
		return http.StatusGone, view{Heading: "Already decided", Words: settled}
	case decision == "accept":
		return http.StatusOK, view{Heading: "Approved", Words: "The agent continues. You can close this page."}
	}
	return http.StatusOK, view{Heading: "Declined", Words: "The agent got your answer. You can close this page."}
}

func (h *Handler) failed(err error) (int, view) {
	h.log.Error().Err(err).Msg("cannot answer a decide link")
	return http.StatusServiceUnavailable, view{Heading: "Not decided",
		Words: "The server couldn’t decide it now. Try again, or open the session in the console."}
}

func sentence(err error) string {
	text := err.Error()
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// plain escapes characters that are invisible, look like a space, or change how others look.
func plain(text string) string {
	var out strings.Builder
	for _, r := range text {
		if r == '\n' || unicode.IsPrint(r) && !unseen(r) {
			out.WriteRune(r)
		} else {
			_, _ = fmt.Fprintf(&out, "\\u{%x}", r) // a builder never fails to write
		}
	}
	return out.String()
}

// unseen reports characters that are invisible although Unicode classes them as letters, marks or signs: the default
// ignorable ones, and the blank Braille pattern.
func unseen(r rune) bool {
	return r == '\u2800' || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
