package notify

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// ntfy sends to a topic of ntfy.
type ntfy struct{ url, token string }

// NewNtfy makes a target of a topic's URL. The URL's password is the access token, which is sent as a header.
func NewNtfy(topic string) (Target, error) {
	place, err := url.Parse(topic)
	if err != nil || !isEndpoint(topic) {
		return nil, errors.New("HARNESS_NOTIFY_NTFY_URL must be an http or https URL (its value may be secret and is not shown)")
	}
	token, _ := place.User.Password()
	place.User = nil
	return &ntfy{place.String(), token}, nil
}

func (n *ntfy) Name() string { return Ntfy }

func (n *ntfy) Request(ctx context.Context, m Message) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, n.url, strings.NewReader(cmp.Or(m.Title,
		"A session without a title")))
	if err != nil {
		return nil, errors.New("the URL of ntfy is none")
	}
	request.Header.Set("Content-Type", "text/plain; charset=utf-8")
	request.Header.Set("Title", m.Kind.words())
	request.Header.Set("Tags", string(m.Kind))
	if m.Kind.waits() {
		request.Header.Set("Priority", "high")
	}
	if m.Link != "" {
		request.Header.Set("Click", m.Link)
	}
	if m.Decide != "" {
		request.Header.Set("Actions", "view, Decide, "+m.Decide)
	}
	if n.token != "" {
		request.Header.Set("Authorization", "Bearer "+n.token)
	}
	return request, nil
}
