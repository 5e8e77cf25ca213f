package archive

import (
	"fmt"
	"strconv"
	"strings"
)

// begins begins the names of all objects.
const begins = "journal/"

// Range is one object: the events from a position to another one, both included. Hash is the SHA-256 of its lines in
// hex; by ID two objects of one range differ.
type Range struct {
	From int64  `json:"from"`
	To   int64  `json:"to"`
	Hash string `json:"sha256"`
	ID   string `json:"id"`
}

// Name is that of the object. Names sort by position.
func (r Range) Name() string {
	return fmt.Sprintf("%s%019d-%019d-%s-%s.jsonl.zst", begins, r.From, r.To, r.Hash, r.ID)
}

// parse is the range an object has by its name; false when it is none.
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
