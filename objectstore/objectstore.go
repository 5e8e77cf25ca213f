// Package objectstore keeps bytes in a bucket of an S3-compatible store.
//
// It owns the requests to that store and what their failures mean. It must never know what the bytes are, nor which of
// them are still wanted.
package objectstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// Options say where the store is. All but Prefix are required.
type Options struct {
	// Endpoint is its URL, Bucket is there already, and Prefix begins the names of all objects in it.
	Endpoint, Region, Bucket, Prefix string
	AccessKeyID, SecretAccessKey     string
}

// Store is a bucket, safe for concurrent use.
type Store struct {
	client         *minio.Client
	bucket, prefix string
}

// ErrNotFound means that there is no such object.
var ErrNotFound = errors.New("there is no such object")

// Open makes a Store. It asks nobody yet; see Check.
func Open(opts Options) (*Store, error) {
	endpoint, err := url.Parse(opts.Endpoint)
	if err != nil {
		return nil, errors.New("the endpoint of the object store is no URL")
	}
	client, err := minio.New(endpoint.Host, &minio.Options{Secure: endpoint.Scheme == "https", Region: opts.Region,
		Creds: credentials.NewStaticV4(opts.AccessKeyID, opts.SecretAccessKey, "")})
	if err != nil {
		return nil, fmt.Errorf("the object store: %w", err)
	}
	client.SetAppInfo("harness", "")
	return &Store{client, opts.Bucket, opts.Prefix}, nil
}

// Check tells whether the bucket can be reached, with the remedy when it cannot.
func (s *Store) Check(ctx context.Context) error {
	found, err := s.client.BucketExists(ctx, s.bucket)
	if err != nil {
		return fmt.Errorf("the object store does not let in or does not answer (check HARNESS_S3_ENDPOINT, the keys and the "+
			"region): %w", err)
	}
	if !found {
		return fmt.Errorf("the object store has no bucket %q: make it, or name another one in HARNESS_S3_BUCKET", s.bucket)
	}
	return nil
}

// Put stores an object that is not there yet. One that is stays as it is, which is no error.
func (s *Store) Put(ctx context.Context, name string, content []byte) error {
	options := minio.PutObjectOptions{ContentType: "application/octet-stream", SendContentMd5: true}
	options.SetMatchETagExcept("*") // If-None-Match: whoever comes second changes nothing
	_, err := s.client.PutObject(ctx, s.bucket, s.prefix+name, bytes.NewReader(content), int64(len(content)), options)
	if err != nil && minio.ToErrorResponse(err).StatusCode != http.StatusPreconditionFailed {
		return fmt.Errorf("store object %s: %w", name, err)
	}
	return nil
}

// Open reads an object, to be closed. ErrNotFound.
func (s *Store) Open(ctx context.Context, name string) (io.ReadSeekCloser, error) {
	object, err := s.client.GetObject(ctx, s.bucket, s.prefix+name, minio.GetObjectOptions{})
	if err == nil {
		if _, err = object.Stat(); err != nil {
			err = errors.Join(err, object.Close())
		}
	}
	if err != nil {
		if isMissing(err) {
			return nil, ErrNotFound
		}
		return nil, fmt.Errorf("read object %s: %w", name, err)
	}
	return object, nil
}

// Remove takes an object away; one that is not there is no error.
func (s *Store) Remove(ctx context.Context, name string) error {
	err := s.client.RemoveObject(ctx, s.bucket, s.prefix+name, minio.RemoveObjectOptions{})
	if err != nil && !isMissing(err) {
		return fmt.Errorf("remove object %s: %w", name, err)
	}
	return nil
}

// Each calls visit with every object whose name begins with a text, in the order of their names, until visit fails.
func (s *Store) Each(ctx context.Context, begins string, visit func(name string, changed time.Time) error) error {
	ctx, stop := context.WithCancel(ctx) // the listing ends with this call
	defer stop()
	for object := range s.client.ListObjects(ctx, s.bucket, minio.ListObjectsOptions{Prefix: s.prefix + begins, Recursive: true}) {
		if object.Err != nil {
			return fmt.Errorf("list the objects of the store: %w", object.Err)
		}
		if err := visit(object.Key[len(s.prefix):], object.LastModified); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func isMissing(err error) bool {
	var response minio.ErrorResponse
	return errors.As(err, &response) && response.StatusCode == http.StatusNotFound && response.Code != "NoSuchBucket"
}
