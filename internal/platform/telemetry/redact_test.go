package telemetry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"
)

// canaries are secrets of every difficult kind: quotes, escapes, HTML, UTF-8, several lines, one inside another, two
// that overlap.
var canaries = []string{
	"sk-canary-plain-0001",
	`canary"quoted\back/slash`,
	"canary<html>&amp",
	"canary-émigré-☃",
	"canary\nof\ttwo lines",
	"canary-outer-canary-plain-inner",
	"overlap-AAAA-shared",
	"shared-BBBB-overlap",
	"nabc",
}

// leaks returns the parts of canaries that are readable in a text.
func leaks(text string) []string {
	var found []string
	for _, c := range canaries[:8] {
		if strings.Contains(text, c) {
			found = append(found, c)
		}
	}
	for _, part := range []string{"canary", "AAAA", "BBBB", "quoted", "émigré", "of\\ttwo"} {
		if strings.Contains(text, part) {
			found = append(found, part)
		}
	}
	return found
}

// Canaries in every part of a line are redacted.
func TestNoCanaryReachesALine(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"json", "console"} {
		for i, secret := range canaries[:8] {
			t.Run(fmt.Sprint(format, i), func(t *testing.T) {
				t.Parallel()
				var buf bytes.Buffer
				log := NewLogger(LogOptions{Out: &buf, Format: format, Secrets: canaries})
				raw, err := json.Marshal(map[string]string{"token": secret})
				if err != nil {
					t.Fatal(err)
				}
				log.Error().
					Str("a", secret).Str("b", "x"+secret+"y").
					Err(errors.New("dial "+secret)).
					RawJSON("raw", raw).Str("frame", string(raw)).Bytes("bytes", raw).
					Interface("any", map[string]any{"deep": []string{secret}}).
					Str("url", "http://h/?t="+url.QueryEscape(secret)+"&p="+url.PathEscape(secret)).
					Strs(secret, []string{secret, secret + secret}).
					Dict("d", zerolog.Dict().Str("k", secret)).
					Msg("got " + secret)
				if found := leaks(buf.String()); found != nil {
					t.Errorf("%q shown in %s", found, buf.String())
				}
				if format == "json" && !json.Valid(buf.Bytes()) {
					t.Errorf("no longer JSON: %s", buf.String())
				}
			})
		}
	}
}

// Libraries log a connection string's parts as separate fields: each part is a secret by itself, whatever is between
// them.
func TestSecretInPartsOverSeveralFields(t *testing.T) {
	t.Parallel()
	var buf bytes.Buffer
	log := NewLogger(LogOptions{Out: &buf, Format: "json", Secrets: []string{"pa55-canary"}})
	log.Info().Str("user", "me").Str("password", "pa55-canary").Str("dsn", "postgres://me:pa55-canary@h/n").Msg("connect")
	if strings.Contains(buf.String(), "canary") || strings.Count(buf.String(), Redacted) != 2 {
		t.Error(buf.String())
	}
}

func TestOverlappingSecretsLeaveNoTail(t *testing.T) {
	t.Parallel()
	r := NewRedactor(canaries...)
	got := r.String("<overlap-AAAA-shared-BBBB-overlap> <canary-outer-canary-plain-inner>")
	if want := "<" + Redacted + "> <" + Redacted + ">"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestEscapesStayWhole(t *testing.T) {
	t.Parallel()
	// The text is a newline and "abc", not the secret "nabc".
	var buf bytes.Buffer
	log := NewLogger(LogOptions{Out: &buf, Format: "json", Secrets: []string{"nabc"}})
	log.Info().Str("not", "\nabc").Str("is", `\nabc`).Send()
	m := line(t, &buf)
	if m["not"] != "\nabc" || m["is"] != `\`+Redacted {
		t.Errorf("line = %q", m)
	}
}

func TestSecretTornBetweenWrites(t *testing.T) {
	t.Parallel()
	const secret = "torn-canary-0123456789"
	text := "{\"a\":\"" + secret + "\"}\nplain " + secret + " end\n"
	for cut := range len(text) {
		var buf bytes.Buffer
		w := NewRedactor(secret).Lines(&buf)
		for _, part := range []string{text[:cut], text[cut:]} {
			if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
				t.Fatalf("Write = %d, %v", n, err)
			}
		}
		if want := strings.ReplaceAll(text, secret, Redacted); buf.String() != want {
			t.Fatalf("cut at %d: %q", cut, buf.String())
		}
	}
}

func TestEndlessLineIsBoundedAndRedacted(t *testing.T) {
	t.Parallel()
	const secret = "endless-canary-0123456789"
	var buf bytes.Buffer
	w := NewRedactor(secret).Lines(&buf)
	chunk := strings.Repeat("z", 100) + secret
	for range 5000 { // half a megabyte without a line end, in 7-byte pieces
		for part := chunk; part != ""; {
			n := min(7, len(part))
			if _, err := w.Write([]byte(part[:n])); err != nil {
				t.Fatal(err)
			}
			part = part[n:]
		}
	}
	if held := len(w.(*lineWriter).held); held > maxHeld {
		t.Errorf("%d bytes held", held)
	}
	if _, err := w.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	if want := strings.Repeat(strings.Repeat("z", 100)+Redacted, 5000) + "\n"; buf.String() != want {
		t.Errorf("output differs: %d bytes, want %d", buf.Len(), len(want))
	}
}

func TestConcurrentLinesStayWhole(t *testing.T) {
	t.Parallel()
	var buf bytes.Buffer
	log := NewLogger(LogOptions{Out: &buf, Format: "json", Secrets: canaries})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				log.Info().Str("s", canaries[0]).Msg("x")
			}
		})
	}
	wg.Wait()
	lines := strings.Split(strings.TrimSpace(buf.String()), "\n")
	if len(lines) != 1600 {
		t.Fatalf("%d lines", len(lines))
	}
	for _, l := range lines {
		if !json.Valid([]byte(l)) || strings.Contains(l, "canary") {
			t.Fatalf("line %q", l)
		}
	}
}

func TestShortValuesAreNoSecrets(t *testing.T) {
	t.Parallel()
	if got := NewRedactor("", "a", "abc").String("a abc"); got != "a abc" {
		t.Errorf("got %q", got)
	}
	var buf bytes.Buffer
	if w := NewRedactor().Lines(&buf); w != &buf {
		t.Error("a writer without secrets is wrapped")
	}
}

func TestWriteErrorIsReported(t *testing.T) {
	t.Parallel()
	w := NewRedactor("secret").Lines(brokenWriter{})
	if _, err := w.Write([]byte("x\n")); !errors.Is(err, errBroken) {
		t.Errorf("err = %v", err)
	}
}

var errBroken = errors.New("broken")

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }
