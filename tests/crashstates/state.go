package crashstates

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Way is the fate of writes that are not durable.
type Way int

// The ways: all are lost, each block is kept or lost, all up to one of them are kept, all are kept.
const (
	Nothing Way = iota
	Anything
	Prefix
	Everything
)

// Loss is a power loss.
type Loss struct {
	// Line is the line of the recording on which it happens.
	Line int
	Way  Way
	// Strict means that a name is durable only after a later sync of its folder (POSIX). Otherwise any later sync makes
	// it durable (file systems with a journal).
	Strict bool
}

// Write creates the state after a power loss in a folder that must not exist.
func (r *Recording) Write(random *rand.Rand, loss Loss, to string) error {
	contents := r.contents(random, loss)
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	var errs []error
	for path, inode := range r.tree(random, loss) {
		path = to + strings.TrimPrefix(path, r.folder)
		if inode == 0 {
			errs = append(errs, os.MkdirAll(path, 0o700))
			continue
		}
		errs = append(errs, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, contents[inode], 0o600))
	}
	return errors.Join(errs...)
}

// durable reports whether one of some syncs started after a call and ended by a line.
func durable(c *call, syncs []*call, line int) bool {
	return slices.ContainsFunc(syncs, func(s *call) bool { return c.end < s.begin && s.end <= line })
}

// lastSync returns the start line of the last sync that ended by a line.
func (r *Recording) lastSync(line int) (last int) {
	each := func(syncs []*call) {
		for _, s := range syncs {
			if s.end <= line {
				last = max(last, s.begin)
			}
		}
	}
	for _, syncs := range r.syncs {
		each(syncs)
	}
	for _, syncs := range r.folders {
		each(syncs)
	}
	return last
}

// tree returns the existing names with their inodes. 0 is a folder.
func (r *Recording) tree(random *rand.Rand, loss Loss) map[string]int {
	synced, names := r.lastSync(loss.Line), map[string]int{}
	upTo := synced + random.IntN(max(loss.Line-synced, 0)+1)
	for _, one := range r.names {
		if one.begin > loss.Line {
			break
		}
		kept := one.end < synced || one.begin <= upTo && loss.Way != Nothing
		if loss.Strict {
			kept = one.what == "mkdir" || durable(one.call, r.folders[filepath.Dir(one.to)], loss.Line) ||
				loss.Way != Nothing && random.IntN(2) == 0
		}
		if !kept && loss.Way != Everything {
			continue
		}
		switch one.what {
		case "unlink":
			delete(names, one.from)
			continue
		case "rename":
			delete(names, one.from)
		}
		names[one.to] = one.inode
	}
	return names
}

// contents returns the contents of the files, by inode.
func (r *Recording) contents(random *rand.Rand, loss Loss) map[int][]byte {
	files := map[int][]byte{}
	synced := r.lastSync(loss.Line)
	upTo, chance := synced+random.IntN(max(loss.Line-synced, 0)+1), []int{1, 5, 9}[random.IntN(3)]
	for _, one := range r.writes {
		if one.begin > loss.Line {
			break
		}
		whole := loss.Way == Everything || durable(one.call, r.syncs[one.inode], loss.Line) || loss.Way == Prefix && one.begin <= upTo
		switch {
		case one.cut:
			if whole || loss.Way == Anything && random.IntN(2) == 0 {
				files[one.inode] = resized(files[one.inode], one.at)
			}
		case whole:
			files[one.inode] = put(files[one.inode], one.at, one.data)
		case loss.Way == Anything:
			for at := 0; at < len(one.data); {
				block := min(blockSize-int(one.at+int64(at))%blockSize, len(one.data)-at)
				if random.IntN(10) < chance {
					from, to := torn(random, block)
					files[one.inode] = put(files[one.inode], one.at+int64(at+from), one.data[at+from:at+to])
				}
				at += block
			}
		}
	}
	return files
}

const (
	blockSize  = 4096
	sectorSize = 512
)

// torn returns how much of a block is written. One time in five it is only the first or the second half.
func torn(random *rand.Rand, size int) (from, to int) {
	if size <= sectorSize || random.IntN(5) > 0 {
		return 0, size
	}
	half := sectorSize * (1 + random.IntN((size-1)/sectorSize))
	if random.IntN(2) == 0 {
		return 0, half
	}
	return half, size
}

func resized(file []byte, size int64) []byte {
	if size <= int64(len(file)) {
		return file[:size:size]
	}
	return append(file, make([]byte, size-int64(len(file)))...)
}

func put(file []byte, at int64, data string) []byte {
	if end := at + int64(len(data)); end > int64(len(file)) {
		file = resized(file, end)
	}
	copy(file[at:], data)
	return file
}
