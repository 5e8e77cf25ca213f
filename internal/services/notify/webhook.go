package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"harness/internal/lib/javascript"
)

// webhook sends messages as specified by Standard Webhooks.
type webhook struct {
	url string
	key []byte
}

// NewWebhook makes a target for signed JSON. A secret is whsec_ and the key in base64, or the key itself.
func NewWebhook(url, secret string) (Target, error) {
	if !isEndpoint(url) {
		return nil, errors.New("HARNESS_NOTIFY_WEBHOOK_URL must be an http or https URL (its value may be secret and is not shown)")
	}
	key := []byte(secret)
	if encoded, is := strings.CutPrefix(secret, "whsec_"); is {
		var err error
		if key, err = base64.StdEncoding.DecodeString(encoded); err != nil {
			return nil, errors.New("the webhook secret must be whsec_ and base64: create one with " +
				"`echo whsec_$(openssl rand -base64 32)`")
		}
	}
	if len(key) < 16 {
		return nil, errors.New("the secret of the webhook has less than 16 bytes: make one with " +
			"`echo whsec_$(openssl rand -base64 32)`")
	}
	return &webhook{url, key}, nil
}

func (w *webhook) Name() string { return Webhook }

func (w *webhook) Request(ctx context.Context, m Message) (*http.Request, error) {
	type data struct {
		News
		Kind   Kind   `json:"kind,omitempty"` // the member type has it
		Title  string `json:"title"`
		Link   string `json:"link,omitempty"`
		Decide string `json:"decideLink,omitempty"`
	}
	body, err := json.Marshal(struct {
		Type      Kind   `json:"type"`
		Timestamp string `json:"timestamp"`
		Data      data   `json:"data"`
	}{m.Kind, javascript.ISOTime(m.At), data{News: m.News, Title: m.Title, Link: m.Link, Decide: m.Decide}})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the URL of the webhook is none")
	}
	at := strconv.FormatInt(time.Now().Unix(), 10)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Webhook-Id", m.ID)
	request.Header.Set("Webhook-Timestamp", at)
	request.Header.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(w.sign(m.ID+"."+at+"."+string(body))))
	return request, nil
}

func (w *webhook) sign(text string) []byte {
	mac := hmac.New(sha256.New, w.key)
	_, _ = mac.Write([]byte(text)) // a hash never fails to write
	return mac.Sum(nil)
}
