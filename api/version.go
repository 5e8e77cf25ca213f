package api

// entityTag words a version as an ETag. It is a weak one: the same version is the same content, not always the same
// bytes.
func entityTag(version string) string { return `W/"` + version + `"` }
