package runtime

// Span is the position of a JSON value in a line: the offsets of its first byte and of the byte after its last. The
// zero Span means that the value is missing.
type Span [2]int

// Of returns the value at the span, nil when the line does not contain it.
func (s Span) Of(line []byte) []byte {
	if s[0] <= 0 || s[0] >= s[1] || s[1] > len(line) {
		return nil
	}
	return line[s[0]:s[1]:s[1]]
}

// Layout has the offsets of the members of a JSON-RPC line, so that readers need not parse it again. A missing member
// has the zero Span.
type Layout struct {
	Method Span `json:"method"`
	Params Span `json:"params,omitzero"`
	ID     Span `json:"id,omitzero"`
}

// Moved returns the layout after a text at a position grew by so many bytes (negative: shrank).
func (l Layout) Moved(at, by int) Layout {
	for _, span := range []*Span{&l.Method, &l.Params, &l.ID} {
		for i := range span {
			if span[i] > at {
				span[i] += by
			}
		}
	}
	return l
}
