package scrub

import "sync"

// Known has the damaged rows that readers and Run found. The zero value is empty.
type Known struct {
	mu   sync.Mutex
	rows map[Row]bool // found since Begin
}

// maxKnown bounds the rows in Known.
const maxKnown = 10_000

// Add adds a row. fresh reports that it is new.
func (k *Known) Add(row Row) (fresh bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, known := k.rows[row]
	if !known && len(k.rows) >= maxKnown {
		return false
	}
	if k.rows == nil {
		k.rows = map[Row]bool{}
	}
	k.rows[row] = true
	return !known
}

// Len returns the number of known rows.
func (k *Known) Len() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.rows)
}

// Begin is called before a scan of all rows, and End after it: a row that the scan did not find again is repaired or deleted.
func (k *Known) Begin() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for row := range k.rows {
		k.rows[row] = false
	}
}

// End removes rows not found since Begin.
func (k *Known) End() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for row, found := range k.rows {
		if !found {
			delete(k.rows, row)
		}
	}
}
