package worktree

// Settle waits for the work in the background.
func (s *Service) Settle() { s.work.Wait() }
