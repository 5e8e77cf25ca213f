package config

import (
	"net/url"
	"path/filepath"
	"strings"
)

func s3Variables() []Variable {
	return grouped("Object store", []Variable{
		{Name: "HARNESS_S3_URL", check: isStoreURL,
			Allowed: "an http or https URL with the bucket, such as https://s3.example.com/bucket/prefix/",
			Doc: "Bucket of an S3-compatible store, which is there already, and what begins the names of its objects. It keeps long contents " +
				"of artifacts, with Postgres (unset, the database does), and the archive (HARNESS_ARCHIVE).",
			field: func(c *Config) any { return &c.s3URL }},
		{Name: "HARNESS_S3_REGION", Default: "us-east-1", Doc: "Its region.",
			field: func(c *Config) any { return &c.S3.Region }},
		{Name: "HARNESS_S3_ACCESS_KEY_ID", Secret: true, Doc: "Access key that may read, write, list and delete objects.",
			field: func(c *Config) any { return &c.S3.AccessKeyID }},
		{Name: "HARNESS_S3_SECRET_ACCESS_KEY", Secret: true, Doc: "The secret of that key.",
			field: func(c *Config) any { return &c.S3.SecretAccessKey }},
	})
}

func isStoreURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && !strings.ContainsAny(s, "?#") &&
		len(u.Path) > 1 && u.Path[1] != '/'
}

// setStore takes HARNESS_S3_URL apart.
func (c *Config) setStore() {
	if u, err := url.Parse(c.s3URL); err == nil && c.s3URL != "" {
		c.S3.Endpoint = u.Scheme + "://" + u.Host
		c.S3.Bucket, c.S3.Prefix, _ = strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	}
}

// ArchiveS3 as Config.Archive has events archived in the object store.
const ArchiveS3 = "s3"

func isArchive(s string) bool { return s == ArchiveS3 || filepath.IsAbs(s) }

func (c *Config) checkS3() error {
	if c.S3.Endpoint == "" && c.Archive == ArchiveS3 {
		return &RuleError{"HARNESS_ARCHIVE", "s3 needs HARNESS_S3_URL"}
	}
	if c.S3.Endpoint == "" {
		return nil
	}
	if c.S3.AccessKeyID == "" || c.S3.SecretAccessKey == "" {
		return &RuleError{"HARNESS_S3_URL", "it needs HARNESS_S3_ACCESS_KEY_ID and HARNESS_S3_SECRET_ACCESS_KEY"}
	}
	if c.DatabaseURL == "" && c.Archive != ArchiveS3 {
		return &RuleError{"HARNESS_S3_URL", "it is used with Postgres, or with HARNESS_ARCHIVE=s3: set one of them, or leave it unset " +
			"and artifacts are files below DATA_DIR"}
	}
	return nil
}
