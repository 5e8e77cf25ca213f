// Package compress compresses answers for clients that take them so.
//
// It owns what Accept-Encoding means. It must never know what is answered.
package compress

import (
	"bytes"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// gzipFrom is the size in bytes from which an answer is worth compressing: a smaller one fits into one packet as it is.
const gzipFrom = 1024

// Coder compresses answers of requests that ask for it. Its zero value is ready.
//
// Compressed answers leak, by their length, whether what one party wrote occurs in what another one keeps secret, when
// both are in one answer. No answer holds a credential; what clients wrote is read by those who may read the rest of
// the answer.
type Coder struct{ writers sync.Pool }

// Coding is how a request wants its answer. A nil Coder stands for plain.
type Coding struct {
	*Coder
	// always asks for gzip whatever the size, because the client refuses plain answers.
	always bool
}

// Wanted reads a request's Accept-Encoding. gzip is used when the client takes it no less gladly than the plain answer.
// A client that refuses both gets the plain one.
func (c *Coder) Wanted(r *http.Request) Coding {
	zipped, plain, rest := -1.0, -1.0, -1.0
	for _, header := range r.Header.Values("Accept-Encoding") {
		for entry := range strings.SplitSeq(header, ",") {
			name, parameter, _ := strings.Cut(entry, ";")
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "gzip", "x-gzip":
				zipped = max(zipped, quality(parameter))
			case "identity":
				plain = quality(parameter)
			case "*":
				rest = quality(parameter)
			}
		}
	}
	if zipped < 0 {
		zipped = max(rest, 0)
	}
	refusesPlain := plain == 0 || plain < 0 && rest == 0
	if zipped == 0 || zipped < plain {
		return Coding{}
	}
	return Coding{Coder: c, always: refusesPlain}
}

// quality reads the weight of one coding, 1 when there is none; one that is no number from 0 to 1 refuses the coding.
func quality(parameter string) float64 {
	name, value, given := strings.Cut(parameter, "=")
	if !given || !strings.EqualFold(strings.TrimSpace(name), "q") {
		return 1
	}
	q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil || math.IsNaN(q) || q < 0 || q > 1 {
		return 0
	}
	return q
}

// Encode compresses a body if that is wanted and worth it, and says so in the header.
func (c Coding) Encode(header http.Header, body []byte) []byte {
	if len(body) >= gzipFrom {
		header.Add("Vary", "Accept-Encoding")
	}
	if c.Coder == nil || len(body) == 0 || len(body) < gzipFrom && !c.always {
		return body
	}
	packed := bytes.NewBuffer(make([]byte, 0, len(body)/4+64))
	writer := c.Writer(packed)
	defer c.Free(writer)
	if _, err := writer.Write(body); err != nil || writer.Close() != nil {
		return body // a buffer takes everything; plain is right in any case
	}
	header.Set("Content-Encoding", "gzip")
	return packed.Bytes()
}

// Writer is one that compresses to w.
func (c *Coder) Writer(w io.Writer) *gzip.Writer {
	writer, ok := c.writers.Get().(*gzip.Writer)
	if !ok {
		writer, _ = gzip.NewWriterLevel(nil, gzip.BestSpeed) // fails for unknown levels only
	}
	writer.Reset(w)
	return writer
}

// Free keeps a writer for another answer.
func (c *Coder) Free(writer *gzip.Writer) { c.writers.Put(writer) }

// Name names an answer of that version in this coding.
func (c Coding) Name(version string) string {
	if c.Coder == nil {
		return version
	}
	return version + " gzip"
}
