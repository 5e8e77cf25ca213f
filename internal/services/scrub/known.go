package scrub

import "sync"

// Known are the damaged rows that readers and Run came across. The zero value knows of none.
type Known struct {
	mu   sync.Mutex
	rows map[Row]bool // whether it was found since Begin
}

// maxKnown bounds the rows that are remembered.
const maxKnown = 10_000

// Add remembers a row. fresh: it was not known.
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

// Len is how many rows are known.
func (k *Known) Len() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.rows)
}

// Begin is for before all rows are looked at, End for when they were: what was not found again is as it was written by
// now, or gone.
func (k *Known) Begin() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for row := range k.rows {
		k.rows[row] = false
	}
}

// End forgets what was not found since Begin.
func (k *Known) End() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for row, found := range k.rows {
		if !found {
			delete(k.rows, row)
		}
	}
}
