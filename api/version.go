package api

// entityTag formats a version as an ETag. The tag is weak: the same version means the same content, not always the
// same bytes.
func entityTag(version string) string { return `W/"` + version + `"` }
