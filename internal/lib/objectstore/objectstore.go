// Package objectstore keeps bytes in a bucket of an S3-compatible store.
//
// It owns the requests to that store and the meaning of their failures. It must never know the meaning of the bytes, or
// which of them are still needed.
package objectstore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// Options locate the store. All but Prefix are required.
type Options struct {
	// Endpoint is its URL. Bucket must exist. Prefix is the prefix of all object names in it.
	Endpoint, Region, Bucket, Prefix string
	AccessKeyID, SecretAccessKey     string
}

// Store is a bucket, safe for concurrent use. Requests name its objects below the path of the bucket.
type Store struct {
	opts   Options
	bucket *url.URL
	keys   aws.Credentials
	signer *v4.Signer
	client *http.Client
}

// ErrNotFound means that there is no such object. It is an fs.ErrNotExist.
var ErrNotFound = fmt.Errorf("there is no such object: %w", fs.ErrNotExist)

// answerPatience bounds the time to the first byte of a response.
const answerPatience = 30 * time.Second

// Open makes a Store without sending a request; see Check.
func Open(opts Options) (*Store, error) {
	endpoint, err := url.Parse(opts.Endpoint)
	if err != nil || endpoint.Host == "" {
		return nil, errors.New("the endpoint of the object store is not a URL")
	}
	return &Store{opts: opts, bucket: endpoint.JoinPath(opts.Bucket),
		keys: aws.Credentials{AccessKeyID: opts.AccessKeyID, SecretAccessKey: opts.SecretAccessKey},
		// S3 signs paths as they are sent.
		signer: v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }),
		client: &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true,
			ResponseHeaderTimeout: answerPatience, IdleConnTimeout: time.Minute}}}, nil
}

// refusedError is a response that refuses a request.
type refusedError struct {
	status        int
	Code, Message string
}

// Error implements error.
func (e *refusedError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("the object store answered %d %s %s", e.status, e.Code, e.Message))
}

// request sends a signed request (AWS Signature Version 4) and returns its response, or a *refusedError. The caller
// closes the body. name is "" for the bucket itself.
func (s *Store) request(ctx context.Context, method, name string, query url.Values, header http.Header, content []byte) (
	*http.Response, error) {
	target := s.bucket
	if name != "" {
		target = target.JoinPath(strings.Split(s.opts.Prefix+name, "/")...)
	}
	asked := *target
	asked.RawQuery = strings.ReplaceAll(query.Encode(), "+", "%20")
	request, err := http.NewRequestWithContext(ctx, method, asked.String(), bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	for member, values := range header {
		request.Header[member] = values
	}
	sum := sha256.Sum256(content)
	hash := hex.EncodeToString(sum[:])
	request.Header.Set("X-Amz-Content-Sha256", hash)
	if err := s.signer.SignHTTP(ctx, s.keys, request, hash, "s3", s.opts.Region, time.Now()); err != nil {
		return nil, fmt.Errorf("sign a request: %w", err)
	}
	answer, err := s.client.Do(request)
	if err != nil || answer.StatusCode < http.StatusMultipleChoices {
		return answer, err
	}
	refused := &refusedError{status: answer.StatusCode}
	if text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<16)); err == nil {
		_ = xml.Unmarshal(text, refused) // the status is sufficient
	}
	return nil, errors.Join(refused, answer.Body.Close())
}

// do is request for a response without a relevant body.
func (s *Store) do(ctx context.Context, method, name string, query url.Values, header http.Header, content []byte) (http.Header, error) {
	answer, err := s.request(ctx, method, name, query, header, content)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return answer.Header, errors.Join(err, answer.Body.Close())
}

// status returns the HTTP status of a refusal, 0 for other errors.
func status(err error) int {
	if refused := (*refusedError)(nil); errors.As(err, &refused) {
		return refused.status
	}
	return 0
}

// Check returns an error with a remedy if the bucket cannot be reached.
func (s *Store) Check(ctx context.Context) error {
	_, err := s.list(ctx, "", "", 1)
	switch {
	case err == nil:
		return nil
	case status(err) == http.StatusNotFound:
		return fmt.Errorf("the object store has no bucket %q: create it, or set another one in HARNESS_S3_URL", s.opts.Bucket)
	}
	return fmt.Errorf("the object store does not let in or does not answer (check HARNESS_S3_URL, the keys and the "+
		"region): %w", err)
}

// Put stores a new object. An existing one stays unchanged, without an error.
func (s *Store) Put(ctx context.Context, name string, content []byte) error {
	_, err := s.do(ctx, http.MethodPut, name, nil, http.Header{"If-None-Match": {"*"}, // a second write changes nothing
		"Content-Type": {"application/octet-stream"}}, content)
	if err != nil && status(err) != http.StatusPreconditionFailed {
		return fmt.Errorf("store object %s: %w", name, err)
	}
	return nil
}

// Remove deletes an object; a missing one is no error.
func (s *Store) Remove(ctx context.Context, name string) error {
	_, err := s.do(ctx, http.MethodDelete, name, nil, nil, nil)
	if err != nil && status(err) != http.StatusNotFound {
		return fmt.Errorf("remove object %s: %w", name, err)
	}
	return nil
}

// listing is a page of ListObjectsV2.
type listing struct {
	Contents []struct {
		Key          string
		LastModified time.Time
	}
	NextContinuationToken string
}

func (s *Store) list(ctx context.Context, begins, from string, most int) (page listing, err error) {
	query := url.Values{"list-type": {"2"}, "prefix": {s.opts.Prefix + begins}, "max-keys": {fmt.Sprint(most)}}
	if from != "" {
		query.Set("continuation-token", from)
	}
	answer, err := s.request(ctx, http.MethodGet, "", query, nil, nil)
	if err != nil {
		return page, err
	}
	err = xml.NewDecoder(answer.Body).Decode(&page)
	return page, errors.Join(err, answer.Body.Close())
}

// Each calls visit with every object with a prefix, in the order of their names, until visit fails.
func (s *Store) Each(ctx context.Context, begins string, visit func(name string, changed time.Time) error) error {
	for from := ""; ; {
		page, err := s.list(ctx, begins, from, 1000)
		if err != nil {
			return fmt.Errorf("list the objects of the store: %w", err)
		}
		for _, one := range page.Contents {
			if err := visit(strings.TrimPrefix(one.Key, s.opts.Prefix), one.LastModified); err != nil {
				return err
			}
		}
		if from = page.NextContinuationToken; from == "" {
			return nil
		}
	}
}
