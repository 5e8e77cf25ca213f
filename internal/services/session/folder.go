package session

// Folder is a folder that sessions can work in.
type Folder struct {
	Path string
	// Git means that the folder is in a Git work tree. Branch is the branch that is checked out, "" for none.
	Git    bool
	Branch string
}
