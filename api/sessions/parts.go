package sessions

import (
	"bytes"
	"encoding/json"

	"harness/api/rest"
	"harness/internal/lib/javascript"
	"harness/internal/services/session"
)

// wholeRead stores the parts of a whole read and their positions. It implements session.Pieces.
type wholeRead struct {
	into       kept
	transcript []part
	items      map[int][]part // by turn
}

// Entries implements session.Pieces.
func (r *wholeRead) Entries(encoded []byte) (err error) {
	r.transcript, err = r.keep(r.transcript, encoded)
	return err
}

// Item implements session.Pieces.
func (r *wholeRead) Item(turn int, encoded []byte) (err error) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, encoded); err != nil {
		return err
	}
	r.items[turn], err = r.keep(r.items[turn], compact.Bytes())
	return err
}

// keep stores the next elements of a list and returns the list with them.
func (r *wholeRead) keep(list []part, elements []byte) ([]part, error) {
	from := r.into.Size()
	if len(list) > 0 {
		if _, err := r.into.Write([]byte{','}); err != nil {
			return list, notKept(err)
		}
	}
	if _, err := r.into.Write(javascript.PlainSeparators(elements)); err != nil {
		return list, notKept(err)
	}
	if n := len(list); n > 0 && list[n-1].to == from {
		list[n-1].to = r.into.Size()
		return list, nil
	}
	return append(list, part{from: from, to: r.into.Size()}), nil
}

// parts returns the parts of the response: its body, with the transcript and the description of the conversation in
// place.
func (r *wholeRead) parts(body sessionDetail, detail *session.Detail) ([]part, error) {
	// Only text follows these positions, and quotes in it are escaped.
	place := []byte(`"transcript":[]`)
	if detail.Thread != nil {
		body.Thread = json.RawMessage("null")
		place = []byte(`"thread":null,"transcript":[]`)
	}
	text, err := rest.Encode(body)
	if err != nil {
		return nil, err
	}
	at := bytes.LastIndex(text, place)
	parts := []part{{text: text[:at]}}
	if detail.Thread != nil {
		parts = append(parts, part{text: []byte(`"thread":`)})
		for _, chunk := range detail.Thread {
			parts = append(parts, part{text: javascript.PlainSeparators(chunk.JSON)})
			if chunk.Items {
				parts = append(parts, r.items[chunk.Turn]...)
			}
		}
		parts = append(parts, part{text: []byte{','}})
	}
	parts = append(append(parts, part{text: []byte(`"transcript":[`)}), r.transcript...)
	parts = append(parts, part{text: entriesOf(detail)})
	return append(parts, part{text: text[at+len(place)-len("]"):]}), nil
}

// entriesOf returns the entries of a window, separated by commas.
func entriesOf(detail *session.Detail) []byte {
	size := 1
	for i := range detail.Transcript {
		size += detail.Transcript[i].Size()
	}
	text := make([]byte, 0, size)
	for i := range detail.Transcript {
		if i > 0 {
			text = append(text, ',')
		}
		text = detail.Transcript[i].AppendJSON(text)
	}
	return javascript.PlainSeparators(text)
}
