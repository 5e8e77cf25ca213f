// Package jcs writes JSON in its canonical form (JSON Canonicalization Scheme, RFC 8785), for keys and hashes of a
// document's content.
package jcs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth bounds the nesting of the input.
const maxDepth = 200

// Transform writes JSON in the form of RFC 8785: members sorted by UTF-16 code units, numbers as ECMAScript prints
// them, the shortest escapes. Two texts of the same value have the same canonical form, whatever their key order and
// spacing. It refuses input that is not a single JSON value, is nested deeper than 200, or has a number outside of
// float64.
func Transform(raw json.RawMessage) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf("canonical JSON: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("canonical JSON: there is more than one value")
	}
	return appendCanonical(make([]byte, 0, len(raw)), value, 0)
}

func appendCanonical(dst []byte, value any, depth int) ([]byte, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("canonical JSON: nested deeper than %d", maxDepth)
	}
	var err error
	switch v := value.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case string:
		return appendString(dst, v), nil
	case json.Number:
		return appendNumber(dst, v)
	case []any:
		dst = append(dst, '[')
		for i, element := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = appendCanonical(dst, element, depth+1); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case map[string]any:
		keys := make([]string, 0, len(v))
		for key := range v {
			keys = append(keys, key)
		}
		slices.SortFunc(keys, compareUTF16)
		dst = append(dst, '{')
		for i, key := range keys {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendString(dst, key), ':')
			if dst, err = appendCanonical(dst, v[key], depth+1); err != nil {
				return nil, err
			}
		}
		return append(dst, '}'), nil
	}
	return nil, fmt.Errorf("canonical JSON: unexpected %T", value)
}

func compareUTF16(a, b string) int {
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

func appendString(dst []byte, text string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c >= utf8.RuneSelf:
			_, size := utf8.DecodeRuneInString(text[i:])
			dst = append(dst, text[i:i+size]...)
			i += size
			continue
		case c >= 0x20:
			dst = append(dst, c)
		default:
			if short := strings.IndexByte("\b\t\n\f\r", c); short >= 0 {
				dst = append(dst, '\\', "btnfr"[short])
			} else {
				dst = append(dst, fmt.Sprintf(`\u%04x`, c)...)
			}
		}
		i++
	}
	return append(dst, '"')
}

// appendNumber prints as ECMAScript's Number::toString does.
func appendNumber(dst []byte, number json.Number) ([]byte, error) {
	f, err := strconv.ParseFloat(string(number), 64)
	if err != nil {
		return nil, fmt.Errorf("canonical JSON: number %s has no float64: %w", number, err)
	}
	abs := math.Abs(f)
	switch {
	case f == 0:
		return append(dst, '0'), nil // also -0
	case abs >= 1e-6 && abs < 1e21:
		return strconv.AppendFloat(dst, f, 'f', -1, 64), nil
	}
	text := strconv.FormatFloat(f, 'e', -1, 64)
	// Go writes at least two exponent digits, ECMAScript as many as needed.
	mantissa, exponent, _ := strings.Cut(text, "e")
	return append(dst, mantissa+"e"+exponent[:1]+strings.TrimLeft(exponent[1:], "0")...), nil
}
