package schema

import (
	"net/url"
	"strings"
)

// ParseQuery decodes a URL's query into an object of strings. A repeated name becomes an array. An invalid escape
// stays unchanged.
func ParseQuery(query string) Value {
	var members []Member
	places := map[string]int{}
	for part := range strings.SplitSeq(query, "&") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		name = unescapeQuery(name)
		decoded := StringValue(unescapeQuery(value))
		place, known := places[name]
		switch {
		case !known:
			places[name] = len(members)
			members = append(members, Member{Name: name, Value: decoded})
		case members[place].Value.kind == Array:
			members[place].Value.items = append(members[place].Value.items, decoded)
		default:
			members[place].Value = ArrayValue(members[place].Value, decoded)
		}
	}
	return ObjectValue(members...)
}

func unescapeQuery(text string) string {
	decoded, err := url.QueryUnescape(text)
	if err != nil {
		return strings.ReplaceAll(text, "+", " ")
	}
	return strings.ToValidUTF8(decoded, "\ufffd")
}
