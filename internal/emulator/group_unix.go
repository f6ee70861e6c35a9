//go:build unix

package emulator

import (
	"os"
	"syscall"
)

// ownGroup puts the process at the head of a group, which can be ended as one.
func ownGroup() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true}
	endWithParent(attr)
	return attr
}

func endGroup(p *os.Process, force bool) {
	signal := syscall.SIGTERM
	if force {
		signal = syscall.SIGKILL
	}
	// The one failure possible is that the group is gone, which is what is asked.
	_ = syscall.Kill(-p.Pid, signal)
}
