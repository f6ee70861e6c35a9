//go:build unix

package gotest

import (
	"os"
	"syscall"
)

// ownGroup makes go test the head of a group, so that the tests it runs can be
// ended with it: it does not pass an interrupt on.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func interruptGroup(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGINT) }

// killGroup ends what an interrupt did not. The one failure possible is that
// nothing is left.
func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
