// Package fetch provides the tool that reads from the web, http.fetch. It is off by default, and reaches public
// addresses, or only the configured hosts.
package fetch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"harness/internal/lib/reach"
	"harness/internal/services/tools"
)

// Name is the tool's name.
const Name = "http.fetch"

const (
	input = `{"type":"object","properties":{"url":{"type":"string"},"max_bytes":{"type":"integer","minimum":0}},` +
		`"required":["url"],"additionalProperties":false}`
	output = `{"type":"object","properties":{"url":{"type":"string"},"status":{"type":"integer"},` +
		`"content_type":{"type":"string"},"content":{"type":"string"},"truncated":{"type":"boolean"}},` +
		`"required":["url","status","content_type","content","truncated"],"additionalProperties":false}`
	redirects = 5
	usual     = 256 << 10
)

// Options limit what the tool fetches.
type Options struct {
	// Hosts are the allowed hosts, with a port if it differs from the scheme's, whatever their addresses are; empty:
	// every host with a public address.
	Hosts []string
	// MaxBytes bounds a response (default 256 KiB).
	MaxBytes int
	// Timeout bounds a fetch; 0 leaves it to the executor.
	Timeout time.Duration
}

type wanted struct {
	URL      string `json:"url"`
	MaxBytes *int   `json:"max_bytes"`
}

type result struct {
	URL         string `json:"url"`
	Status      int    `json:"status"`
	ContentType string `json:"content_type"`
	Content     string `json:"content"`
	Truncated   bool   `json:"truncated"`
}

// Tool makes the tool.
func Tool(options Options) tools.Tool {
	if options.MaxBytes <= 0 {
		options.MaxBytes = usual
	}
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	if len(options.Hosts) == 0 {
		dialer.ControlContext = publicOnly
	}
	client := &http.Client{
		// No proxy: it would reach addresses that are forbidden here.
		Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true,
			ResponseHeaderTimeout: 30 * time.Second, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: 64 << 10},
		CheckRedirect: func(to *http.Request, via []*http.Request) error {
			if len(via) > redirects {
				return fmt.Errorf("more than %d redirections", redirects)
			}
			return options.allowed(to.URL)
		},
	}
	return tools.Tool{
		Name: Name, Description: "Fetch a text from the web with GET.", Class: tools.Network, Input: json.RawMessage(input),
		Output: json.RawMessage(output), Timeout: options.Timeout,
		Run: func(ctx context.Context, job tools.Job) (json.RawMessage, error) {
			var want wanted
			if err := json.Unmarshal(job.Input, &want); err != nil {
				return nil, fmt.Errorf("read the input: %w", err)
			}
			out, err := options.fetch(ctx, client, want)
			if err != nil {
				return nil, err
			}
			return json.Marshal(out)
		},
	}
}

// publicOnly checks the resolved address of a name when the connection opens: earlier lookups do not matter.
func publicOnly(_ context.Context, _, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if reach.Of(at.Addr()) != reach.Public {
		return tools.Failf("the address %s is not a public one; the operator can list hosts that may be reached", at.Addr())
	}
	return nil
}

func (o Options) allowed(to *url.URL) error {
	switch {
	case to.Scheme != "http" && to.Scheme != "https":
		return tools.Failf("the scheme %q is not fetched; http and https are", to.Scheme)
	case to.User != nil:
		return tools.Failf("an address with a password is not fetched")
	case len(o.Hosts) > 0 &&
		!slices.ContainsFunc(o.Hosts, func(host string) bool { return strings.EqualFold(host, to.Host) }):
		return tools.Failf("%s is none of the hosts that may be reached: %s", to.Host, strings.Join(o.Hosts, ", "))
	}
	return nil
}

func (o Options) fetch(ctx context.Context, client *http.Client, want wanted) (out result, err error) {
	address, err := url.Parse(want.URL)
	if err != nil {
		return out, err
	}
	if err := o.allowed(address); err != nil {
		return out, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return out, err
	}
	answer, err := client.Do(request)
	if err != nil {
		return out, err
	}
	defer answer.Body.Close()
	limit := o.MaxBytes
	if want.MaxBytes != nil {
		limit = min(limit, *want.MaxBytes)
	}
	content, err := io.ReadAll(io.LimitReader(answer.Body, int64(limit)+1))
	if err != nil {
		return out, err
	}
	out = result{URL: answer.Request.URL.String(), Status: answer.StatusCode,
		ContentType: answer.Header.Get("Content-Type")}
	if out.Truncated = len(content) > limit; out.Truncated {
		content = content[:limit]
		for cut := 0; cut < utf8.UTFMax && len(content) > 0 &&
			!utf8.Valid(content[max(0, len(content)-utf8.UTFMax):]); cut++ {
			content = content[:len(content)-1]
		}
	}
	if !utf8.Valid(content) {
		return result{}, errors.New("the answer is no UTF-8 text")
	}
	out.Content = string(content)
	return out, nil
}
