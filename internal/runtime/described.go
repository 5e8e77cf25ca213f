package runtime

// DescribedPiece is a part of the JSON of a conversation's description. With Items, those of the turn with that index
// belong behind it.
type DescribedPiece struct {
	JSON  []byte
	Items bool
	Turn  int
}
