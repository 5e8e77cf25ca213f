// Package bubblewrap writes the command line of bubblewrap (Linux) for programs with minimal access.
//
// It owns the common part: separate namespaces, no capabilities, the machine's programs mounted read-only, and an empty
// /tmp. The caller adds further mounts.
package bubblewrap

import "os"

// Command returns the start of the command line; bin is bubblewrap's program. The sandbox has the machine's network
// only if network is set. The caller adds mounts, then "--remount-ro", "/", then "--" and the program.
func Command(bin string, network bool) []string {
	args := []string{bin, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv",
		"--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin", "--setenv", "HOME", "/tmp", "--setenv", "LANG", "C.UTF-8",
		"--proc", "/proc", "--dev", "/dev", "--ro-bind", "/usr", "/usr"}
	for _, name := range []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"} {
		if to, err := os.Readlink(name); err == nil {
			args = append(args, "--symlink", to, name)
		} else {
			args = append(args, "--ro-bind-try", name, name)
		}
	}
	files := []string{"/etc/alternatives", "/etc/ld.so.cache", "/etc/ssl/certs", "/etc/pki/tls/certs", "/etc/localtime"}
	if network {
		args = append(args, "--share-net")
		files = append(files, "/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf")
	}
	for _, name := range files {
		args = append(args, "--ro-bind-try", name, name)
	}
	return append(args, "--tmpfs", "/tmp")
}
