package config

import (
	"net/url"
	"path/filepath"
	"strings"
)

func s3Variables() []Variable {
	return grouped("Object store", []Variable{
		{Name: "HARNESS_S3_ENDPOINT", check: isStoreURL, Allowed: "an http or https URL without a path",
			Doc: "S3-compatible store that keeps long contents of artifacts, with Postgres (unset, the database does), and the archive " +
				"(HARNESS_ARCHIVE).",
			field: func(c *Config) any { return &c.S3.Endpoint }},
		{Name: "HARNESS_S3_BUCKET", Doc: "Its bucket, which is there already.",
			field: func(c *Config) any { return &c.S3.Bucket }},
		{Name: "HARNESS_S3_PREFIX", Doc: "Begins the names of all objects, such as harness/.",
			field: func(c *Config) any { return &c.S3.Prefix }},
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
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && strings.TrimSuffix(s, "/") == u.Scheme+"://"+u.Host
}

// ArchiveS3 as Config.Archive has events archived in the object store.
const ArchiveS3 = "s3"

func isArchive(s string) bool { return s == ArchiveS3 || filepath.IsAbs(s) }

func (c *Config) checkS3() error {
	if c.S3.Endpoint == "" && c.Archive == ArchiveS3 {
		return &RuleError{"HARNESS_ARCHIVE", "s3 needs HARNESS_S3_ENDPOINT"}
	}
	if c.S3.Endpoint == "" {
		return nil
	}
	if c.S3.Bucket == "" || c.S3.AccessKeyID == "" || c.S3.SecretAccessKey == "" {
		return &RuleError{"HARNESS_S3_ENDPOINT", "it needs HARNESS_S3_BUCKET, HARNESS_S3_ACCESS_KEY_ID and HARNESS_S3_SECRET_ACCESS_KEY"}
	}
	if c.DatabaseURL == "" && c.Archive != ArchiveS3 {
		return &RuleError{"HARNESS_S3_ENDPOINT", "it is used with Postgres, or with HARNESS_ARCHIVE=s3: set one of them, or leave it unset " +
			"and artifacts are files below DATA_DIR"}
	}
	return nil
}
