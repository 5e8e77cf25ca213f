package api

// Clients of codex-manager may send unknown members, which it dropped. If this server dropped a client's content or
// selection, the response would be wrong. Routes that do not support such members therefore refuse them.

// carriesContent reports whether clients send content under a name. It covers members of bodies at any depth.
func carriesContent(name string) bool {
	switch name {
	case "attachment", "attachments", "audio", "content", "contentItems", "document", "documents", "file", "files",
		"image", "imageUrl", "imageUrls", "images", "input", "localImage", "localImages", "message", "messages", "parts",
		"projectId", "prompt", "reason", "text", "title":
		return true
	}
	return false
}

// selects reports whether clients select results under a name. It covers members of queries.
func selects(name string) bool {
	switch name {
	case "after", "archived", "around", "before", "cursor", "fields", "filter", "filters", "from", "ids",
		"includeSystemOwned", "limit", "name", "offset", "order", "orderBy", "page", "pageSize", "perPage", "projectId", "q",
		"query", "role", "search", "searchTerm", "sessionId", "since", "sort", "sortBy", "sortKey", "state", "status",
		"threadId", "title", "to", "turnId", "type", "until":
		return true
	}
	return false
}
