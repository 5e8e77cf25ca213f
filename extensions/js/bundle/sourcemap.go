package bundle

import (
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"
	"unicode/utf16"
)

// position is a position in an extension's own source, from 1; the zero value means none.
type position struct {
	file         string
	line, column int
}

// segment maps a generated line, from a column on (UTF-16 units), to a source position.
type segment struct {
	column   int
	position position
}

// positions is a source map (version 3), by generated line.
type positions [][]segment

func parseMap(raw []byte) (positions, error) {
	var whole struct {
		Sources  []string `json:"sources"`
		Mappings string   `json:"mappings"`
	}
	if err := json.Unmarshal(raw, &whole); err != nil {
		return nil, fmt.Errorf("read a source map: %w", err)
	}
	var out positions
	var source, line, column int
	for _, text := range strings.Split(whole.Mappings, ";") {
		var segments []segment
		generated := 0
		for _, part := range strings.Split(text, ",") {
			if part == "" {
				continue
			}
			fields, err := decodeVLQ(part)
			if err != nil {
				return nil, err
			}
			generated += fields[0]
			one := segment{column: generated}
			if len(fields) >= 4 {
				source, line, column = source+fields[1], line+fields[2], column+fields[3]
				if source < 0 || source >= len(whole.Sources) {
					return nil, errors.New("read a source map: a source is missing")
				}
				one.position = position{whole.Sources[source], line + 1, column + 1}
			}
			segments = append(segments, one)
		}
		out = append(out, segments)
	}
	return out, nil
}

// find returns the source position of the code that follows the text before in a generated line.
func (p positions) find(line int, before string) position {
	if line >= len(p) {
		return position{}
	}
	column := 0
	for _, r := range before {
		column += utf16.RuneLen(r)
	}
	next := sort.Search(len(p[line]), func(i int) bool { return p[line][i].column > column })
	if next == 0 {
		return position{}
	}
	return p[line][next-1].position
}

// decodeVLQ reads the base 64 numbers of one segment.
func decodeVLQ(text string) ([]int, error) {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	var out []int
	value, shift := 0, 0
	for i := range len(text) {
		digit := strings.IndexByte(digits, text[i])
		if digit < 0 || shift > 30 {
			return nil, errors.New("read a source map: a mapping is malformed")
		}
		value |= digit & 31 << shift
		if digit&32 != 0 {
			shift += 5
			continue
		}
		if value&1 != 0 {
			out = append(out, -(value >> 1))
		} else {
			out = append(out, value>>1)
		}
		value, shift = 0, 0
	}
	if len(out) == 0 || shift != 0 {
		return nil, errors.New("read a source map: a mapping is malformed")
	}
	return out, nil
}
