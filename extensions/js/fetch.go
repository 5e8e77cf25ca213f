package js

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of fetch.
const (
	// maxBody is the maximum length of a response body in bytes, decompressed.
	maxBody = 4 << 20
	// maxHeaders bounds the headers of a response in bytes.
	maxHeaders = 256 << 10
	// maxRedirects is the maximum number of redirects.
	maxRedirects = 10
	// fetchTimeout bounds one fetch, in addition to the handler's timeout.
	fetchTimeout = 30 * time.Second
	// maxFetches is the maximum number of concurrent fetches of one extension; others wait.
	maxFetches = 8
)

// fetchAdvice is the error of fetch in an extension whose manifest does not declare it.
const fetchAdvice = `fetch is not declared: name the hosts in the manifest, as in "capabilities": {"host": ["net:api.example.com"]}`

// network holds the hosts from which an extension may fetch, nil without a declaration.
type network struct {
	client *http.Client
	tokens chan struct{}
}

// newNetwork makes a client without proxy, credentials or cookies that reaches only the hosts that the rules allow.
func newNetwork(rules []netRule, own func() string) *network {
	return &network{
		tokens: make(chan struct{}, maxFetches),
		client: &http.Client{Transport: &http.Transport{
			DialContext: dialer{rules: rules, own: own}.dial, MaxResponseHeaderBytes: maxHeaders,
			// A kept connection would need an owner after the fetch.
			DisableKeepAlives: true,
		}},
	}
}

// fetchRequest and fetchResponse are the messages of web/fetch.js. One of text and base64 is set.
type fetchRequest struct {
	URL      string      `json:"url"`
	Method   string      `json:"method"`
	Redirect string      `json:"redirect"`
	Headers  [][2]string `json:"headers"`
	Text     string      `json:"text"`
	Base64   string      `json:"base64"`
}

type fetchResponse struct {
	URL        string      `json:"url"`
	Redirected bool        `json:"redirected"`
	Status     int         `json:"status"`
	StatusText string      `json:"statusText"`
	Headers    [][2]string `json:"headers"`
	Text       *string     `json:"text,omitempty"`
	Base64     string      `json:"base64,omitempty"`
}

// fetch implements JavaScript's fetch.
func (m *module) fetch(ctx context.Context, _ *invocation, _, arguments string) (json.RawMessage, error) {
	if m.network == nil {
		return nil, errors.New(fetchAdvice)
	}
	var requests []fetchRequest
	if err := json.Unmarshal([]byte(arguments), &requests); err != nil || len(requests) != 1 {
		return nil, errors.New("fetch failed: the request can not be read")
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	select {
	case m.network.tokens <- struct{}{}:
		defer func() { <-m.network.tokens }()
	case <-ctx.Done():
		return nil, fmt.Errorf("fetch failed: %w", ctx.Err())
	}
	response, err := m.network.fetch(ctx, requests[0])
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		return nil, fmt.Errorf("fetch failed: %w", err)
	}
	return json.Marshal(response)
}

// hopByHop reports headers of the connection, which the extension does not control. Without Accept-Encoding the client
// decompresses the body.
func hopByHop(name string) bool {
	switch name = http.CanonicalHeaderKey(name); name {
	case "Host", "Connection", "Keep-Alive", "Transfer-Encoding", "Content-Length", "Te", "Trailer", "Upgrade", "Expect",
		"Accept-Encoding":
		return true
	}
	return strings.HasPrefix(name, "Proxy-")
}

func (n *network) fetch(ctx context.Context, in fetchRequest) (out fetchResponse, err error) {
	body := []byte(in.Text)
	if in.Base64 != "" {
		if body, err = base64.StdEncoding.DecodeString(in.Base64); err != nil {
			return out, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, in.Method, in.URL, bytes.NewReader(body))
	if err != nil {
		return out, err
	}
	request.Header.Set("User-Agent", "harness-extension")
	for _, header := range in.Headers {
		if !hopByHop(header[0]) {
			request.Header.Set(header[0], header[1])
		}
	}
	client := *n.client
	client.CheckRedirect = func(_ *http.Request, via []*http.Request) error {
		switch {
		case in.Redirect == "manual":
			return http.ErrUseLastResponse
		case in.Redirect == "error":
			return errors.New("unexpected redirect")
		case len(via) > maxRedirects:
			return fmt.Errorf("more than %d redirects", maxRedirects)
		}
		out.Redirected = true
		return nil
	}
	response, err := client.Do(request)
	if err != nil {
		return out, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	if err != nil {
		return out, err
	}
	if len(content) > maxBody {
		return out, fmt.Errorf("the answer is longer than %d bytes", maxBody)
	}
	final := *response.Request.URL
	final.Fragment, final.RawFragment = "", ""
	out.URL, out.Status = final.String(), response.StatusCode
	out.StatusText = strings.TrimSpace(strings.TrimPrefix(response.Status, strconv.Itoa(response.StatusCode)))
	out.Headers = [][2]string{}
	for name, values := range response.Header {
		for _, value := range values {
			out.Headers = append(out.Headers, [2]string{name, value})
		}
	}
	if utf8.Valid(content) {
		text := string(content)
		out.Text = &text
	} else {
		out.Base64 = base64.StdEncoding.EncodeToString(content)
	}
	return out, nil
}
