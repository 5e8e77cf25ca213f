// Package compress compresses responses for clients that accept it.
//
// It owns the meaning of Accept-Encoding. It must never know the content of a response.
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

// gzipFrom is the minimum size in bytes of a compressed response. A smaller response fits into one packet
// uncompressed.
const gzipFrom = 1024

// Coder compresses responses on request. Its zero value is ready.
//
// The length of a compressed response can reveal whether one party's text occurs in another party's secret, if the
// response contains both. No response contains a credential, and readers of a client's text may read the rest of the
// response.
type Coder struct{ writers sync.Pool }

// Coding is the encoding that a request accepts. A nil Coder means uncompressed.
type Coding struct {
	*Coder
	// always compresses regardless of size, because the client refuses plain responses.
	always bool
}

// Wanted parses a request's Accept-Encoding. It chooses gzip unless the client prefers an uncompressed response. A
// client that refuses both gets an uncompressed one.
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

// quality parses the weight of one coding, 1 by default. A weight that is not a number from 0 to 1 refuses the
// coding.
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

// Encode compresses a body that is large enough, if the client accepts that, and sets the header.
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
		return body // a buffer accepts every write; plain is always correct
	}
	header.Set("Content-Encoding", "gzip")
	return packed.Bytes()
}

// Writer compresses to w.
func (c *Coder) Writer(w io.Writer) *gzip.Writer {
	writer, ok := c.writers.Get().(*gzip.Writer)
	if !ok {
		writer, _ = gzip.NewWriterLevel(nil, gzip.BestSpeed) // fails only for unknown levels
	}
	writer.Reset(w)
	return writer
}

// Free returns a writer to the pool.
func (c *Coder) Free(writer *gzip.Writer) { c.writers.Put(writer) }

// Name returns the name of a response's version in this coding.
func (c Coding) Name(version string) string {
	if c.Coder == nil {
		return version
	}
	return version + " gzip"
}
