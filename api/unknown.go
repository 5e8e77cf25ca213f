package api

// Clients of codex-manager may send unknown members, which it dropped. Dropping a client's content, or its selection,
// would make the response wrong. Routes that do not support these therefore refuse them.

// carriesContent has the names under which clients send content: members of bodies, at any depth.
func carriesContent(name string) bool {
	switch name {
	case "attachment", "attachments", "audio", "content", "contentItems", "document", "documents", "file", "files",
		"image", "imageUrl", "imageUrls", "images", "input", "localImage", "localImages", "message", "messages", "parts",
		"projectId", "prompt", "reason", "text", "title":
		return true
	}
	return false
}

// selects has the names under which clients select results: members of queries.
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
