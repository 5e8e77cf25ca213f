package runtime

// DescribedPart is a part of a conversation's description in JSON. With Items, the items of the turn with that index
// follow it.
type DescribedPart struct {
	JSON  []byte
	Items bool
	Turn  int
}
