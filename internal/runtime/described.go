package runtime

// DescribedPart is a part of the JSON of a conversation's description. With Items, those of the turn with that index
// belong behind it.
type DescribedPart struct {
	JSON  []byte
	Items bool
	Turn  int
}
