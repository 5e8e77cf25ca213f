package session

import (
	"cmp"
	"encoding/json"
	"path"
	"regexp"
	"strings"
	"unicode"
)

// TitleSource is who gave a session its name.
type TitleSource string

// The sources of a name. A user's name replaces any other one, and an agent's name replaces an automatic one.
const (
	TitleAuto  TitleSource = "auto" // made from the first message
	TitleUser  TitleSource = "user"
	TitleAgent TitleSource = "agent"
)

// Unnamed is shown for a session before its first message.
const Unnamed = "New session"

// maxTitle is the maximum number of characters of an automatic name.
const maxTitle = 60

// Shown returns the name that lists, notifications and commands show, and its source. Title differs: it is the name
// that codex-manager's clients expect.
func (s Session) Shown() (title string, source TitleSource) {
	return cmp.Or(s.Name, Unnamed), cmp.Or(s.TitleSource, TitleAuto)
}

// Names reports whether a title is a name. The titles of sessions without one are not.
func Names(title string) bool { return title != "" && title != NewChatTitle && title != DraftTitle }

var (
	markdownLink  = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	markdownStart = regexp.MustCompile(`^(?:[#>]+|[-*+]|\d+[.)]|\[[ xX]\])\s+`)
	markdownMark  = strings.NewReplacer("**", "", "__", "", "~~", "", "`", "")
	emphasis      = regexp.MustCompile(`(^|[\s(])[*_]([^*_\s][^*_]*)[*_]`)
	sentenceEnd   = regexp.MustCompile(`[.?!](\s|$)`)
)

// TitleOf makes a name of a message: the first sentence of its first line with text, without markdown. It returns ""
// for a message without text.
func TitleOf(message string) string {
	for line := range strings.Lines(message) {
		if title := titleOfLine(line); title != "" {
			return title
		}
	}
	return ""
}

func titleOfLine(line string) string {
	line = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, line)
	line = strings.Join(strings.Fields(line), " ")
	if strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~") || strings.Trim(line, "-=*_ ") == "" {
		return ""
	}
	for start := markdownStart.FindString(line); start != ""; start = markdownStart.FindString(line) {
		line = line[len(start):]
	}
	line = emphasis.ReplaceAllString(markdownMark.Replace(markdownLink.ReplaceAllString(line, "$1")), "$1$2")
	if end := sentenceEnd.FindStringIndex(line); end != nil {
		line = line[:end[0]+1]
	}
	if !strings.HasSuffix(line, "..") {
		line = strings.TrimSuffix(line, ".")
	}
	return shortened(strings.TrimSpace(line))
}

// shortened cuts a long name after a word.
func shortened(title string) string {
	all := []rune(title)
	if len(all) <= maxTitle {
		return title
	}
	cut := string(all[:maxTitle-1])
	if space := strings.LastIndexByte(cut, ' '); space > 0 && all[maxTitle-1] != ' ' {
		cut = cut[:space]
	}
	return strings.TrimRight(cut, " ,;:") + "…"
}

// mailHead begins the line that names the sender of a message from another session (package lineage).
const mailHead = "[message from session "

// Title makes the name of a session that begins with this message, "" if nothing in it names one.
func (m Message) Title() string {
	var texts strings.Builder
	text := m.Text
	if strings.HasPrefix(text, mailHead) {
		_, text, _ = strings.Cut(text, "\n")
	}
	texts.WriteString(text)
	picture, pictures := "", len(m.Images) > 0
	for _, raw := range m.Input {
		var part struct{ Type, Text, Path string }
		if json.Unmarshal(raw, &part) != nil {
			continue
		}
		switch part.Type {
		case "text":
			texts.WriteString("\n" + part.Text)
		case "localImage":
			pictures, picture = true, cmp.Or(picture, path.Base(part.Path))
		case "image":
			pictures = true
		}
	}
	title := TitleOf(texts.String())
	switch {
	case title != "" || !pictures:
		return title
	case picture == "":
		return "Image"
	}
	return shortened("Image: " + strings.Join(strings.Fields(picture), " "))
}
