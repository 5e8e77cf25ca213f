package session

// EqualText says whether two optional texts are the same.
func EqualText(a, b *string) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
