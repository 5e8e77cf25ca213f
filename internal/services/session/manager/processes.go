package manager

// runtimeStarted notes that a process runs, and tells which one it follows that never said it ended.
func (v *view) runtimeStarted(key processKey, generation string) (replaced string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	replaced = v.live[key]
	v.live[key] = generation
	if t, ok := v.threads[key.serves]; ok {
		t.exited = ""
	}
	if replaced == generation {
		return ""
	}
	if replaced != "" {
		v.restServed(key) // its rows are swept as those of one that ended
	}
	return replaced
}

// runtimeExited notes that a process ended. No turn runs any more in what it served, unless another one serves that by
// now.
func (v *view) runtimeExited(key processKey, generation string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	own, ok := v.threads[key.serves]
	switch {
	case key.serves == "":
		v.exited[key.runtime] = generation
	case ok:
		own.exited = generation
	}
	if live := v.live[key]; live != "" && live != generation {
		return
	}
	delete(v.live, key)
	v.restServed(key)
}

// restServed notes that no turn runs any more in what a process served. mu is held.
func (v *view) restServed(key processKey) {
	if key.serves != "" {
		if t, ok := v.threads[key.serves]; ok {
			v.rest(t)
		}
		return
	}
	for id, t := range v.threads {
		if _, served := v.live[processKey{key.runtime, id}]; t.runtime == key.runtime && !served {
			v.rest(t)
		}
	}
}

// liveGeneration returns the generation a turn of a thread runs in now: its own process, or that of its whole runtime.
// down says that the process ended and none followed yet.
func (v *view) liveGeneration(runtimeName, threadID string) (generation string, down bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, serves := range []string{threadID, ""} {
		if generation = v.live[processKey{runtimeName, serves}]; generation != "" {
			return generation, false
		}
	}
	t, ok := v.threads[threadID]
	return "", v.exited[runtimeName] != "" || ok && t.exited != ""
}

// liveGenerations are those of the running processes.
func (v *view) liveGenerations() map[string]bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	live := make(map[string]bool, len(v.live))
	for _, generation := range v.live {
		live[generation] = true
	}
	return live
}
