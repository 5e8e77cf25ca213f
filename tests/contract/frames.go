package contract

import (
	"strings"
	"time"
)

// expect adds a recorded frame.
func (r *replay) expect(record Record) {
	s := r.sockets[record.Conn]
	if s == nil || r.unserved || (Frame{Type: record.Type, Method: record.Method}).Ignored() {
		return
	}
	if !r.known(record.Thread) || r.topic.Sessions[record.Thread].Refused {
		r.passed[record.Thread] = true
		return
	}
	s.expected = append(s.expected, record)
	s.wanted[record.Thread+" "+recordID(record)]++
}

// known reports whether frames of a recorded thread can occur here. Those of the recording's workers cannot.
func (r *replay) known(thread string) bool {
	if thread == "" || !idPattern.MatchString(thread) || thread == unknownSession {
		return true
	}
	_, bound := r.ids.toOurs[thread]
	return bound
}

// thread returns this server's thread for a recorded name, false for threads that the recording does not have.
func (r *replay) thread(ours string) (string, bool) {
	if recorded, has := r.ids.toRecorded[ours]; has {
		return recorded, true
	}
	return ours, ours == "" || !idPattern.MatchString(ours) || ours == unknownSession
}

func (r *replay) waitAll() {
	for _, s := range r.sockets {
		r.wait(s)
	}
}

// wait returns once every frame recorded so far has arrived, in any order, or is overdue. It compares the frames that
// arrived.
func (r *replay) wait(s *socket) {
	// The timeout restarts with each frame: a turn that still streams is not late.
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		frames, news := s.snapshot()
		lacking := r.pair(s, frames)
		if len(lacking) == 0 {
			return
		}
		select {
		case <-news:
			deadline.Reset(patience)
			continue
		case <-s.ended:
		case <-deadline.C:
		}
		frames, _ = s.snapshot()
		for key, n := range r.pair(s, frames) {
			s.missing[key] += n
		}
		return
	}
}

// pair compares the n-th recorded frame of a kind with the n-th received one, binds their ids, and returns how many
// are missing.
func (r *replay) pair(s *socket, frames []arrived) map[string]int {
	came := map[string][]arrived{}
	for _, f := range frames {
		if thread, has := r.thread(f.Thread); has {
			key := thread + " " + f.id()
			came[key] = append(came[key], f)
		}
	}
	nth := map[string]int{}
	for _, record := range s.expected {
		key := record.Thread + " " + recordID(record)
		n := nth[key]
		nth[key]++
		if n < s.paired[key] || n >= len(came[key]) {
			continue
		}
		s.paired[key]++
		c := comparison{bindings: r.ids, anyOrder: record.Method != ""}
		switch {
		case record.Same:
		case record.Control != "":
			if record.Data != came[key][n].data {
				c.differ("data", record.Data, came[key][n].data)
			}
		default:
			c.bodies("frame", record.Data, came[key][n].data)
		}
		r.verdict(Result{Name: s.name, Subject: "frame " + recordID(record), Frame: true, Differences: c.found})
	}
	lacking := map[string]int{}
	for key, wanted := range s.wanted {
		if n := wanted - s.missing[key] - len(came[key]); n > 0 {
			lacking[key] = n
		}
	}
	return lacking
}

// anytime reports kinds of frames with a position that depends on codex's timing. One is the end of the model's
// answer while its calls run. Another is the end of a refused command while another task reports that the thread no
// longer waits (thread/status/changed).
func anytime(kind string) bool {
	return strings.HasSuffix(kind, "rawResponse/completed") || strings.HasSuffix(kind, "item/completed commandExecution")
}

// compareOrder compares the whole socket with its recording: missing frames, additional ones, and a different order.
// Threads are compared separately, because the order between two threads is not promised.
func (r *replay) compareOrder(s *socket) {
	want, got := map[string][]string{}, map[string][]string{}
	for _, record := range s.expected {
		want[record.Thread] = append(want[record.Thread], recordID(record))
	}
	frames, _ := s.snapshot()
	for _, f := range frames {
		if thread, has := r.thread(f.Thread); has {
			got[thread] = append(got[thread], f.id())
		}
	}
	for thread := range got {
		// A worker's thread becomes known late, through its job. Earlier frames are not required then.
		if _, has := want[thread]; !has && !r.passed[thread] && (r.asked[thread] || !idPattern.MatchString(thread)) {
			want[thread] = nil
		}
	}
	for thread, kinds := range want {
		missing, extra := unmatched(kinds, got[thread])
		for kind, n := range missing {
			if n <= extra[kind] && anytime(kind) {
				continue
			}
			d := Difference{Place: "order", Want: kind, Got: "it came " + strings.Join(after(got[thread], kind), ", ")}
			if n > extra[kind] {
				d = Difference{Place: "missing", Want: kind, Got: "no such frame"}
			}
			for range n {
				r.verdict(Result{Name: s.name, Subject: "frame " + kind, Frame: true, Differences: []Difference{d}})
			}
		}
		for kind, n := range extra {
			for range n - missing[kind] {
				r.verdict(Result{Name: s.name, Subject: "frame " + kind, Frame: true,
					Differences: []Difference{{Place: "extra", Want: "nothing", Got: kind}}})
			}
		}
	}
}

// after returns the frames that precede those of a kind.
func after(frames []string, kind string) (places []string) {
	for i, frame := range frames {
		switch {
		case frame != kind:
		case i == 0:
			places = append(places, "first")
		default:
			places = append(places, "after "+frames[i-1])
		}
	}
	return places
}

// unmatched returns the elements of both sequences outside their longest common subsequence.
func unmatched(want, got []string) (missing, extra map[string]int) {
	longest := make([][]int, len(want)+1)
	for i := range longest {
		longest[i] = make([]int, len(got)+1)
	}
	for i := len(want) - 1; i >= 0; i-- {
		for j := len(got) - 1; j >= 0; j-- {
			if want[i] == got[j] {
				longest[i][j] = longest[i+1][j+1] + 1
			} else {
				longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			}
		}
	}
	missing, extra = map[string]int{}, map[string]int{}
	i, j := 0, 0
	for i < len(want) || j < len(got) {
		switch {
		case i < len(want) && j < len(got) && want[i] == got[j]:
			i, j = i+1, j+1
		case j == len(got) || i < len(want) && longest[i+1][j] >= longest[i][j+1]:
			missing[want[i]]++
			i++
		default:
			extra[got[j]]++
			j++
		}
	}
	return missing, extra
}
