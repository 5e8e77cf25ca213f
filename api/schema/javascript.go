package schema

import (
	"math"
	"strconv"

	"harness/internal/lib/javascript"
)

// maxSafeInteger is JavaScript's Number.MAX_SAFE_INTEGER.
const maxSafeInteger = 1<<53 - 1

// toNumber is the Number function, which zod's coerce calls.
func toNumber(v Value) float64 {
	switch v.kind {
	case Null:
		return 0
	case Bool:
		if v.flag {
			return 1
		}
		return 0
	case Number:
		return v.Float()
	case String:
		return textToNumber(v.text)
	case Array:
		// An array first becomes its joined text: "" if it is empty, a single element unchanged, several with commas.
		if len(v.items) == 0 {
			return 0
		}
		if len(v.items) == 1 {
			if v.items[0].kind == Bool {
				return math.NaN() // its text is "true" or "false"
			}
			return toNumber(v.items[0])
		}
	case Undefined, Object:
	}
	return math.NaN()
}

func textToNumber(text string) float64 {
	text = javascript.Trim(text)
	if text == "" {
		return 0
	}
	if len(text) > 2 && text[0] == '0' {
		base := map[byte]int{'x': 16, 'X': 16, 'o': 8, 'O': 8, 'b': 2, 'B': 2}[text[1]]
		if base != 0 {
			number, err := strconv.ParseUint(text[2:], base, 64)
			if err != nil {
				return math.NaN()
			}
			return float64(number)
		}
	}
	switch text {
	case "Infinity", "+Infinity":
		return math.Inf(1)
	case "-Infinity":
		return math.Inf(-1)
	}
	for i := range len(text) {
		// ParseFloat knows more spellings (hex floats, underscores, "inf") than JavaScript does.
		if !isNumberByte(text[i]) {
			return math.NaN()
		}
	}
	number, err := strconv.ParseFloat(text, 64)
	if err != nil && !math.IsInf(number, 0) {
		return math.NaN()
	}
	return number
}
