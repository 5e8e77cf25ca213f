package archive

import (
	"fmt"
	"strconv"
	"strings"
)

// begins is the prefix of all object names.
const begins = "journal/"

// Range is one object: the events from one position to another, both included. Hash is the SHA-256 of its lines in hex.
// ID distinguishes two objects of the same range.
type Range struct {
	From int64  `json:"from"`
	To   int64  `json:"to"`
	Hash string `json:"sha256"`
	ID   string `json:"id"`
}

// Name returns the object's name. Names sort by position.
func (r Range) Name() string {
	return fmt.Sprintf("%s%019d-%019d-%s-%s.jsonl.zst", begins, r.From, r.To, r.Hash, r.ID)
}

// parse returns the range that an object's name describes; false if the name is not a range's.
func parse(name string) (r Range, is bool) {
	inner, ends := strings.CutSuffix(strings.TrimPrefix(name, begins), ".jsonl.zst")
	members := strings.Split(inner, "-")
	if !ends || len(members) != 4 {
		return r, false
	}
	var from, to error
	r.From, from = strconv.ParseInt(members[0], 10, 64)
	r.To, to = strconv.ParseInt(members[1], 10, 64)
	r.Hash, r.ID = members[2], members[3]
	return r, from == nil && to == nil && r.Name() == name
}
