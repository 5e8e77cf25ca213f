package confine

import "golang.org/x/sys/unix"

// Offsets in struct seccomp_data. Arguments are 64 bits wide. The kernel uses the low half of the arguments read here
// (all are int), and both machines store that half first.
const (
	offsetNumber       = 0
	offsetArchitecture = 4
	offsetArguments    = 16
	argumentBytes      = 8
)

// program is a filter of system calls. Its parts run in order; a part that answers ends it.
type program []unix.SockFilter

func (p *program) load(offset uint32) {
	*p = append(*p, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset})
}

func (p *program) loadArgument(index uint32) { p.load(offsetArguments + argumentBytes*index) }

func (p *program) answer(action uint32) {
	*p = append(*p, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action})
}

func (p *program) allow() { p.answer(unix.SECCOMP_RET_ALLOW) }

func (p *program) refuse(errno unix.Errno) {
	p.answer(unix.SECCOMP_RET_ERRNO | uint32(errno)&unix.SECCOMP_RET_DATA) //nolint:gosec // errors are small
}

// unless adds a part that runs only if the comparison of the loaded value with k holds. The part ends in an answer, or
// continues after itself.
func (p *program) unless(comparison uint16, k uint32, part program) {
	*p = append(*p, unix.SockFilter{Code: unix.BPF_JMP | comparison | unix.BPF_K, K: k, Jf: uint8(len(part))}) //nolint:gosec // short
	*p = append(*p, part...)
}

// sockets answers socket(2) and socketpair(2).
func (p *program) sockets() {
	var refused, protocols program
	refused.refuse(unix.EPROTONOSUPPORT)
	// Only for IP: other families use these numbers for other protocols.
	protocols.loadArgument(2)
	protocols.unless(unix.BPF_JEQ, protocolMPTCP, refused)
	protocols.unless(unix.BPF_JEQ, protocolSMC, refused)
	protocols.allow()
	p.loadArgument(0)
	p.unless(unix.BPF_JEQ, familySMC, refused)
	p.unless(unix.BPF_JEQ, unix.AF_INET, protocols)
	p.unless(unix.BPF_JEQ, unix.AF_INET6, protocols)
	p.allow()
}

// sends answers send calls; argument is the position of their flags.
func sends(argument uint32) (p program) {
	var refused program
	refused.refuse(unix.EOPNOTSUPP)
	p.loadArgument(argument)
	p.unless(unix.BPF_JSET, sendFastOpen, refused)
	p.allow()
	return p
}

// options answers setsockopt(2).
func (p *program) options() {
	var refused, names program
	refused.refuse(unix.ENOPROTOOPT)
	names.loadArgument(2)
	names.unless(unix.BPF_JEQ, unix.TCP_ULP, refused)
	names.allow()
	p.loadArgument(1)
	p.unless(unix.BPF_JEQ, unix.SOL_TCP, names)
	p.allow()
}
