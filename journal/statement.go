package journal

import (
	"strconv"
	"strings"
)

const columnCount = 15

// insertStatement is the insert for n rows. Batches have few sizes, and the drivers cache statements by their text.
func insertStatement(n int) string {
	var b strings.Builder
	b.WriteString("insert into journal_events (" + columns + ") values ")
	param := 0
	for row := range n {
		if row > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('(')
		for column := range columnCount {
			if column > 0 {
				b.WriteByte(',')
			}
			param++
			b.WriteByte('$')
			b.WriteString(strconv.Itoa(param))
		}
		b.WriteByte(')')
	}
	return b.String()
}
