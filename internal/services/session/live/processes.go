package live

// ProcessStarted records that a process runs. replaced is the previous process if its end was never reported.
func (v *Index) ProcessStarted(key ProcessKey, generation string) (replaced string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	replaced = v.live[key]
	v.live[key] = generation
	if t, ok := v.sessions[key.Serves]; ok {
		t.exited = ""
	}
	if replaced == generation {
		return ""
	}
	if replaced != "" {
		v.setServedIdle(key) // its rows are swept like those of an ended process
	}
	return replaced
}

// ProcessExited records that a process ended. The turns of the sessions it served end, unless another process serves
// them now.
func (v *Index) ProcessExited(key ProcessKey, generation string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	own, ok := v.sessions[key.Serves]
	switch {
	case key.Serves == "":
		v.exited[key.Runtime] = generation
	case ok:
		own.exited = generation
	}
	if live := v.live[key]; live != "" && live != generation {
		return
	}
	delete(v.live, key)
	v.setServedIdle(key)
}

// setServedIdle ends the turns of the sessions a process served. mu is held.
func (v *Index) setServedIdle(key ProcessKey) {
	if key.Serves != "" {
		if t, ok := v.sessions[key.Serves]; ok {
			v.setIdle(t)
		}
		return
	}
	for id, t := range v.sessions {
		if _, served := v.live[ProcessKey{key.Runtime, id}]; t.Runtime == key.Runtime && !served {
			v.setIdle(t)
		}
	}
}

// Generation returns the generation that runs a session's turns: of its own process, or of its whole runtime. down
// reports that the process ended and no other has started yet.
func (v *Index) Generation(runtimeName, sessionID string) (generation string, down bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, serves := range []string{sessionID, ""} {
		if generation = v.live[ProcessKey{runtimeName, serves}]; generation != "" {
			return generation, false
		}
	}
	t, ok := v.sessions[sessionID]
	return "", v.exited[runtimeName] != "" || ok && t.exited != ""
}

// Generations returns the generations of the running processes.
func (v *Index) Generations() map[string]bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	live := make(map[string]bool, len(v.live))
	for _, generation := range v.live {
		live[generation] = true
	}
	return live
}
