package config

import (
	"cmp"
	"net/url"
	"path/filepath"
	"strings"
)

func s3Variables() []Variable {
	return grouped("Object store", []Variable{
		{Name: "HARNESS_S3_URL", check: isStoreURL,
			Allowed: "an http or https URL with the bucket, such as https://s3.example.com/bucket/prefix/?region=eu-central-1",
			Doc: "Bucket of an S3-compatible store, which is there already, what begins the names of its objects, and its region " +
				"(us-east-1). It keeps long contents of artifacts, with Postgres (unset, the database does), and the archive (HARNESS_ARCHIVE).",
			field: func(c *Config) any { return &c.s3URL }},
		{Name: "HARNESS_S3_KEY", Secret: true, check: isStoreKey, Allowed: "ID:SECRET",
			Doc:   "Access key that may read, write, list and delete objects, and its secret.",
			field: func(c *Config) any { return &c.s3Key }},
	})
}

func isStoreURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && !strings.Contains(s, "#") &&
		len(u.Path) > 1 && u.Path[1] != '/' && (!strings.Contains(s, "?") || u.RawQuery == "region="+region(u) && region(u) != "")
}

func region(u *url.URL) string { return u.Query().Get("region") }

func isStoreKey(s string) bool {
	id, secret, _ := strings.Cut(s, ":")
	return id != "" && secret != ""
}

// setStore splits HARNESS_S3_URL and HARNESS_S3_KEY.
func (c *Config) setStore() {
	if u, err := url.Parse(c.s3URL); err == nil && c.s3URL != "" {
		c.S3.Endpoint, c.S3.Region = u.Scheme+"://"+u.Host, cmp.Or(region(u), "us-east-1")
		c.S3.Bucket, c.S3.Prefix, _ = strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	}
	c.S3.AccessKeyID, c.S3.SecretAccessKey, _ = strings.Cut(c.s3Key, ":")
}

// ArchiveS3 is the value of Config.Archive that archives events in the object store.
const ArchiveS3 = "s3"

func isArchive(s string) bool { return s == ArchiveS3 || filepath.IsAbs(s) }

func (c *Config) checkS3() error {
	if c.S3.Endpoint == "" && c.Archive == ArchiveS3 {
		return &RuleError{"HARNESS_ARCHIVE", "s3 needs HARNESS_S3_URL"}
	}
	if c.S3.Endpoint == "" {
		return nil
	}
	if c.s3Key == "" {
		return &RuleError{"HARNESS_S3_URL", "it needs HARNESS_S3_KEY"}
	}
	if c.DatabaseURL == "" && c.Archive != ArchiveS3 {
		return &RuleError{"HARNESS_S3_URL", "it is used with Postgres, or with HARNESS_ARCHIVE=s3: set one of them, or leave it unset " +
			"and artifacts are files below DATA_DIR"}
	}
	return nil
}
